// The answer of `plan`: the verdict, the chosen option in figures, memory, cost against speed, all options.
import { el, labelled, lasting, marked, memory, number, pareto, seconds, watts } from "./draw.js";
import { t } from "./words.js";

const MARKS = { good: "✓", warn: "!", bad: "✗" };
const speed = (plan) => plan.figures.output_tok_per_s ?? plan.figures.train_tok_per_s ?? plan.figures.images_per_s ?? plan.figures.samples_per_s;
const known = (figure) => figure && Number.isFinite(figure.value);
const how = (plan) => t(plan.supply?.how === "buy" && plan.supply.used ? "buy used" : plan.supply?.how ?? "");
const format = ({ work = {} }) => [work.weights ?? work.method, work.engine ?? work.trainer].filter(Boolean).join(", ");

// Dollars are what answers hold; a reader sees the currency that was asked for.
export function purse({ sign, per_usd: rate }) {
  const mark = /[a-z]$/i.test(sign) ? `${sign} ` : sign;
  const cents = (value) => (value < 10 && value >= 0.01 ? number(value).replace(/^(\d)$/, "$1.00").replace(/^(\d\.\d)$/, "$10") : number(value));
  return { sign, told: (usd) => `${mark}${cents(usd * rate)}`, bare: (usd) => usd * rate };
}

const figures = ({ sign, told }, plans) => [
  [t("Price"), (plan) => plan.figures.usd, told],
  [t("{sign}/hour").replace("{sign}", sign), (plan) => plan.figures.usd_per_h, told],
  [t("{sign} per 1M tokens").replace("{sign}", sign), (plan) => plan.figures.usd_per_mtok, told],
  [t("Total cost"), (plan) => (plan.work?.trainer ? plan.figures.usd_total : null), told],
  [t("Time"), (plan) => plan.figures.days, lasting],
  [t(plans[0]?.figures.images_per_s ? "Images/s" : plans[0]?.figures.samples_per_s ? "Samples/s" : "Tokens/s"), speed, number],
  ["TTFT", (plan) => plan.figures.ttft_s, seconds],
  ["TPOT", (plan) => plan.figures.tpot_s, seconds],
  [t("Power"), (plan) => plan.figures.power_w, watts],
];

export function planned(data, { currencies, exported, named, pick, picked }) {
  const box = el("div");
  const money = purse(currencies[data.wish.currency] ?? currencies.USD);
  const plans = data.plans.length ? data.plans : data.nearest ? [data.nearest] : [];
  const rows = figures(money, plans).filter(([, of]) => plans.some((plan) => known(of(plan))));
  const head = marked(el("h1", { class: data.tone }, `${MARKS[data.tone] ?? ""} ${data.verdict}`));
  const show = (chosen) => {
    const focused = document.activeElement?.dataset?.index;
    box.replaceChildren(...named(body({ data, plans, rows, money, chosen, exported }, choose)));
    if (focused !== undefined) box.querySelector(`[data-index="${focused}"]`)?.focus();
  };
  const choose = (chosen) => {
    pick(chosen + 1);
    show(chosen);
  };
  show(plans[picked - 1] ? picked - 1 : 0);
  return [head, box];
}

function body({ data, plans, rows, money, chosen, exported }, choose) {
  const shown = plans[chosen];
  const found = [];
  if (shown) {
    found.push(facts(shown, rows));
    const cost = (plan) => plan.figures.usd_per_mtok ?? plan.figures.usd_per_h;
    const converted = (figure) => figure && Object.fromEntries(["value", "low", "high"].map((one) => [one, money.bare(figure[one])]));
    const name = plans.some((plan) => plan.figures.usd_per_mtok) ? "{sign} per 1M tokens" : "{sign}/hour";
    const picture = pareto(plans, {
      cost: (plan) => converted(cost(plan)), speed, chosen, choose, label: (plan) => plan.machine,
      costName: t(name).replace("{sign}", money.sign), speedName: rows.find(([, of]) => of === speed)?.[0] ?? "",
    });
    const left = el("div", {}, ...titled("Memory of each GPU", memory(shown)),
      ...titled("Why", points([...(shown.reasons ?? []), ...(shown.notes ?? []), ...(shown.in_ram ? [shown.in_ram] : [])])));
    found.push(picture ? el("div", { class: "cols" }, left, el("div", {}, ...titled("Cost and speed", picture))) : left);
    if (plans.length > 1) found.push(...titled("Options found", table(plans, { rows, chosen, choose })));
    if (data.plans.length) found.push(exported(chosen + 1, shown));
  }
  found.push(...titled("What would meet the target", points((data.steps ?? []).map((one) => step(one, money)))));
  found.push(...titled("Notes", points(data.notes)));
  found.push(...titled("Rejected", points((data.why_not ?? []).map((one) => `${one.label}: ${one.reason}`))));
  return found;
}

function step({ label, usd, usd_per_h: rent, plan }, { told, sign }) {
  const price = usd ? told(usd.value) : rent ? `${told(rent.value)}${t("{sign}/hour").replace("{sign}", "")}` : "";
  const rate = speed(plan);
  return [label, price, rate ? `${number(rate.value)} ${t("tok/s")}` : ""].filter(Boolean).join(" · ");
}

const titled = (title, part) => (part ? [el("h2", {}, t(title)), part] : []);
const points = (items) => (items?.length ? el("ul", {}, items.flat().map((one) => el("li", {}, one))) : null);

function facts(plan, rows) {
  return el("dl", { class: "facts" }, rows.filter(([, of]) => known(of(plan))).map(([name, of, told]) => {
    const { value, low, high } = of(plan);
    const band = low < value || high > value ? el("small", {}, `${told(low)}\u2013${told(high)}`) : null;
    return el("div", {}, el("dt", {}, name), el("dd", {}, told(value), band));
  }));
}

function table(plans, { rows, chosen, choose }) {
  const lines = plans.map((plan, index) => el("tr", {
    class: "pick", "aria-selected": String(index === chosen), tabindex: 0, "data-index": `row${index}`,
    onclick: () => choose(index), onkeydown: (event) => { if (event.key === "Enter") choose(index); },
  },
  el("td", {}, el("span", { class: "num" }, String(index + 1)), ` ${plan.machine}`), el("td", {}, how(plan)), el("td", {}, format(plan)),
  ...rows.map(([, of, told]) => el("td", { class: "right" }, known(of(plan)) ? told(of(plan).value) : "-"))));
  const made = el("table", { role: "grid" },
    el("thead", {}, el("tr", {}, el("th", {}, t("Machine")), el("th", {}, t("Supply")), el("th", {}, t("Format")),
      ...rows.map(([name]) => el("th", { class: "right" }, name)))),
    el("tbody", {}, lines));
  labelled(made);
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": t("Options found") }, made);
}
