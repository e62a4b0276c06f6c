// Predicted against measured: every published run that was held against a prediction, down to the single one.
import { axis, el, labelled, number, svg } from "./draw.js";
import { t } from "./words.js";

const FIGURES = {
  output_tok_s_total: ["Output tokens/s", "tok/s"], ttft_ms: ["TTFT", "ms"], tpot_ms: ["TPOT", "ms"], decode_tok_s_per_user: ["Decode tokens/s of one user", "tok/s"],
  prefill_tok_s: ["Prefill tokens/s", "tok/s"], latency_ms: ["Whole request or batch", "ms"], tok_per_s_per_chip: ["Training tokens/s per GPU", "tok/s"],
  samples_per_s: ["Images or samples/s", "/s"], total_gpu_peak: ["Inference memory", "GiB"], peak_gib: ["Training memory", "GiB"],
};
const GROUPS = { engine: "Engine", chip: "GPU", source: "Source", model: "Model" };
const UNSEEN = "unseen", NEAR = 0.2, MOST_RUNS = 20, FRAME = { left: 62, right: 620, top: 14, bottom: 420 };
const kept = { rows: null };

async function load() {
  if (kept.rows) return kept.rows;
  const response = await fetch("accuracy.json");
  if (!response.ok) throw new Error(`${response.url}: ${response.status}`);
  const { columns, names, rows } = await response.json();
  kept.rows = rows.map((row) => Object.fromEntries(columns.map((name, place) => [name, names[name] ? names[name][row[place]] : row[place]])));
  return kept.rows;
}

const share = (part) => `${Math.round(part * 100)}%`;
const error = (run) => run.shown / run.measured - 1;
const median = (list) => { const sorted = [...list].sort((a, b) => a - b), half = (sorted.length - 1) / 2; return (sorted[Math.floor(half)] + sorted[Math.ceil(half)]) / 2; };
const holds = (run) => run.low <= run.measured && run.measured <= run.high;

// Every source weighs alike, however many runs it has.
function scored(runs) {
  const sources = [...Map.groupBy(runs, (run) => run.source).values()];
  const over = (of) => { const known = sources.map(of).filter((one) => one !== null); return known.length ? known.reduce((a, b) => a + b) / known.length : null; };
  const banded = (list) => list.filter((run) => run.low && run.high);
  return {
    runs: runs.length,
    median: over((list) => median(list.map((run) => Math.abs(error(run))))),
    near: over((list) => list.filter((run) => Math.abs(error(run)) <= NEAR).length / list.length),
    held: over((list) => (banded(list).length ? banded(list).filter(holds).length / banded(list).length : null)),
  };
}

// What is asked is in the address: figure, engine, chip, source, model, and whether the source was left out.
export async function accuracy(asked, choose) {
  const every = await load();
  const figure = FIGURES[asked.figure] ? asked.figure : Object.keys(FIGURES)[0];
  const isUnseen = asked.terms === UNSEEN;
  const mine = every.filter((run) => run.figure === figure && (!isUnseen || run.unseen))
    .map((run) => ({ ...run, shown: isUnseen ? run.unseen : run.predicted, ...(isUnseen && { low: null, high: null }) }));
  const runs = mine.filter((run) => Object.keys(GROUPS).every((name) => !asked[name] || run[name] === asked[name]));
  const [name, unit] = FIGURES[figure];
  const found = [filters({ asked, figure, mine, isUnseen }, choose)];
  if (!runs.length) return [...found, el("h1", {}, t("No such runs"))];
  const score = scored(runs);
  const parts = [`${t("median error")} ${share(score.median)}`, `${share(score.near)} ${t("within 20%")}`, score.held === null ? "" : `${share(score.held)} ${t("in the 80% band")}`];
  found.push(el("h1", {}, `${t(name)}${t(": ")}${parts.filter(Boolean).join(t(", "))} (${count(score.runs)} ${t("runs")})`));
  const [first, ...rest] = groups(runs, asked, choose);
  found.push(el("div", { class: "cols" }, picture(runs, unit), first ?? ""), ...rest, ...single(runs, unit));
  return found;
}

