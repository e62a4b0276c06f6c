// Answers of rigright in a worker: one question at a time, and none that nobody waits for any more.
import { t } from "./words.js";

const MOST_FILE = 64 * 2 ** 20;
let worker = null, turn = Promise.resolve();

function post(asked, signal, file) {
  const answer = turn.then(() => new Promise((done, failed) => {
    signal?.throwIfAborted();
    worker ??= new Worker("worker.js", { type: "module" });
    worker.onmessage = ({ data }) => (data.trouble ? broken(data.trouble) : done(data));
    worker.onerror = (event) => {
      event.preventDefault();
      broken(event.message || t("rigright did not start in this browser; load the page again."));
    };
    const broken = (why) => { // the next question starts anew
      worker.terminate();
      worker = null;
      failed(new Error(why));
    };
    worker.postMessage({ ...asked, file }, file ? [file] : []);
  }));
  turn = answer.catch(() => {});
  return answer;
}

export async function forms(lang) { // as they were when the page was made, so that nobody waits for them
  if (!worker) post({ begin: true }).catch(() => {}); // the first question says why
  const response = await fetch(`forms-${lang}.json`);
  if (!response.ok) throw new Error(`${response.url}: ${response.status}`);
  return { text: await response.text(), failed: false };
}

export const ask = (asked, signal) => post({ ask: JSON.stringify(asked) }, signal);

export async function dropped(asked, file, signal) {
  if (file.size > MOST_FILE) throw new Error(t("The file is larger than 64 MiB."));
  return post({ drop: asked }, signal, await file.arrayBuffer());
}
