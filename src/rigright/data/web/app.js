// Views, the state in the address, and the question that is being answered.
import * as net from "./net.js";
import { accuracy } from "./accuracy.js";
import { drawn, el, fielded, typed } from "./draw.js";
import { copying, download, exports } from "./export.js";
import { DETAILS, KNOBS, MONEY, PLACED, SENTENCES, addressed, brief, command, fields, isMoney, isOf, knobs, offers, said, sentence } from "./forms.js";
import { label } from "./labels.js";
import { live } from "./live.js";
import { planned } from "./plan.js";
import { LANGUAGES, speak, spoken, t } from "./words.js";

const VIEWS = { plan: "Plan", explain: "Explain", fit: "What fits", compare: "Compare", build: "Build", cost: "Cost", doctor: "Doctor", here: "This machine", accuracy: "Accuracy", myths: "Myths" };
const START = {
  plan: { model: "qwen3-32b", concurrency: "8", mode: "chat" },
  explain: { model: "llama-3.1-70b", on: "8x h100" },
  fit: { machine: "rtx 4090" },
  compare: { things: "4090, 5090", for: "qwen3-8b" },
  build: { what: "2x rtx 4090" },
  cost: { what: "2x rtx 4090", years: "3" },
};
const EXAMPLES = {
  plan: [{ model: "llama-3.1-70b", mode: "serve", concurrency: "64", where: "8x h100" }, { model: "gpt-oss-120b", mode: "agent", concurrency: "4", where: "8000usd" },
    { model: "llama-3.1-8b", mode: "finetune", tokens: "10M", where: "rtx 4090" }],
  explain: [{ model: "gpt-oss-120b", on: "rtx 4090 + 64gb ddr5-6000" }, { model: "llama-3.1-8b", on: "rtx 4090", train: "qlora" }, { model: "deepseek-v3", on: "8x h200" }],
  fit: [{ machine: "24gb" }, { machine: "2x rtx 3090" }, { machine: "m4 max" }],
  compare: [{ things: "h100, mi300x, b200", for: "llama-3.1-70b" }, { things: "4090, aws:g6e.xlarge", for: "qwen3-8b", concurrency: "8" }],
  build: [{ what: "4x rtx 5090", room: "230V 16A" }, { what: "llama-3.1-70b" }],
  cost: [{ what: "8x h100", years: "4" }, { what: "qwen3-32b", years: "3", api: "0.15/0.60" }],
};
const REST_MS = 250;
const at = (id) => document.getElementById(id);
const left = {}; // how each view was left, by which it is opened again
let isReady = net.isServed, known = {}, schemas = {}, view = "plan", values = {}, running = null, timer = 0;

const stored = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
const store = (name, value) => { try { localStorage.setItem(name, value); } catch { /* private windows keep nothing */ } };

function read() {
  const [name, query = ""] = location.hash.slice(1).split("?");
  const told = Object.fromEntries(new URLSearchParams(query));
  const { lang, ...rest } = told;
  if (lang) speak(lang);
  view = VIEWS[name] ? name : "plan";
  const own = Object.fromEntries(MONEY.map((one) => [one, stored(one)]).filter(([one, value]) => value && schemas[view]?.properties[one]));
  values = Object.keys(rest).length ? rest : { ...START[view], ...own };
  if (view === "plan") values.mode ||= "serve"; // as the command takes it
  if (view === "fit" && values.on) {
    values = { ...values, machine: values.machine || values.on };
    delete values.on;
  }
  if (view === "plan" && values.on) {
    values = { ...values, where: values.on };
    delete values.on;
  }
}

// The whole question, and what was emptied of what a view starts with.
const query = (more = {}) => new URLSearchParams({ ...Object.fromEntries(Object.entries(values).filter(([name, one]) => one || name in (START[view] ?? {}))), ...more });
const address = () => `#${view}?${query({ lang: spoken() })}`;

function keep() {
  left[view] = `./#${view}?${query()}`;
  if (location.hash !== address()) history.replaceState(null, "", address()); // it would cancel a step back under way
  document.title = `${brief(values) || t(VIEWS[view])} - rigright`;
}

function changed(name, value) {
  values[name] = value;
  delete values.pick;
  if (MONEY.includes(name)) store(name, value);
  if (name === "mode") {
    at("question").replaceChildren(...question());
    at("question").querySelector(`[name="${name}"]`).focus();
  }
  keep();
  clearTimeout(timer);
  timer = setTimeout(answer, REST_MS);
}

function chosen(changes) {
  Object.assign(values, changes);
  keep();
}