const count = (runs) => runs.toLocaleString("en");

function filters({ asked, figure, mine, isUnseen }, choose) {
  const pick = (name, about, rows) => el("label", {}, el("span", {}, t(about)), el("select", { name, onchange: (event) => choose({ [name]: event.target.value }) },
    rows.map(([value, told]) => el("option", { value, selected: value === (name === "figure" ? figure : asked[name] ?? "") }, told))));
  const options = (name) => {
    const rest = mine.filter((run) => Object.keys(GROUPS).every((other) => other === name || !asked[other] || run[other] === asked[other]));
    const counts = Map.groupBy(rest, (run) => run[name]);
    return [["", `${t("all")} (${counts.size})`], ...[...counts].sort(([, one], [, other]) => other.length - one.length).map(([value, list]) => [value, `${value} (${list.length})`])];
  };
  return el("div", { class: "fields" }, pick("figure", "Figure", Object.entries(FIGURES).map(([value, [told]]) => [value, t(told)])),
    Object.entries(GROUPS).map(([name, about]) => pick(name, about, options(name))),
    pick("terms", "Evaluation", [["", t("on all runs")], [UNSEEN, t("without that source")]].map((row) => (isUnseen || row[0] === "" || mine.some((run) => run.unseen) ? row : null)).filter(Boolean)));
}

function picture(runs, unit) {
  const { left, right, top, bottom } = FRAME;
  const ends = runs.flatMap((run) => [run.measured, run.shown]);
  const x = axis(ends, left, right), y = axis(ends, bottom, top);
  const box = svg("svg", { class: "pareto scatter", viewBox: "0 0 640 462", role: "img", "aria-label": t("Predicted against measured") });
  for (const tick of x.ticks) {
    box.append(svg("path", { class: "grid", d: `M${x.at(tick)} ${top}V${bottom}M${left} ${y.at(tick)}H${right}` }),
      svg("text", { x: x.at(tick), y: bottom + 17, "text-anchor": "middle" }, number(tick)), svg("text", { x: left - 8, y: y.at(tick) + 4, "text-anchor": "end" }, number(tick)));
  }
  box.append(svg("text", { x: right, y: bottom + 38, "text-anchor": "end" }, `${t("measured")}, ${unit}`), svg("text", { x: 0, y: 5 }, `${t("predicted")}, ${unit}`));
  const low = Math.min(...ends) / 1.15, high = Math.max(...ends) * 1.15;
  const line = (factor) => [low, high].map((one) => [x.at(one), y.at(one * factor)]);
  const [above, below, equal] = [1 + NEAR, 1 / (1 + NEAR), 1].map(line);
  const [width, height] = [right - left, bottom - top];
  box.append(svg("svg", { x: left, y: top, width, height, viewBox: `${left} ${top} ${width} ${height}` }, // which cuts off what lies beyond
    svg("path", { class: "near", d: `M${above.join("L")}L${below.reverse().join("L")}Z` }), svg("path", { class: "equal", d: `M${equal.join("L")}` })));
  const dot = (run) => `M${x.at(run.measured).toFixed(1)} ${y.at(run.shown).toFixed(1)}h0`;
  const isOut = (run) => run.low && run.high && !holds(run);
  box.append(svg("path", { class: "dots", d: runs.filter((run) => !isOut(run)).map(dot).join("") }), svg("path", { class: "dots out", d: runs.filter(isOut).map(dot).join("") }));
  const mark = svg("g", { class: "mark" });
  box.append(mark);
  const tip = el("p", { class: "tip" }, t("Point at a dot to read it. Shaded: 20% off. Orange: outside its 80% band."));
  box.addEventListener("pointermove", (event) => {
    const frame = box.getBoundingClientRect(), scale = 640 / frame.width;
    const [px, py] = [(event.clientX - frame.left) * scale, (event.clientY - frame.top) * scale];
    const far = (run) => Math.hypot(x.at(run.measured) - px, y.at(run.shown) - py);
    const near = runs.reduce((best, run) => (far(run) < far(best) ? run : best));
    mark.replaceChildren();
    if (far(near) > 16) return;
    const [cx, cy] = [x.at(near.measured), y.at(near.shown)];
    mark.append(...(near.low ? [svg("path", { d: `M${cx} ${Math.min(y.at(near.low), bottom)}V${Math.max(y.at(near.high), top)}` })] : []), svg("circle", { cx, cy, r: 6 }));
    tip.textContent = told(near, unit);
  });
  return el("div", {}, box, tip);
}

