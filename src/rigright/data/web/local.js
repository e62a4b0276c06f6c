// Answers of rigright in a worker: one question at a time, and none that nobody waits for any more.
const MOST_FILE = 64 * 2 ** 20;
let worker = null, turn = Promise.resolve();

function post(asked, signal, file) {
  const answer = turn.then(() => new Promise((done, failed) => {
    signal?.throwIfAborted();
    worker ??= new Worker("worker.js", { type: "module" });
    worker.onmessage = ({ data }) => (data.trouble ? broken(data.trouble) : done(data));
    worker.onerror = (event) => {
      event.preventDefault();
      broken(event.message || "worker.js");
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

export const forms = (lang) => post({ forms: lang });
export const ask = (asked, signal) => post({ ask: JSON.stringify(asked) }, signal);

export async function dropped(asked, file, signal) {
  if (file.size > MOST_FILE) throw new Error("too large");
  return post({ drop: asked }, signal, await file.arrayBuffer());
}
