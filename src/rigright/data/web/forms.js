// Fields from the commands' own schemas: nothing is listed twice.
import { el } from "./draw.js";
import { label, work } from "./labels.js";
import { spoken, t } from "./words.js";

// What a view asks first, and what stands beside it: the rest is under "More options".
export const SENTENCES = {
  plan: "Run {model} for {mode} with {concurrency} users on {where}",
  explain: "Explain {model} on {on}",
  fit: "What runs on {machine}",
  compare: "Compare {things} for {for}",
  build: "Build a machine around {what}",
  cost: "What {what} costs over {years} years",
};
const ALONE = { "Run {model} for {mode} with {concurrency} users on {where}": "Run {model} for {mode} on {where}" }; // a work without users
export const KNOBS = {
  plan: ["prompt", "output", "ttft", "tpot", "tokens", "method", "currency", "place"],
  explain: ["concurrency", "context", "weights", "engine", "train"],
  fit: ["task", "context", "min_params"],
  compare: ["mode", "concurrency", "currency", "place"],
  build: ["room", "budget", "currency", "place"],
  cost: ["for", "api", "currency", "place"],
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
    box.append(el("label", { class: about.type === "boolean" ? "tick" : null }, title, input, help.toLowerCase() === label(name).toLowerCase() || (about.enum && name === "mode") ? null : el("small", {}, help)));
  }
  return box;
}

function entry(name, about, value, changed, empty) {
  if (about.type === "boolean") {
    return el("input", { type: "checkbox", name, checked: value === "true", onchange: (event) => changed(name, event.target.checked ? "true" : "") });
  }
  if (about.enum) {
    return el("select", { name, onchange: (event) => changed(name, event.target.value) },
      ["", ...about.enum].map((one) => el("option", { value: one, selected: one === value }, one ? (name === "mode" ? work(one) : one) : empty ?? "")));
  }
  return el("input", { name, value, placeholder: empty, list: LISTS[name] && `list-${LISTS[name]}`, autocomplete: "off", spellcheck: "false", oninput: (event) => changed(name, event.target.value) });
}

// Options that decide most, beside each other.
export function knobs(schema, names, known, values, changed) {
  const pick = (name, rows) => el("select", { name, onchange: (event) => changed(name, event.target.value) },
    rows.map(([value, told]) => el("option", { value, selected: value === (values[name] ?? "") }, told)));
  const control = (name, about) => {
    if (name === "currency") return pick(name, currencies(known));
    if (name === "place") return pick(name, places(known, values.place));
    return entry(name, about, values[name] ?? "", changed, t("auto"));
  };
  const shown = names.filter((name) => schema.properties[name] && (values[name] || isOf(schema.properties[name], values.mode)));
  return el("div", { class: "knobs" }, shown.map((name) => {
    const about = schema.properties[name];
    return el("label", { title: about.description }, el("span", {}, label(name)), control(name, about));
  }));
}

// In whose money, and at whose electricity price.
function currencies({ currencies: all }) {
  const names = new Intl.DisplayNames(spoken(), { type: "currency" });
  return [["", t("auto")], ...Object.keys(all).map((code) => [code, `${code} ${names.of(code)}`])];
}

function places({ places: all }, own) {
  const rows = Object.entries(own && !all[own] ? { ...all, [own]: own } : all);
  return [["", t("average tariff")], ...rows.sort(([, one], [, other]) => one.localeCompare(other, spoken()))];
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

// The question as a sentence with blanks.
export function sentence(view, schema, start, values, changed) {
  const whole = SENTENCES[view], isAlone = ALONE[whole] && !isOf(schema.properties.concurrency, values.mode);
  const blank = (name) => {
    if (name === "mode") {
      return el("select", { name, "aria-label": label(name), onchange: (event) => changed(name, event.target.value) },
        schema.properties.mode.enum.map((one) => el("option", { value: one, selected: one === (values.mode || "chat") }, work(one))));
    }
    const list = name === "where" ? "machines" : LISTS[name];
    const placeholder = { where: t("any machine or budget"), concurrency: t("any number of") }[name] ?? start[name] ?? t("auto");
    return el("input", {
      name, value: values[name] ?? "", placeholder, size: Math.max(2, placeholder.length), "aria-label": name === "where" ? t("Machine or budget") : label(name),
      list: list && `list-${list}`, autocomplete: "off", spellcheck: "false", oninput: (event) => changed(name, event.target.value),
    });
  };
  const words = t(isAlone ? ALONE[whole] : whole).split(/\{(\w+)\}/);
  return el("h1", { class: "sentence" }, words.map((word, place) => (place % 2 ? blank(word) : word)));
}

// The same in a few words, for titles and examples.
export const brief = (values) => [values.model, values.what, values.machine, values.things, values.for, values.mode && work(values.mode), values.train,
  values.where, values.on].filter(Boolean).join(" \u00b7 ");

// "8000usd", "$8000", "5万" are money; anything else is a machine.
export const isMoney = (text) => /^\s*[$€£¥]|^\s*[\d.,]+\s*([kKmM万]|万?元|[a-zA-Z]{3})?\s*$/.test(text) && !/\d\s*gb\s*$/i.test(text);
