// Views, the state in the address, and the question that is being answered.
import * as net from "./net.js";
import { accuracy } from "./accuracy.js";
import { drawn, el, fielded } from "./draw.js";
import { copying, download, exports } from "./export.js";
import { DETAILS, FIRST, MONEY, PLACED, addressed, command, fields, isMoney, isOf, offers, purse, said, sentence } from "./forms.js";
import { label } from "./labels.js";
import { planned } from "./plan.js";
import { LANGUAGES, speak, spoken, t } from "./words.js";

const VIEWS = { plan: "Plan", explain: "Explain", fit: "What fits", compare: "Compare", build: "Build", cost: "Cost", doctor: "Doctor", here: "This machine", accuracy: "Accuracy", myths: "Myths" };
const START = {
  plan: { model: "qwen3-32b", concurrency: "8", mode: "chat" },
  explain: { model: "llama-3.1-70b", on: "8x h100" },
  fit: { machine: "rtx 4090" },
  compare: { things: "4090, 5090", for: "qwen3-8b" },
  build: { what: "2x rtx 4090" },
  cost: { what: "2x rtx 4090" },
};
const REST_MS = 250, EVERY_MS = 2000, PAST_TURNS = 15;
const at = (id) => document.getElementById(id);
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
  values = query && Object.keys(rest).length ? rest : { ...START[view], ...own };
  if (view === "plan" && values.on) {
    values = { ...values, where: values.on };
    delete values.on;
  }
}

const address = () => `#${view}?${new URLSearchParams({ ...Object.fromEntries(Object.entries(values).filter(([, one]) => one)), lang: spoken() })}`;

function changed(name, value) {
  values[name] = value;
  if (MONEY.includes(name)) store(name, value);
  if (name === "mode") {
    at("question").replaceChildren(...question());
    at("question").querySelector(`[name="${name}"]`).focus();
  }
  history.replaceState(null, "", address());
  clearTimeout(timer);
  timer = setTimeout(answer, REST_MS);
}

function asked() {
  if (view === "myths") return ["look_up", { kind: "myths" }];
  if (view === "doctor") return ["doctor", {}];
  const { where = "", ...rest } = values;
  const suits = ([name]) => name === "mode" || isOf(schemas[view].properties[name], values.mode);
  const place = view !== "plan" || !where.trim() ? {} : isMoney(where) ? { budget: where } : { on: where };
  return [view, said(schemas[view], Object.fromEntries(Object.entries({ ...rest, ...place }).filter(suits)))];
}

