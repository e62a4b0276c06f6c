// Files that start the plan shown: asked for when somebody opens them.
import { el } from "./draw.js";
import { t } from "./words.js";

export function download(name, text) {
  const link = el("a", { href: URL.createObjectURL(new Blob([text])), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
}

// A button that says for a moment that it was done.
export function copying(name, text) {
  const button = el("button", { type: "button", onclick: async () => {
    await navigator.clipboard.writeText(text());
    button.textContent = t("Copied");
    setTimeout(() => { button.textContent = t(name); }, 1500);
  } }, t(name));
  return button;
}

export function exports(ask) {
  const inside = el("div", {}, el("p", { class: "dim" }, t("Working ...")));
  let asked = false;
  const box = el("details", { class: "exports", ontoggle: async () => {
    if (asked || !box.open) return;
    asked = true;
    try {
      inside.replaceChildren(...picked(JSON.parse(await ask()).targets));
    } catch (error) {
      asked = false;
      inside.replaceChildren(el("p", { class: "bad" }, error.message));
    }
  } }, el("summary", {}, t("Files that start it")), inside);
  return box;
}

function picked(targets) {
  const able = Object.keys(targets).filter((name) => targets[name].files);
  const why = [...new Set(Object.values(targets).map((one) => one.error).filter(Boolean))];
  if (!able.length) return why.map((one) => el("p", {}, one));
  const shown = el("div");
  const tabs = el("div", { class: "tools" }, able.map((name) => el("button", { type: "button", "aria-pressed": "false", onclick: () => show(name) }, name)));
  const show = (name) => {
    for (const tab of tabs.children) tab.setAttribute("aria-pressed", String(tab.textContent === name));
    shown.replaceChildren(...Object.entries(targets[name].files).flatMap(([file, text]) => [
      el("div", { class: "file" }, el("strong", {}, file), copying("Copy", () => text), el("button", { type: "button", onclick: () => download(file, text) }, t("Download"))),
      el("pre", { tabindex: 0 }, text)]));
  };
  show(able.find((name) => !["compose", "kserve", "kubernetes", "ray", "slurm", "systemd"].includes(name)) ?? able[0]);
  return [tabs, shown, ...(why.length ? [el("ul", { class: "dim" }, Object.entries(targets).filter(([, one]) => one.error).map(([name, one]) => el("li", {}, `${name}: ${one.error}`)))] : [])];
}
