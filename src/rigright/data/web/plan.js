// The answer of `plan`: the verdict, the chosen option in figures, memory, cost against speed, all options.
import { el, memory, number, pareto, seconds, watts } from "./draw.js";
import { t } from "./words.js";

const money = (value) => `$${number(value)}`;
const speed = (plan) => plan.figures.output_tok_per_s ?? plan.figures.train_tok_per_s;
const FIGURES = [
  ["Price", (plan) => plan.figures.usd, money],
  ["$/hour", (plan) => plan.figures.usd_per_h, money],
  ["$ per 1M tokens", (plan) => plan.figures.usd_per_mtok, money],
  ["Tokens/s", speed, number],
  ["TTFT", (plan) => plan.figures.ttft_s, seconds],
  ["TPOT", (plan) => plan.figures.tpot_s, seconds],
  ["Power", (plan) => plan.figures.power_w, watts],
];
const known = (figure) => figure && Number.isFinite(figure.value);
const how = (plan) => t(plan.supply?.how === "buy" && plan.supply.used ? "buy used" : plan.supply?.how ?? "");

export function planned(data) {
  const box = el("div");
  const head = el("h1", { class: data.fits ? "good" : "bad" }, `${data.fits ? "✓" : "✗"} ${data.verdict}`);
  const show = (chosen) => {
    const focused = document.activeElement?.dataset?.index;
    box.replaceChildren(head, ...body(data, chosen, show));
    if (focused !== undefined) box.querySelector(`[data-index="${focused}"]`)?.focus();
  };
  show(0);
  return box;
}

function body(data, chosen, choose) {
  const { plans } = data;
  const shown = plans[chosen];
  const found = [];
  if (shown) {
    found.push(facts(shown));
    const bar = memory(shown);
    const picture = pareto(plans, {
      cost: (plan) => plan.figures.usd_per_mtok ?? plan.figures.usd_per_h,
      speed,
      chosen, choose, label: (plan) => plan.machine, costName: t("$ per 1M tokens"), speedName: t("Tokens/s"),
    });
    const left = el("div", {}, ...titled("Memory of each GPU", bar), ...titled("Why", points([...(data.plans[chosen].reasons ?? []), ...(shown.notes ?? [])])));
    found.push(picture ? el("div", { class: "cols" }, left, el("div", {}, ...titled("Cost and speed", picture))) : left);
    found.push(...titled("Options found", table(plans, chosen, choose)));
  }
  found.push(...titled("Assumed", points(data.notes)));
  const over = (data.why_not ?? []).map((one) => `${one.label}: ${one.reason}`);
  found.push(...titled("Passed over", points(over)));
  return found;
}

const titled = (title, part) => (part ? [el("h2", {}, t(title)), part] : []);
const points = (items) => (items?.length ? el("ul", {}, items.flat().map((one) => el("li", {}, one))) : null);

function facts(plan) {
  const rows = FIGURES.filter(([, of]) => known(of(plan))).map(([name, of, told]) => {
    const { value, low, high } = of(plan);
    const band = low < value || high > value ? el("small", {}, `${told(low)} - ${told(high)}`) : null;
    return el("div", {}, el("dt", {}, t(name)), el("dd", {}, told(value), band));
  });
  return el("dl", { class: "facts" }, rows);
}

function table(plans, chosen, choose) {
  const columns = FIGURES.filter(([, of]) => plans.some((plan) => known(of(plan))));
  const rows = plans.map((plan, index) => el("tr", {
    class: "pick", "aria-selected": String(index === chosen), tabindex: 0, "data-index": `row${index}`,
    onclick: () => choose(index), onkeydown: (event) => { if (event.key === "Enter") choose(index); },
  },
  el("td", {}, `${index + 1}  ${plan.machine}`), el("td", {}, how(plan)), el("td", {}, [plan.work?.weights, plan.work?.engine].filter(Boolean).join(", ")),
  ...columns.map(([, of, told]) => el("td", { class: "right" }, known(of(plan)) ? told(of(plan).value) : "-"))));
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": t("Options found") }, el("table", { role: "grid" },
    el("thead", {}, el("tr", {}, el("th", {}, t("Machine")), el("th", {}, t("Supply")), el("th", {}, t("Format")),
      ...columns.map(([name]) => el("th", { class: "right" }, t(name))))),
    el("tbody", {}, rows)));
}
