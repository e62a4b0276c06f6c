// The back end: the server that sent this page and says so, or rigright itself in a worker of this browser.
import * as local from "./local.js";
import * as server from "./server.js";

const sender = await fetch(location.pathname, { method: "HEAD", cache: "no-store" }).catch(() => null);
export const isServed = sender?.headers.has("x-rigright") ?? false;
const back = isServed ? server : local;

// The text of an answer; an error is an answer too: no model of that name, say.
function told({ text, failed }) {
  if (!failed) return text;
  const { error } = JSON.parse(text);
  throw Object.assign(new Error(error.message), { hint: error.hint, kind: error.kind });
}

export const forms = async (lang) => JSON.parse(told(await back.forms(lang)));
export const exported = async (said, { number, lang }) => told(await back.ask({ verb: "export", said, number, lang }));
export const ask = async (verb, said, { form, lang, details, signal }) => told(await back.ask({ verb, said, form, lang, details }, signal));
export const dropped = async (verb, file, { form, lang, all, signal }) => told(await back.dropped({ verb, form, lang, name: file.name ?? "", ...(all && { all }) }, file, signal));
export const here = async ({ lang, since, signal }) => told(await server.here({ lang, since }, signal));