function told(run, unit) {
  const band = run.low ? ` (${number(run.low)}-${number(run.high)})` : "";
  return [run.engine, run.chip, run.model, `${t("measured")} ${number(run.measured)}, ${t("predicted")} ${number(run.shown)}${band} ${unit}, ${signed(run)}`, run.source].filter((one) => one && one !== "-").join(" · ");
}

const signed = (run) => `${error(run) > 0 ? "+" : ""}${share(error(run))}`.replace("-", "−");

function groups(runs, asked, choose) {
  return Object.keys(GROUPS).filter((name) => !asked[name]).flatMap((name) => {
    const found = [...Map.groupBy(runs, (run) => run[name])].map(([value, list]) => [value, scored(list)]).sort(([, one], [, other]) => other.runs - one.runs);
    if (found.length < 2) return [];
    const lines = found.map(([value, one]) => el("tr", {},
      el("td", {}, el("button", { type: "button", class: "field", onclick: () => choose({ [name]: value }) }, value)),
      ...[count(one.runs), share(one.median), share(one.near), one.held === null ? "-" : share(one.held)].map((cell) => el("td", { class: "right" }, cell))));
    const table = el("table", {}, el("thead", {}, el("tr", {}, el("th", {}, t(GROUPS[name])), ...["Runs", "Median error", "Within 20%", "In the band"].map((head) => el("th", { class: "right" }, t(head))))), el("tbody", {}, lines));
    labelled(table);
    return [el("details", { open: name === "engine" || found.length <= 8 }, el("summary", {}, `${t(GROUPS[name])} (${found.length})`), el("div", { class: "scroll", tabindex: 0 }, table))];
  });
}

// Single runs, the worst first.
function single(runs, unit) {
  const worst = [...runs].sort((one, other) => Math.abs(Math.log(other.shown / other.measured)) - Math.abs(Math.log(one.shown / one.measured)));
  const body = el("tbody");
  const more = el("button", { type: "button", onclick: () => add(worst.length) }, t("Show all"));
  const add = (most) => {
    body.replaceChildren(...worst.slice(0, most).map((run) => el("tr", {},
      el("td", {}, run.chip), el("td", {}, run.model), el("td", {}, run.engine),
      ...[number(run.measured), number(run.shown), run.low ? `${number(run.low)}-${number(run.high)}` : "-", signed(run)].map((cell) => el("td", { class: "right" }, cell)), el("td", {}, run.source))));
    labelled(table);
    more.hidden = most >= worst.length;
  };
  const heads = [["GPU"], ["Model"], ["Engine"], ["Measured", 1], ["Predicted", 1], ["80% band", 1], ["Error", 1], ["Source"]];
  const table = el("table", { class: "runs" }, el("thead", {}, el("tr", {}, heads.map(([head, isRight]) => el("th", { class: isRight ? "right" : null }, t(head))))), body);
  add(MOST_RUNS);
  return [el("h2", {}, `${t("Single runs, the worst first")} (${unit})`), el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": t("Single runs, the worst first") }, table), more];
}