function asked() {
  if (view === "myths") return ["look_up", { kind: "myths" }];
  if (view === "doctor") return ["doctor", said(schemas.doctor, values)];
  const { where = "", ...rest } = values;
  const suits = ([name]) => name === "mode" || isOf(schemas[view].properties[name], values.mode);
  const place = view !== "plan" || !where.trim() ? {} : isMoney(where) ? { budget: where } : { on: where };
  return [view, said(schemas[view], Object.fromEntries(Object.entries({ ...rest, ...place }).filter(suits)))];
}

async function answer() {
  clearTimeout(timer);
  if (view === "accuracy") {
    const choose = (changes) => {
      chosen(changes);
      answer();
    };
    await show(async () => headed(await accuracy(values, choose), [linking(), printing()]));
    return;
  }
  const [verb, told] = asked();
  const modelled = view !== "plan" || told.model?.length > 0;  // a budget alone is answered with models
  if (schemas[verb].required.some((name) => !told[name]?.length) || !(modelled || told.budget)) {
    running?.abort();
    at("answer").replaceChildren(el("p", { class: "dim" }, t("Fill in the sentence, or start from one of these:")), examples(Object.values({ first: START[view], ...EXAMPLES[view] })));
    return;
  }
  await show(async (signal) => {
    const form = view === "plan" && modelled ? "json" : "html";
    const text = await net.ask(verb, told, { form, lang: spoken(), details: form === "html" && values[DETAILS] === "true", signal });
    const exported = (number) => exports(() => net.exported(told, { number, lang: spoken() }));
    const pick = (number) => chosen({ pick: number > 1 ? String(number) : "" });
    const parts = [form === "json" ? planned(JSON.parse(text), { currencies: known.currencies, exported, named, pick, picked: Number(values.pick) || 1 }) : drawn(text)].flat();
    if (view === "myths") parts.splice(1, 0, finding(parts));
    return headed(named(parts), tools(verb, told));
  });
}

// Under the verdict: what can be done with it.
function headed(parts, buttons) {
  const place = parts.findIndex((one) => one.nodeName === "H1") + 1;
  const printed = el("p", { class: "printed" }, `rigright \u00b7 ${new Date().toISOString().slice(0, 10)} \u00b7 ${new URL(address(), location.href).href}`);
  return [...parts.toSpliced(place, 0, el("div", { class: "tools" }, buttons)), printed];
}

async function show(work) {
  running?.abort();
  const mine = (running = new AbortController());
  const busy = setTimeout(() => { at("progress").hidden = false; at("answer").classList.toggle("old", isReady); }, 120);
  try {
    const found = await work(mine.signal);
    isReady = true;
    if (mine === running) at("answer").replaceChildren(...found);
  } catch (error) {
    if (mine === running && error.name !== "AbortError") at("answer").replaceChildren(failed(error));
  } finally {
    clearTimeout(busy);
    if (mine === running) { at("progress").hidden = true; at("answer").classList.remove("old"); }
  }
}

const failed = (error) => el("div", { class: "error", role: "alert" },
  ...named([el("p", {}, error.message || t("No answer")), ...(error.hint ? [el("p", {}, suggested(error.hint))] : [])]),
  net.isServed || isReady ? "" : el("p", {}, el("button", { type: "button", onclick: () => location.reload() }, t("Try again"))));

// Names that a hint says are put where they belong by a click.
function suggested(hint) {
  const field = (name) => {
    const own = name.split("/").pop().toLowerCase();
    const list = known.models?.some((one) => one.toLowerCase() === own) ? ["model", "for"] : known.machines?.includes(own) ? ["where", "on", "machine", "what"] : [];
    return list.find((one) => at("question").querySelector(`[name="${one}"]`));
  };
  return hint.split(/([\w.-]+(?:\/[\w.-]*\w)?)/).map((word) => {
    const name = word.length > 2 && field(word);
    return name ? el("button", { type: "button", class: "field", onclick: () => { at("question").querySelector(`[name="${name}"]`).value = word; changed(name, word); } }, word) : word;
  });
}

const examples = (rows) => el("p", { class: "chips" }, rows.map((one) => el("a", { href: `#${view}?${new URLSearchParams({ ...one, lang: spoken() })}` }, brief(one))));

// Rows that hold what is typed.
function finding(parts) {
  const rows = parts.flatMap((one) => [...one.querySelectorAll?.("tbody tr, table tr") ?? []]).filter((one) => !one.querySelector("th"));
  const sift = () => rows.forEach((row) => { row.hidden = !row.textContent.toLowerCase().includes((values.find ?? "").toLowerCase()); });
  sift();
  return el("input", { class: "find", name: "find", type: "search", value: values.find ?? "", placeholder: t("Search"), "aria-label": t("Search"), oninput: (event) => { chosen({ find: event.target.value }); sift(); } });
}

