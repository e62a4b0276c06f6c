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
  parsed.querySelectorAll("table").forEach(paired);
  for (const one of parsed.querySelectorAll("th:empty")) one.replaceWith(parsed.createElement("td"));
  parsed.querySelectorAll("table").forEach(labelled);
  parsed.querySelectorAll("p, li, td, dd > div").forEach(coded);
  parsed.querySelectorAll("h1").forEach(marked);
  return [...parsed.body.childNodes].map((one) => document.importNode(one, true));
}

// What stands between backticks is typed.
export const typed = (text) => text.split(/`([^`]+)`/).map((word, place) => (place % 2 ? el("code", {}, word) : word));

function coded(part) {
  if (!part.children.length && part.textContent.includes("`")) part.replaceChildren(...typed(part.textContent));
}

// The sign of a verdict stands in its colour, the sentence in ink.
export function marked(head) {
  const [, sign, rest] = head.textContent.match(/^(?:([\u2713\u2717!]) )?(.*)$/s);
  head.replaceChildren(...(sign ? [el("span", { class: "mark" }, sign), " "] : []), ...typed(rest));
  return head;
}

// A table without heads is a list of names and what they are; a line after "$" is typed.
function paired(table) {
  const [head, ...rows] = table.rows;
  if (head?.cells.length !== 2 || head.textContent || rows.some((one) => one.cells.length !== 2)) return;
  const list = el("dl", { class: "pairs" });
  for (const { cells: [name, what] } of rows) {
    if (name.textContent || !list.lastChild) list.append(el("dt", {}, ...name.childNodes), el("dd"));
    const line = what.textContent.match(/^\$ (.*)$/s)?.[1];
    list.lastChild.append(line ? el("code", {}, line) : el("div", {}, ...what.childNodes));
  }
  (table.closest(".scroll") ?? table).replaceWith(list);
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
      (one.parentElement?.closest("pre, code, button") ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT) });
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
  const x = axis(ends("x"), 48, 552), y = axis(ends("y"), 290, 26);
  const tip = el("div", { class: "tip", hidden: true });
  const picture = svg("svg", { class: "pareto", viewBox: "0 0 560 336", role: "group", "aria-label": t("Cost and speed"), onmouseleave: () => { tip.hidden = true; } });
  for (const tick of x.ticks) {
    picture.append(svg("path", { class: "grid", d: `M${x.at(tick)} 26V290` }), svg("text", { x: x.at(tick), y: 307, "text-anchor": "middle" }, number(tick)));
  }
  for (const tick of y.ticks) {
    picture.append(svg("path", { class: "grid", d: `M48 ${y.at(tick)}H552` }), svg("text", { x: 40, y: y.at(tick) + 4, "text-anchor": "end" }, number(tick)));
  }
  picture.append(svg("text", { x: 552, y: 329, "text-anchor": "end" }, costName), svg("text", { x: 0, y: 12 }, speedName), svg("text", { class: "better", x: 56, y: 42 }, `\u2196 ${t("better")}`));
  const front = points.filter((one) => !points.some((other) => other !== one && other.x.value <= one.x.value && other.y.value >= one.y.value))
    .sort((one, other) => one.x.value - other.x.value);
  if (front.length > 1) picture.append(svg("path", { class: "front", d: front.map((one, place) => `${place ? "L" : "M"}${x.at(one.x.value)} ${y.at(one.y.value)}`).join("") }));
  const last = points.findIndex((one) => one.index === chosen); // which lies above the others
  for (const { index, plan, x: price, y: rate } of [...points.toSpliced(last, 1), ...points.slice(last, last + 1)]) {
    const [left, top] = [x.at(price.value), y.at(rate.value)];
    const told = [[rate, speedName], [price, costName]].map(([one, name]) => `${number(one.value)} (${number(one.low)}\u2013${number(one.high)}) ${name}`);
    const show = () => {
      tip.replaceChildren(el("strong", {}, `${index + 1}  ${label(plan)}`), ...told.map((one) => el("div", {}, one)));
      tip.className = `tip${left > 280 ? " leftward" : ""}${top < 130 ? " below" : ""}`;
      tip.style.left = `${left / 5.6}%`;
      tip.style.top = `${top / 3.36}%`;
      tip.hidden = false;
    };
    picture.append(svg("g", {
      class: index === chosen ? "point on" : "point", tabindex: 0, role: "button", "aria-label": `${index + 1} ${label(plan)}: ${told.join(", ")}`, "data-index": index,
      onmouseenter: show, onfocus: show, onblur: () => { tip.hidden = true; }, onclick: () => choose(index),
      onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(index); } },
    },
    svg("path", { class: "band", d: `M${x.at(price.low || price.value)} ${top}H${x.at(price.high)}M${left} ${y.at(rate.low || rate.value)}V${y.at(rate.high)}` }),
    svg("circle", { class: "hit", cx: left, cy: top, r: 18, fill: "transparent" }), // for fingers
    svg("circle", { class: "dot", cx: left, cy: top, r: 10 }),
    svg("text", { class: "name", x: left, y: top + 4, "text-anchor": "middle" }, String(index + 1))));
  }
  return el("figure", {}, el("div", { class: "plotted" }, picture, tip), el("figcaption", {}, t("Lines are 80% bands. Choose a dot to see that option.")));
}
