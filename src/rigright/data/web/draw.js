// Elements, numbers, and the two pictures of a plan.
import { spoken, t } from "./words.js";

const SVG = "http://www.w3.org/2000/svg";

export function el(name, attributes = {}, ...inside) {
  return fill(document.createElement(name), attributes, inside);
}

export function svg(name, attributes = {}, ...inside) {
  return fill(document.createElementNS(SVG, name), attributes, inside);
}

function fill(node, attributes, inside) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...inside.flat().filter((one) => one !== null && one !== undefined));
  return node;
}

// What the server drew: its text is escaped there; widths go through the object model, as the policy wants.
export function drawn(html) {
  const parsed = new DOMParser().parseFromString(html.replaceAll(' style="', ' data-style="'), "text/html");
  for (const one of parsed.querySelectorAll("[data-style]")) {
    const words = one.dataset.style;
    one.removeAttribute("data-style");
    one.style.cssText = words;
  }
  for (const one of parsed.querySelectorAll(".scroll, pre")) one.tabIndex = 0; // for the arrow keys
  for (const one of parsed.querySelectorAll("th:empty")) one.replaceWith(parsed.createElement("td"));
  parsed.querySelectorAll("table").forEach(labelled);
  return [...parsed.body.childNodes].map((one) => document.importNode(one, true));
}

// Columns of a wide table stand under each other on a phone: each cell then says its column.
export function labelled(table) {
  const [head, ...rows] = table.rows;
  if (!head?.querySelector("th") || head.cells.length < 4) return;
  table.classList.add("wide");
  head.classList.add("head");
  for (const row of rows) [...row.cells].forEach((cell, place) => { cell.dataset.label = head.cells[place]?.textContent ?? ""; });
}

// What notes say of an option leads to its field: "--seq" is for those who type.
export function fielded(parts, names, label, go) {
  for (const part of parts) {
    const texts = document.createTreeWalker(part, NodeFilter.SHOW_TEXT, { acceptNode: (one) =>
      (one.parentElement?.closest("pre, code, button, .error") ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT) });
    const found = [];
    while (texts.nextNode()) if (/--[a-z]/.test(texts.currentNode.data)) found.push(texts.currentNode);
    for (const one of found) {
      one.replaceWith(...one.data.split(/(--[a-z][a-z-]*)/).map((word) => {
        const name = word.slice(2).replaceAll("-", "_");
        return word.startsWith("--") && names.includes(name) ? el("button", { type: "button", class: "field", onclick: () => go(name) }, label(name)) : word;
      }));
    }
  }
  return parts;
}

export const number = (value) => {
  const three = Number(Number(value).toPrecision(3));
  return new Intl.NumberFormat(spoken(), { maximumSignificantDigits: 3 }).format(three);
};
export const seconds = (value) => (value < 1 ? `${number(value * 1000)} ms` : `${number(value)} s`);
export const lasting = (days) => (days < 1 / 24 ? `${number(days * 1440)} min` : days < 2 ? `${number(days * 24)} h` : `${number(days)} d`);
export const watts = (value) => (value >= 10000 ? `${number(value / 1000)} kW` : `${number(value)} W`);

const PARTS = {
  serve: [
    ["Weights", ["weights"]],
    ["KV cache", ["cache"]],
    ["Overhead", ["states", "step", "tables", "libraries", "graphs", "collectives", "context", "slack"]],
    ["Spare KV cache", ["unused"]],
  ],
  train: [
    ["Weights", ["frozen", "weights", "master", "gathered", "casts"]],
    ["Optimizer", ["gradients", "optimizer", "buckets", "step"]],
    ["Activations", ["activations", "working", "loss"]],
    ["Overhead", ["rest"]],
  ],
};

export function memory(plan) {
  const room = plan.room_bytes, trains = "trainer" in plan.work;
  const parts = PARTS[trains ? "train" : "serve"];
  const ranks = plan.memory?.length ? plan.memory : plan.rank_bytes ? [{ rest: plan.rank_bytes.value, weights: 0 }] : [];
  if (!ranks.length || !room) return null;
  const gib = (bytes) => number(bytes / 2 ** 30);
  const sizes = ranks.map((one) => (plan.memory?.length ? parts : PARTS.train).map(([, keys]) => keys.reduce((sum, key) => sum + (one[key] ?? 0), 0)));
  const scale = Math.max(room, ...sizes.map((one) => one.reduce((a, b) => a + b, 0)));
  const used = parts.map((_, part) => sizes.some((one) => one[part] > 0));
  const bars = sizes.slice(0, 8).flatMap((one, index) => {
    const strip = el("div", { class: "strip" });
    one.forEach((bytes, part) => {
      if (!bytes) return;
      const piece = el("i", { class: `p${part}`, title: `${t(parts[part][0])} ${gib(bytes)} GiB` });
      piece.style.width = `${(100 * bytes) / scale}%`;
      strip.append(piece);
    });
    const total = one.reduce((a, b) => a + b, 0);
    const label = sizes.length > 1 ? `GPU ${index}` : plan.n_chips > 1 ? `${plan.n_chips}x GPU` : "GPU";
    return [el("span", {}, label), strip, el("span", { class: total > room ? "bad" : "" }, `${gib(total)} / ${gib(room)} GiB`)];
  });
  const names = parts.map(([name], part) => used[part] && el("span", {}, el("i", { class: `p${part}` }), `${t(name)} ${gib(Math.max(...sizes.map((one) => one[part])))}`)).filter(Boolean);
  return el("div", {}, el("div", { class: "bars" }, bars), el("div", { class: "legend" }, names));
}

