// The back end: a server here; a worker that runs rigright in the browser would answer the same three calls.
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
  if (!response.ok) throw new Error(text.trim() || response.statusText);
  const isData = response.headers.get("content-type")?.startsWith("application/json");
  const error = isData ? JSON.parse(text).error : null; // an answer too: no model of that name, say
  if (error) throw Object.assign(new Error(error.message), { hint: error.hint });
  return text;
}

export const forms = async (lang) => JSON.parse(await call(`api/forms?lang=${lang}`));

export const ask = (verb, said, { form, lang, signal }) =>
  call("api/ask", {
    method: "POST",
    body: JSON.stringify({ verb, said, form, lang }),
    headers: { "content-type": "application/json" },
    signal,
  });

export const dropped = (verb, file, { form, lang, signal }) =>
  call(`api/file?${new URLSearchParams({ verb, form, lang })}`, {
    method: "POST",
    body: file,
    headers: { "content-type": "application/octet-stream" },
    signal,
  });

export const here = ({ lang, signal }) => call(`api/here?lang=${lang}`, { signal });
