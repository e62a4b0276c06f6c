// rigright as it is on the command line, by Python and numpy compiled to WebAssembly; `scripts/page` puts both here.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const started = start();

async function start() {
  const wheel = fetch("rigright.whl", { cache: "no-cache" }).then((response) => {
    if (!response.ok) throw new Error(`rigright.whl: ${response.status}`);
    return response.arrayBuffer();
  });
  const python = await loadPyodide({ indexURL: new URL("pyodide/", self.location).href });
  await python.loadPackage("numpy", { messageCallback() {} });
  python.unpackArchive(await wheel, "wheel");
  return { python, page: python.pyimport("rigright.faces.page") };
}

async function answered({ begin, ask, drop, file }) {
  const { python, page } = await started;
  if (begin) return {};
  const found = ask ? page.read(ask).answer() : page.dropped.callKwargs(python.toPy(new Uint8Array(file)), { verb: drop.verb, form: drop.form, language: drop.lang, name: drop.name ?? "", every: drop.all === "true" });
  return { text: found.text, failed: found.failed, code: found.exit_code };
}

self.onmessage = async ({ data }) => {
  try {
    postMessage(await answered(data));
  } catch (error) {
    postMessage({ trouble: String(error.message ?? error) });
  }
};
