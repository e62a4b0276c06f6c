// Fields from the commands' own schemas: nothing is listed twice.
import { el } from "./draw.js";
import { t } from "./words.js";

export const FIRST = {
  explain: ["model", "on", "concurrency", "context", "weights", "engine", "train"],
  fit: ["machine", "task", "context", "min_params"],
  compare: ["things", "for", "concurrency", "mode"],
  build: ["what", "room", "budget", "mode"],
  cost: ["what", "for", "years", "place", "api"],
};

export function fields(schema, names, values, changed) {
  const box = el("div", { class: "fields" });
  for (const name of names.filter((one) => schema.properties[one])) {
    const about = schema.properties[name];
    const input = entry(name, about, values[name] ?? "", changed);
    const star = schema.required.includes(name) ? " *" : "";
    box.append(el("label", {}, el("span", {}, name.replaceAll("_", " ") + star), input, el("small", {}, about.description)));
  }
  return box;
}

function entry(name, about, value, changed) {
  if (about.type === "boolean") {
    return el("input", { type: "checkbox", name, checked: value === "true", onchange: (event) => changed(name, event.target.checked ? "true" : "") });
  }
  if (about.enum) {
    return el("select", { name, onchange: (event) => changed(name, event.target.value) },
      ["", ...about.enum].map((one) => el("option", { value: one, selected: one === value }, one)));
  }
  return el("input", { name, value, autocomplete: "off", spellcheck: "false", oninput: (event) => changed(name, event.target.value) });
}

// As a command takes them: lists from commas, flags as yes.
export function said(schema, values) {
  const found = {};
  for (const [name, text] of Object.entries(values)) {
    const about = schema.properties[name];
    if (!about || !text.trim()) continue;
    if (about.type === "boolean") found[name] = text === "true";
    else if (about.type === "array") found[name] = text.split(/[,，、]/).map((one) => one.trim()).filter(Boolean);
    else found[name] = text.trim();
  }
  return found;
}

const quoted = (word) => (/^[\w.,:/=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

export function command(verb, asked, placed) {
  const words = placed.flatMap((name) => asked[name] ?? []).map(String).map(quoted);
  const flags = Object.entries(asked).filter(([name]) => !placed.includes(name)).flatMap(([name, value]) =>
    (value === true ? [`--${name.replaceAll("_", "-")}`] : [`--${name.replaceAll("_", "-")}`, quoted([value].flat().join(","))]));
  return ["rigright", verb.replaceAll("_", "-"), ...words, ...flags].join(" ");
}

export const PLACED = { plan: ["model"], explain: ["model"], fit: ["machine"], compare: ["things"], build: ["what"], cost: ["what"], look_up: ["kind", "words"], doctor: [] };

const ALONE = ["finetune", "pretrain", "image", "embed"]; // work that no users wait for
export const hasUsers = (values) => !ALONE.includes(values.mode);

export function sentence(values, modes, changed) {
  const blank = (name, about, example) => el("input", {
    name, value: values[name] ?? "", placeholder: example, "aria-label": t(about), autocomplete: "off", spellcheck: "false",
    oninput: (event) => changed(name, event.target.value),
  });
  return el("p", { class: "sentence" }, `${t("Run")} `, blank("model", "Model", "qwen3-32b"), ...(hasUsers(values) ? [` ${t("for")} `, blank("concurrency", "Concurrent requests", "1"), ` ${t("users, as")} `] : [` ${t("as")} `]),
    el("select", { name: "mode", "aria-label": t("Kind of work"), onchange: (event) => changed("mode", event.target.value) },
      modes.map((one) => el("option", { value: one, selected: one === (values.mode || "chat") }, one))),
    `${t(", on")} `, blank("where", "Machine or budget", t("any machine or budget")));
}

// "8000usd", "$8000", "5万" are money; anything else is a machine.
export const isMoney = (text) => /^\s*[$€£¥]|^\s*[\d.,]+\s*([kKmM万]|万?元|[a-zA-Z]{3})?\s*$/.test(text) && !/\d\s*gb\s*$/i.test(text);