// A logarithmic axis from the lowest to the highest end of the bands.
export function axis(values, from, to) {
  const low = Math.log10(Math.min(...values)) - 0.06, high = Math.log10(Math.max(...values)) + 0.06;
  const at = (value) => from + ((Math.log10(value) - low) / (high - low || 1)) * (to - from);
  const ticks = [];
  for (let power = Math.floor(low); power <= high; power += 1) {
    for (const step of high - low > 2 ? [1] : [1, 2, 5]) {
      const value = step * 10 ** power;
      if (Math.log10(value) >= low && Math.log10(value) <= high) ticks.push(value);
    }
  }
  return { at, ticks };
}

export function pareto(plans, { cost, speed, chosen, choose, label, costName, speedName }) {
  const points = plans.map((plan, index) => ({ index, plan, x: cost(plan), y: speed(plan) }))
    .filter(({ x, y }) => x?.value > 0 && y?.value > 0);
  if (points.length < 2) return null;
  const ends = (key) => points.flatMap((one) => [one[key].low ?? one[key].value, one[key].high ?? one[key].value, one[key].value]).filter((one) => one > 0);
  const x = axis(ends("x"), 56, 540), y = axis(ends("y"), 270, 14);
  const tip = el("p", { class: "tip" }, t("Point at a dot to read it; lines are 80% bands."));
  const picture = svg("svg", { class: "pareto", viewBox: "0 0 560 318", role: "group", "aria-label": t("Cost and speed") });
  for (const tick of x.ticks) {
    picture.append(svg("path", { class: "grid", d: `M${x.at(tick)} 14V270` }),
      svg("text", { x: x.at(tick), y: 287, "text-anchor": "middle" }, number(tick)));
  }
  for (const tick of y.ticks) {
    picture.append(svg("path", { class: "grid", d: `M56 ${y.at(tick)}H540` }),
      svg("text", { x: 48, y: y.at(tick) + 4, "text-anchor": "end" }, number(tick)));
  }
  picture.append(svg("text", { x: 540, y: 309, "text-anchor": "end" }, costName), svg("text", { x: 0, y: 5 }, speedName));
  const front = points.filter((one) => !points.some((other) => other !== one && other.x.value <= one.x.value && other.y.value >= one.y.value))
    .sort((one, other) => one.x.value - other.x.value);
  if (front.length > 1) picture.append(svg("path", { class: "front", d: front.map((one, place) => `${place ? "L" : "M"}${x.at(one.x.value)} ${y.at(one.y.value)}`).join("") }));
  for (const { index, plan, x: price, y: rate } of points) {
    const [left, top] = [x.at(price.value), y.at(rate.value)];
    const told = `${index + 1} ${label(plan)}: ${number(rate.value)} (${number(rate.low)}-${number(rate.high)}) ${speedName}, ${number(price.value)} (${number(price.low)}-${number(price.high)}) ${costName}`;
    const show = () => { tip.textContent = told; };
    picture.append(svg("g", {
      class: index === chosen ? "point on" : "point", tabindex: 0, role: "button", "aria-label": told, "data-index": index,
      onmouseenter: show, onfocus: show, onclick: () => choose(index),
      onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(index); } },
    },
    svg("path", { class: "band", d: `M${x.at(price.low || price.value)} ${top}H${x.at(price.high)}M${left} ${y.at(rate.low || rate.value)}V${y.at(rate.high)}` }),
    svg("circle", { class: "hit", cx: left, cy: top, r: 16, fill: "transparent" }), // for fingers
    svg("circle", { class: "dot", cx: left, cy: top, r: 7 }),
    svg("text", { class: "name", x: left + (left > 400 ? -11 : 11), y: top - 9, "text-anchor": left > 400 ? "end" : "start" }, String(index + 1))));
  }
  return el("div", {}, picture, tip);
}
