// Fields from the commands' own schemas: nothing is listed twice.
import { el } from "./draw.js";
import { label, work } from "./labels.js";
import { spoken, t } from "./words.js";

export const FIRST = {
  explain: ["model", "on", "concurrency", "context", "weights", "engine", "train"],
  fit: ["machine", "task", "context", "min_params"],
  compare: ["things", "for", "concurrency", "mode"],
  build: ["what", "room", "budget", "mode"],
  cost: ["what", "for", "years", "api"],
};
export const MONEY = ["currency", "place"]; // of the reader, not of one question
const LISTS = { model: "models", for: "models", machine: "machines", on: "machines", what: "machines", own: "machines", place: "places" };

// What fields offer as somebody types; any other text may stand there too.
export function offers({ models, machines, places }) {
  const list = (name, pairs) => el("datalist", { id: `list-${name}` }, pairs.map(([value, about]) => el("option", { value }, about)));
  return [list("models", models.map((one) => [one, ""])), list("machines", machines.map((one) => [one.replaceAll("-", " "), ""])), list("places", Object.entries(places))];
}

export function fields(schema, names, values, changed) {
  const box = el("div", { class: "fields" });
  for (const name of names.filter((one) => schema.properties[one])) {
    const about = schema.properties[name];
    const input = entry(name, about, values[name] ?? "", changed);
    const star = schema.required.includes(name) ? " *" : "";
    const help = about.description.replace(/--([a-z][a-z-]*)/g, (word, option) => (schema.properties[option.replaceAll("-", "_")] ? label(option.replaceAll("-", "_")) : word));
    const title = el("span", { title: `--${name.replaceAll("_", "-")}` }, label(name) + star);
    box.append(el("label", { class: about.type === "boolean" ? "tick" : null }, title, input, about.enum && name === "mode" ? null : el("small", {}, help)));
  }
  return box;
}

function entry(name, about, value, changed) {
  if (about.type === "boolean") {
    return el("input", { type: "checkbox", name, checked: value === "true", onchange: (event) => changed(name, event.target.checked ? "true" : "") });
  }
  if (about.enum) {
    return el("select", { name, onchange: (event) => changed(name, event.target.value) },
      ["", ...about.enum].map((one) => el("option", { value: one, selected: one === value }, name === "mode" && one ? work(one) : one)));
  }
  return el("input", { name, value, list: LISTS[name] && `list-${LISTS[name]}`, autocomplete: "off", spellcheck: "false", oninput: (event) => changed(name, event.target.value) });
}

// In whose money, and at whose electricity price.
export function purse(schema, { currencies, places }, values, changed) {
  if (!schema.properties.currency) return [];
  const names = new Intl.DisplayNames(spoken(), { type: "currency" });
  const place = values.place && !places[values.place] ? { ...places, [values.place]: values.place } : places;
  const pick = (name, rows) => el("label", {}, `${label(name)} `, el("select", { name, onchange: (event) => changed(name, event.target.value) },
    rows.map(([value, told]) => el("option", { value, selected: value === (values[name] ?? "") }, told))));
  const sorted = Object.entries(place).sort(([, one], [, other]) => one.localeCompare(other, spoken()));
  return [el("p", { class: "purse" },
    pick("currency", [["", t("automatic")], ...Object.keys(currencies).map((code) => [code, `${code} ${names.of(code)}`])]),
    schema.properties.place ? pick("place", [["", t("average tariff")], ...sorted]) : "")];
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

// Where on this page the same is asked as by a command; null: nowhere.
export function addressed(line, schemas, views) {
  const words = (line.match(/(?:'[^']*'|"[^"]*"|\\.|[^\s'"\\])+/g) ?? []).map((one) => one.replace(/'([^']*)'|"([^"]*)"|\\(.)/g, (_, a, b, c) => a ?? b ?? c));
  const [name, typed, ...rest] = words;
  const verb = typed?.replaceAll("-", "_"), schema = schemas[verb];
  if (name !== "rigright" || !views[verb] || !schema) return null;
  const values = {}, loose = [];
  while (rest.length) {
    const word = rest.shift();
    if (!word.startsWith("--")) {
      loose.push(word);
      continue;
    }
    const [flag, ...own] = word.slice(2).split("=");
    const option = flag.replaceAll("-", "_"), about = schema.properties[option];
    if (!about && option !== DETAILS) return null;
    values[option] = option === DETAILS || about.type === "boolean" ? "true" : own.length ? own.join("=") : rest.shift() ?? "";
  }
  if (loose.length) values[PLACED[verb][0]] = loose.join(", ");
  return `#${verb}?${new URLSearchParams(values)}`;
}

export const DETAILS = "details"; // everything, of views that are drawn by the commands
export const PLACED = { plan: ["model"], explain: ["model"], fit: ["machine"], compare: ["things"], build: ["what"], cost: ["what"], look_up: ["kind", "words"], doctor: [] };

// Whether an option says anything about a kind of work.
export const isOf = (about, mode) => !about?.modes || !mode || about.modes.includes(mode);

export function sentence(schema, values, changed) {
  const modes = schema.properties.mode.enum;
  const blank = (name, about, example, list) => el("input", {
    name, value: values[name] ?? "", placeholder: example, "aria-label": t(about), list: list && `list-${list}`, autocomplete: "off", spellcheck: "false",
    oninput: (event) => changed(name, event.target.value),
  });
  return el("p", { class: "sentence" }, `${t("Run")} `, blank("model", "Model", "qwen3-32b", "models"), ...(isOf(schema.properties.concurrency, values.mode) ? [` ${t("for")} `, blank("concurrency", "Concurrent requests", "1"), ` ${t("users, as")} `] : [` ${t("as")} `]),
    el("select", { name: "mode", "aria-label": t("Kind of work"), onchange: (event) => changed("mode", event.target.value) },
      modes.map((one) => el("option", { value: one, selected: one === (values.mode || "chat") }, work(one)))),
    `${t(", on")} `, blank("where", "Machine or budget", t("any machine or budget"), "machines"));
}

// "8000usd", "$8000", "5万" are money; anything else is a machine.
export const isMoney = (text) => /^\s*[$€£¥]|^\s*[\d.,]+\s*([kKmM万]|万?元|[a-zA-Z]{3})?\s*$/.test(text) && !/\d\s*gb\s*$/i.test(text);
