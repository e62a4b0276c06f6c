// The machine that serves this page: what it does now, what is in it, and what was kept of its past.
import { drawn, el, svg } from "./draw.js";
import * as net from "./net.js";
import { spoken, t } from "./words.js";

const EVERY_MS = 2000, PAST_TURNS = 15, KEPT = 60;

export async function live(box, { signal, since: asked, failed, named, choose, is }) {
  const now = el("div", {}, el("p", { class: "dim" }, t("Reading this machine ..."))), inside = el("div"), past = el("div");
  const since = el("select", { "aria-label": t("History"), onchange: () => { choose(since.value); again(); } }, ["1h", "24h", "7d"].map((one) => el("option", { selected: one === asked }, one)));
  const kept = new Map();
  let told = "";
  const again = async () => {
    try {
      const text = await net.here({ lang: spoken(), since: since.value, signal });
      if (text !== told) past.replaceChildren(...drawn(told = text).map(lower));
    } catch (error) {
      if (error.name === "AbortError") return;
      const [before, after] = t("No history yet: {command} records one.").split("{command}");
      past.replaceChildren(error.kind !== "missing" ? failed(error) : el("p", { class: "dim" }, before, el("code", {}, "rigright watch"), after));
    }
  };
  const probe = async () => inside.replaceChildren(...named(drawn(await net.ask("probe", {}, { form: "html", lang: spoken(), signal })).map(lower)));
  box.replaceChildren(now, el("h2", {}, t("Hardware and system")), inside, el("h2", {}, `${t("History")} `, since), past);
  probe().catch((error) => (error.name === "AbortError" ? null : inside.replaceChildren(failed(error))));
  for (let turn = 0; is(); turn += 1) {
    if (turn % PAST_TURNS === 0) again();
    try {
      const text = await net.here({ lang: spoken(), signal });
      if (is()) now.replaceChildren(...drawn(text).map((part) => tiled(part, kept)));
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

// "cpu 37 %", "memory 4.1/23.5 GiB": a name, a figure, and how it went since the page was opened.
function tiled(part, kept) {
  if (part.nodeName !== "UL") return part;
  return el("dl", { class: "facts tiles" }, [...part.children].map((one) => {
    const [, name, figure] = one.textContent.match(/^(\D*\S)\s+(\d.*)$/s) ?? [null, one.textContent, ""];
    const [, value, of] = figure.match(/^([\d.]+)(?:\/([\d.]+)| ?%)/) ?? [];
    const share = value === undefined ? null : Number(value) / Number(of ?? 100);
    if (share !== null) kept.set(name, [...kept.get(name) ?? [], share].slice(-KEPT));
    return el("div", {}, el("dt", {}, name), el("dd", {}, figure), share === null ? "" : trace(kept.get(name)));
  }));
}

function trace(shares) {
  const points = shares.map((share, place) => `${place + KEPT - shares.length} ${(1 - Math.min(share, 1)) * 20 + 1}`);
  const area = `M${KEPT - shares.length} 22L${points.join("L")}V22Z`;
  return svg("svg", { class: "trace", viewBox: `0 0 ${KEPT - 1} 22`, preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("path", { class: "area", d: area }), svg("path", { d: `M${points.join("L")}${points.length > 1 ? "" : "h.5"}` }));
}
