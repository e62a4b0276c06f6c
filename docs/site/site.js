const said = document.currentScript.dataset;
const root = document.documentElement;
const kept = (() => { try { return localStorage } catch { return {} } })();
if (kept.theme) root.dataset.theme = kept.theme;

const theme = document.getElementById("site-theme");
theme.hidden = false;
theme.onclick = () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = kept.theme = dark ? "light" : "dark";
};

document.getElementById("site-twin").onclick = (event) => { event.currentTarget.hash = location.hash };

for (const block of document.querySelectorAll('pre:is([data-kind="sh"], [data-kind="console"], [data-kind="python"])')) {
  const lines = block.textContent.trimEnd().split("\n");
  const typed = block.dataset.kind === "console" ? lines.filter((line) => line.startsWith("$ ")).map((line) => line.slice(2)) : lines;
  const copy = Object.assign(document.createElement("button"), { type: "button", textContent: said.copy });
  copy.onclick = async () => {
    await navigator.clipboard.writeText(typed.join("\n"));
    copy.textContent = said.copied;
    setTimeout(() => { copy.textContent = said.copy }, 1500);
  };
  const frame = Object.assign(document.createElement("div"), { className: "block" });
  block.replaceWith(frame);
  frame.append(copy, block);
}

const search = document.getElementById("site-search");
const [field, list] = search.children;
let entries;
search.hidden = false;

function searched(found) {
  entries = found;
  show();
}

field.onfocus = () => {
  if (entries) return;
  entries = [];
  document.head.append(Object.assign(document.createElement("script"), { src: `${said.root}/${said.index}` }));
};

function show() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const found = !words.length ? [] : entries.flatMap(([link, page, heading, text]) => {
    const [head, all] = [`${page} ${heading}`.toLowerCase(), `${page} ${heading} ${text}`.toLowerCase()];
    if (!words.every((word) => all.includes(word))) return [];
    return [{ link, page, heading, text, rank: words.filter((word) => head.includes(word)).length + 2 * words.filter((word) => page.toLowerCase().includes(word)).length }];
  }).sort((one, other) => other.rank - one.rank).slice(0, 12);
  list.replaceChildren(...found.map(({ link, page, heading, text }) => {
    const at = Math.max(0, text.toLowerCase().indexOf(words[0]) - 30);
    const [item, anchor, line] = ["li", "a", "small"].map((tag) => document.createElement(tag));
    anchor.href = `${said.root}/${link}`;
    anchor.textContent = heading === page ? page : `${page}: ${heading}`;
    line.textContent = text.slice(at, at + 120);
    anchor.append(line);
    item.append(anchor);
    return item;
  }));
  if (words.length && !found.length) list.append(Object.assign(document.createElement("li"), { className: "none", textContent: said.none }));
  list.hidden = !words.length;
}

field.oninput = () => { if (entries) show() };
search.onkeydown = (event) => {
  const links = [...list.querySelectorAll("a")];
  const at = links.indexOf(document.activeElement);
  if (event.key === "Escape") { field.value = ""; show(); field.focus() }
  if (event.key === "ArrowDown") (links[at + 1] ?? field).focus();
  if (event.key === "ArrowUp") (links[at - 1] ?? field).focus();
  if (event.key === "Enter" && at < 0) links[0]?.click();
  if (event.key.startsWith("Arrow")) event.preventDefault();
};
document.onkeydown = (event) => {
  if (event.key !== "/" || event.target.closest("input")) return;
  event.preventDefault();
  field.focus();
};
document.onclick = (event) => { if (!event.target.closest("#site-search")) list.hidden = true };