// Options in what is said lead to their fields.
function named(parts, ask = answer) {
  const names = [...Object.keys(schemas[view]?.properties ?? {}), ...(view === "plan" ? [] : [DETAILS])];
  for (const block of parts.filter((one) => one.nodeName === "PRE")) {
    const links = block.textContent.split("\n").map((line) => [line, addressed(line, schemas, VIEWS)]);
    block.replaceChildren(...links.flatMap(([line, href]) => [href ? el("a", { href: `${href}&lang=${spoken()}` }, line) : line, "\n"]).slice(0, -1));
  }
  return fielded(parts, names, label, (name) => {
    const field = at("question").querySelector(`[name="${name}"]`);
    field?.closest("details")?.setAttribute("open", "");
    field?.focus();
    if (field || ![DETAILS, "all"].includes(name)) return;
    if (ask === answer) location.hash = `${view}?${query({ [name]: "true", lang: spoken() })}`; // everything, of views without a field for it
    else ask();
  });
}

function tools(verb, told) {
  const save = (form, ending) => el("button", { type: "button", onclick: async () => {
    download(`rigright-${verb}.${ending}`, await net.ask(verb, told, { form, lang: spoken() }));
  } }, form === "markdown" ? "Markdown" : ending.toUpperCase());
  return [copying("Copy command", () => `${command(verb, told, PLACED[verb])}${values[DETAILS] && view !== "plan" ? " --details" : ""}`), linking(),
    save("json", "json"), save("csv", "csv"), save("markdown", "md"), printing()];
}

const linking = () => copying("Copy link", () => new URL(address(), location.href).href);
const printing = () => el("button", { type: "button", onclick: () => print() }, t("Print"));

function drop(verb, title, about, more = []) {
  const send = (file, all) => file && show(async (signal) => {
    const text = await net.dropped(verb, file, { form: "html", lang: spoken(), all, signal });
    return headed(named(drawn(text), () => send(file, "true")), [printing()]);
  });
  const input = el("input", { type: "file", hidden: true, "aria-label": t("Choose a file"), onchange: () => { send(input.files[0]); input.value = ""; } });
  const box = el("div", {
    class: "drop",
    ondragover: (event) => { event.preventDefault(); box.classList.add("over"); },
    ondragleave: () => box.classList.remove("over"),
    ondrop: (event) => { event.preventDefault(); box.classList.remove("over"); send(event.dataTransfer.files[0]); },
  }, el("strong", {}, t(title)), el("p", {}, el("span", {}, typed(t(about)))), el("p", {}, el("button", { type: "button", class: "strong", onclick: () => input.click() }, t("Choose a file")), input, ...more));
  return box;
}

// What is asked for when somebody opens it.
function unfolding(title, ask) {
  const inside = el("div");
  const box = el("details", { ontoggle: async () => {
    if (box.open && !inside.hasChildNodes()) inside.replaceChildren(...await ask().catch((error) => [failed(error)]));
  } }, el("summary", {}, title), inside);
  return box;
}

const lead = (title, about) => [el("h1", { class: "lead" }, title), about ? el("p", {}, about) : ""];
const unseen = (commands, about) => [el("p", {}, t("A browser cannot see the machine it runs on. Type there:")), el("pre", { tabindex: 0 }, commands.join("\n")), el("p", { class: "dim" }, about)];

function question() {
  const schema = schemas[view];
  if (SENTENCES[view]) {
    const first = [...SENTENCES[view].matchAll(/{(\w+)}/g)].map(([, name]) => name);
    const rest = Object.keys(schema.properties).filter((one) => ![...first, ...KNOBS[view], "lang", ...(view === "plan" ? ["on", "why"] : [])].includes(one));
    const isStart = Object.entries(values).every(([name, one]) => MONEY.includes(name) || one === START[view][name]);
    return [sentence(view, schema, START[view], values, changed), knobs(schema, KNOBS[view], known, values, changed), more(schema, rest), isStart ? examples(EXAMPLES[view]) : ""];
  }
  if (view === "doctor") {
    const kept = net.isServed ? t("The file stays on the machine that serves this page, and is deleted after the answer.") : t("The file stays in this browser.");
    const own = net.isServed ? [el("button", { type: "button", onclick: answer }, t("Examine this machine"))] : [];
    return [...lead(t("What is wrong, slow or risky on a machine"), kept),
      drop("doctor", "Drop a capture here", "nvidia-bug-report, dmesg, nvidia-smi -q, a folder as tar or zip, or `probe --save`", own),
      ...(net.isServed ? [] : unseen(["rigright doctor", "rigright probe --save machine.json"], t("The first examines it; the second saves what it has to a file that can be dropped here.")))];
  }
  if (view === "accuracy") {
    return [...lead(t("How close predictions are"), t("Third-party benchmarks, each compared with our prediction.")),
      el("details", {}, el("summary", {}, t("Compare your own runs")), drop("validate", "Drop measured runs here", "CSV as `validate` reads it")),
      unfolding(t("Reference performance"), async () => drawn(await net.ask("look_up", { kind: "benchmarks" }, { form: "html", lang: spoken() })))];
  }
  if (view === "myths") return [];
  if (net.isServed) return lead(t("This machine"), t("The machine that serves this page, as it is now."));
  return [...lead(t("This machine")), ...unseen(["rigright probe", "rigright watch", "rigright web"], t("What is in it; what it does now; this page with both."))];
}