async function answer() {
  clearTimeout(timer);
  if (view === "accuracy") {
    const choose = (changes) => {
      Object.assign(values, changes);
      history.replaceState(null, "", address());
      answer();
    };
    await show(async () => [...await accuracy(values, choose), el("div", { class: "tools" }, linking(), printing())]);
    return;
  }
  const [verb, told] = asked();
  if (schemas[verb].required.some((name) => !told[name]?.length)) {
    running?.abort();
    at("answer").replaceChildren(el("p", { class: "dim" }, t("Fill in the fields marked *.")));
    return;
  }
  await show(async (signal) => {
    const form = view === "plan" ? "json" : "html";
    const text = await net.ask(verb, told, { form, lang: spoken(), details: form === "html" && values[DETAILS] === "true", signal });
    const exported = (number) => exports(() => net.exported(told, { number, lang: spoken() }));
    const parts = [form === "json" ? planned(JSON.parse(text), { currencies: known.currencies, exported, named }) : drawn(text)].flat();
    return [...named(parts), tools(verb, told)];
  });
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

const failed = (error) => el("div", { class: "error", role: "alert" }, el("p", {}, error.message || t("No answer")), error.hint ? el("p", {}, error.hint) : null);

// Options in what is said lead to their fields.
function named(parts) {
  const names = Object.keys(schemas[view]?.properties ?? {});
  for (const typed of parts.filter((one) => one.nodeName === "PRE")) {
    const links = typed.textContent.split("\n").map((line) => [line, addressed(line, schemas, VIEWS)]);
    typed.replaceChildren(...links.flatMap(([line, href]) => [href ? el("a", { href: `${href}&lang=${spoken()}` }, line) : line, "\n"]).slice(0, -1));
  }
  return fielded(parts, names, label, (name) => {
    const field = at("question").querySelector(`[name="${name}"]`);
    field?.closest("details")?.setAttribute("open", "");
    field?.focus();
  });
}

function tools(verb, told) {
  const save = (form, ending) => el("button", { type: "button", onclick: async () => {
    download(`rigright-${verb}.${ending}`, await net.ask(verb, told, { form, lang: spoken() }));
  } }, ending.toUpperCase());
  return el("div", { class: "tools" }, copying("Copy command", () => `${command(verb, told, PLACED[verb])}${values[DETAILS] && view !== "plan" ? " --details" : ""}`), linking(),
    save("json", "json"), save("csv", "csv"), save("markdown", "md"), printing());
}

const linking = () => copying("Copy link", () => new URL(address(), location.href).href);
const printing = () => el("button", { type: "button", onclick: () => print() }, t("Print"));

function drop(verb, title, about) {
  const send = (file) => file && show(async (signal) => drawn(await net.dropped(verb, file, { form: "html", lang: spoken(), signal })));
  const input = el("input", { type: "file", hidden: true, "aria-label": t("Choose a file"), onchange: () => send(input.files[0]) });
  const box = el("div", {
    class: "drop",
    ondragover: (event) => { event.preventDefault(); box.classList.add("over"); },
    ondragleave: () => box.classList.remove("over"),
    ondrop: (event) => { event.preventDefault(); box.classList.remove("over"); send(event.dataTransfer.files[0]); },
  }, el("strong", {}, t(title)), el("p", {}, t(about)), el("p", {}, el("button", { type: "button", onclick: () => input.click() }, t("Choose a file")), input));
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
  if (view === "plan") {
    const rest = Object.keys(schema.properties).filter((one) => !["model", "concurrency", "mode", "lang", "why", "on", ...MONEY].includes(one));
    return [sentence(schema, values, changed), ...purse(schema, known, values, changed), more(schema, rest)];
  }
  if (FIRST[view]) {
    const rest = Object.keys(schema.properties).filter((one) => ![...FIRST[view], ...MONEY, "lang"].includes(one));
    return [el("h1", { class: "lead" }, t(VIEWS[view])), fields(schema, FIRST[view], values, changed), ...purse(schema, known, values, changed), more(schema, rest)];
  }
  if (view === "doctor") {
    const kept = net.isServed ? t("The file stays on the machine that serves this page, and is deleted after the answer.") : t("The file stays in this browser.");
    const own = net.isServed ? [el("button", { type: "button", class: "strong", onclick: answer }, t("Examine this machine"))]
      : unseen(["rigright doctor", "rigright probe --save machine.json"], t("The first examines it; the second saves what it has to a file that can be dropped here."));
    return [...lead(t("What is wrong, slow or risky on a machine"), kept),
      drop("doctor", "Drop a capture here", "nvidia-bug-report, dmesg, nvidia-smi -q, a folder as tar or zip, or `probe --save`"), ...own];
  }
  if (view === "accuracy") {
    return [...lead(t("How close predictions are"), t("Published runs that nobody here produced, each held against its prediction.")),
      el("details", {}, el("summary", {}, t("Hold your own runs against predictions")), drop("validate", "Drop measured runs here", "CSV as `validate` reads it")),
      unfolding(t("What machines should reach"), async () => drawn(await net.ask("look_up", { kind: "benchmarks" }, { form: "html", lang: spoken() })))];
  }
  if (view === "myths") return [];
  if (net.isServed) return lead(t("This machine"), t("The machine that serves this page, every two seconds"));
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

async function live() {
  const mine = (running = new AbortController());
  const now = el("div"), past = el("div");
  const since = el("select", { "aria-label": t("History"), onchange: () => again() }, ["1h", "24h", "7d"].map((one) => el("option", {}, one)));
  let told = "";
  const again = async () => {
    try {
      const text = await net.here({ lang: spoken(), since: since.value, signal: mine.signal });
      if (text !== told) past.replaceChildren(...drawn(told = text).map(lower));
    } catch (error) {
      if (error.name !== "AbortError") past.replaceChildren(el("p", { class: "dim" }, error.message));
    }
  };
  at("answer").replaceChildren(now, el("h2", {}, `${t("History")} `, since), past);
  for (let turn = 0; mine === running && view === "here"; turn += 1) {
    if (turn % PAST_TURNS === 0) again();
    try {
      const text = await net.here({ lang: spoken(), signal: mine.signal });
      if (mine === running) now.replaceChildren(...drawn(text));
    } catch (error) {
      if (error.name !== "AbortError") now.replaceChildren(failed(error));
    }
    await new Promise((done) => { setTimeout(done, EVERY_MS); });
  }
}

// A page inside another: its headline is one of several there.
function lower(part) {
  return part.nodeName === "H1" ? el("p", { class: "strong" }, part.textContent) : part;
}

function frame() {
  document.documentElement.lang = spoken() === "zh" ? "zh-Hans" : "en";
  document.title = `${t(VIEWS[view])} - rigright`;
  at("views").setAttribute("aria-label", t("Views"));
  at("views").replaceChildren(...Object.entries(VIEWS).map(([name, title]) =>
    el("a", { href: `./#${name}`, "aria-current": name === view ? "page" : null }, t(title))));
  at("views").querySelector("[aria-current]").scrollIntoView({ block: "nearest", inline: "center" });
  at("language").textContent = spoken() === "zh" ? "English" : "中文";
  const theme = document.documentElement.dataset.theme;
  at("theme").textContent = t(theme === "dark" ? "Dark" : theme === "light" ? "Light" : "Auto");
  at("skip").textContent = t("Skip to the answer");
  at("where").textContent = net.isServed ? "" : t("rigright runs in this browser: nothing you type or drop leaves it.");
  at("answer").setAttribute("aria-label", t("Answer"));
  at("question").setAttribute("aria-label", t("Question"));
}

const asks = () => view !== "here" && view !== "doctor";

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
  at("answer").replaceChildren(...(isReady || !asks() ? [] : [el("p", { class: "dim" }, t("Starting rigright in this browser: some seconds, and 12 MB the first time."))]));
  if (view === "here") return net.isServed && live();
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
