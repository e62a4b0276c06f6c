// Answers of `rigright web`.
import { t } from "./words.js";

const REFUSED = {
  401: "A token is needed: open this page with #token= and the token.", 408: "The file took too long to arrive.", 413: "The file is larger than 64 MiB.",
  429: "Too many wrong tokens: wait a minute.", 503: "Too many questions are waiting: try again in a moment.",
};
const TOKEN = "rigright-token";
const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) {
  sessionStorage.setItem(TOKEN, given);
  history.replaceState(null, "", location.pathname);
}

async function call(path, { headers = {}, ...more } = {}) {
  const token = sessionStorage.getItem(TOKEN);
  const bearer = token ? { authorization: `Bearer ${token}` } : {};
  const response = await fetch(path, { ...more, headers: { ...headers, ...bearer } });
  const text = await response.text();
  if (!response.ok) throw new Error(t(REFUSED[response.status] ?? "") || text.trim() || response.statusText);
  return { text, failed: response.headers.has("x-failed") };
}

const post = (path, type, body, signal) => call(path, { method: "POST", headers: { "content-type": type }, body, signal });

export const forms = (lang) => call(`api/forms?lang=${lang}`);
export const ask = (asked, signal) => post("api/ask", "application/json", JSON.stringify(asked), signal);
export const dropped = (asked, file, signal) => post(`api/file?${new URLSearchParams(asked)}`, "application/octet-stream", file, signal);
export const here = ({ lang, since }, signal) => call(`api/here?${new URLSearchParams({ lang, ...(since && { since }) })}`, { signal });