function more(schema, names) {
  const shown = names.filter((one) => values[one] || isOf(schema.properties[one], values.mode));
  const groups = [...new Set(shown.map((one) => schema.properties[one].group))];
  const told = names.filter((one) => values[one]).map((one) => (values[one] === "true" ? label(one) : `${label(one)} ${values[one]}`));
  const title = [t("More options"), told.join(t(", "))].filter(Boolean).join(t(": "));
  return el("details", { open: at("question").querySelector("details")?.open }, el("summary", {}, title), groups.map((group) =>
    el("fieldset", {}, group ? el("legend", {}, group) : null, fields(schema, shown.filter((one) => schema.properties[one].group === group), values, changed))));
}

function frame() {
  document.documentElement.lang = spoken() === "zh" ? "zh-Hans" : "en";
  at("views").setAttribute("aria-label", t("Views"));
  at("views").replaceChildren(...Object.entries(VIEWS).map(([name, title]) =>
    el("a", { href: (name !== view && left[name]) || `./#${name}`, "aria-current": name === view ? "page" : null }, t(title))));
  at("views").querySelector("[aria-current]").scrollIntoView({ block: "nearest", inline: "center" });
  at("language").textContent = spoken() === "zh" ? "English" : "中文";
  const theme = document.documentElement.dataset.theme;
  const [sign, shown] = { dark: ["\u263e", "Dark"], light: ["\u2600", "Light"] }[theme] ?? ["\u25d0", "Auto"];
  at("theme").replaceChildren(el("span", { "aria-hidden": "true" }, sign), ` ${t(shown)}`);
  at("theme").title = t("Dark or light");
  at("skip").textContent = t("Skip to the answer");
  at("where").textContent = net.isServed ? "" : t("rigright runs in this browser: nothing you type or drop leaves it.");
  at("answer").setAttribute("aria-label", t("Answer"));
  at("question").setAttribute("aria-label", t("Question"));
}

const asks = () => view !== "here" && (view !== "doctor" || (net.isServed && values.all)); // a machine is examined where somebody says so

async function open() {
  const before = spoken();
  read();
  running?.abort();
  running = null;
  frame();
  if (before !== spoken() || !schemas.plan) {
    known = await net.forms(spoken());
    schemas = known.verbs;
    document.querySelectorAll("datalist").forEach((one) => one.remove());
    document.body.append(...offers(known));
    read();
  }
  at("question").replaceChildren(...question());
  keep();
  at("answer").replaceChildren(...(isReady || !asks() ? [] : [el("p", { class: "dim" }, t("Starting rigright in this browser: some seconds, and 13 MB the first time."))]));
  if (view === "here" && net.isServed) {
    const mine = (running = new AbortController());
    live(at("answer"), { signal: mine.signal, since: values.since, failed, named, choose: (since) => chosen({ since }), is: () => mine === running });
  }
  if (asks()) await answer();
}

function start() {
  const theme = stored("theme");
  if (theme) document.documentElement.dataset.theme = theme;
  speak(stored("lang") ?? (navigator.language.startsWith("zh") ? "zh" : "en"));
  at("language").onclick = async () => {
    speak(LANGUAGES.find((one) => one !== spoken()));
    store("lang", spoken());
    schemas = {};
    history.replaceState(null, "", address());
    await open();
  };
  at("theme").onclick = () => {
    const next = { undefined: "light", light: "dark", dark: undefined }[document.documentElement.dataset.theme];
    if (next) document.documentElement.dataset.theme = next;
    else delete document.documentElement.dataset.theme;
    store("theme", next ?? "");
    frame();
  };
  at("skip").onclick = (event) => { event.preventDefault(); at("answer").focus(); };
  addEventListener("hashchange", open);
  addEventListener("keydown", (event) => {
    if (event.key === "/" && !/INPUT|SELECT|TEXTAREA/.test(document.activeElement?.tagName)) {
      event.preventDefault();
      at("question").querySelector("input")?.select();
    }
  });
  open().catch((error) => at("answer").replaceChildren(failed(error)));
}

start();
