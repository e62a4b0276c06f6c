"""The page in a real browser: answered by a server, and by rigright itself in a worker of that browser."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from math import isclose
from urllib.request import urlopen

import pytest
from web_questions import FEW, MANY, asked

import debian
from browser import JUDGED, axe_of, browser
from ports import free_ports
from rigright.faces.cli.main import main
from rigright.faces.reply import reply

pytestmark = [pytest.mark.live, pytest.mark.dear]
NIGHTLY = bool(os.environ.get("RIGRIGHT_NIGHTLY"))
VIEWS = ("plan", "explain", "fit", "compare", "build", "cost", "doctor", "here", "accuracy", "myths")
WORDS = {"en": ("Plan", "This machine"), "zh": ("规划", "本机")}
SIZES = {"wide": (1280, 900), "narrow": (390, 844)}
ANSWERED = """!!document.querySelector(
  "#progress[hidden] ~ #answer:not(.old) :is(h1, .error), #question > .drop, #question pre")"""
DAY = "new Date().toISOString().slice(0, 10)"
# until then a click of a script adds no step
LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd > 0"
LOCAL = "const local = await import('./local.js')"
BOX = {"schema": 1, "devices": [{"index": 0, "vendor": "nvidia", "name": "NVIDIA H100 80GB HBM3"}]}


class Files(SimpleHTTPRequestHandler):
    """Any host of files."""

    asked: list[str] = []  # noqa: RUF012 - one host a module

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.asked.append(self.path)
        super().do_GET()


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    return axe_of(tmp_path_factory.mktemp("axe"))


@pytest.fixture(scope="module")
def served():
    port = free_ports(1)[0]
    server = subprocess.Popen([sys.executable, "-m", "rigright", "web", "--serve", str(port)])
    try:
        for _ in range(200):
            try:
                urlopen(f"http://127.0.0.1:{port}/", timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.terminate()
        server.wait()


@pytest.fixture(scope="module")
def static(root, tmp_path_factory):
    if not shutil.which("npm"):
        pytest.skip("there is no npm")
    out = tmp_path_factory.mktemp("page") / "out"
    done = subprocess.run(
        [sys.executable, str(root / "scripts" / "page"), str(out)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        assert "SHA-256" not in done.stderr
        pytest.skip(f"scripts/page cannot be run: {done.stderr.strip()[-300:]}")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=out)) as host:
        thread = threading.Thread(target=host.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{host.server_port}/"
        host.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    debian.needs("chromium")
    with browser(tmp_path_factory.mktemp("profile")) as one:
        yield one


LOOKS = (  # of either back each language and each size; in the nightly each with each
    [(back, language, size) for back in ("served", "static") for language in WORDS for size in SIZES]
    if NIGHTLY
    else [
        *(("served", "en", "narrow"), ("served", "zh", "wide")),
        *(("static", "en", "wide"), ("static", "zh", "narrow")),
    ]
)


@pytest.mark.parametrize(("back", "language", "size"), LOOKS)
def test_every_view_answers_and_complains_of_nothing(back, language, size, seen, axe, request):
    address = request.getfixturevalue(back)
    seen.size(*SIZES[size])
    looks = {
        "prefers-color-scheme": "dark" if language == "zh" else "light",
        "prefers-reduced-motion": "reduce",
    }
    seen.send("Emulation.setEmulatedMedia", features=[{"name": k, "value": v} for k, v in looks.items()])
    seen.open(f"{address}#plan?lang={language}")
    judged = {}
    for view in VIEWS:
        seen.run(
            f"document.getElementById('answer')?.replaceChildren(), location.hash = '{view}?lang={language}'"
        )
        seen.until(f"document.querySelector('[aria-current]')?.hash === '#{view}' && {ANSWERED}")
        page = seen.run("document.body.outerHTML")
        assert all(f">{word}</a>" in page for word in WORDS[language]), view
        assert 'class="error"' not in page, view
        for other in (*SIZES, size):
            seen.size(*SIZES[other])
            assert seen.run("document.documentElement.scrollWidth <= innerWidth"), (view, other)
        if view == "accuracy":
            assert page.count("<tr") > 20
        if view == "plan":
            answer = page.partition('id="answer"')[2]
            assert "<svg" in answer
            assert 'class="strip"' in answer
            assert answer.count("<tr") > 2
        seen.run(axe)
        judged[view] = seen.run(JUDGED)
    assert not [(view, *one) for view, found in judged.items() for one in found]
    assert seen.complaints == []
    assert all(one.startswith((address, "blob:", "data:")) for one in seen.asked)


@pytest.fixture
def local(static, seen):
    """The worker of a page that has no server; it takes long to begin, and is kept where it is there."""
    if not seen.run("location.href").startswith(static):
        seen.open(f"{static}#myths")
        seen.until(ANSWERED)
    return lambda script: seen.run(f"(async () => {{ {LOCAL}; {script} }})()")


NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")


def is_alike(one, other):
    """To the letter, and decimals but for the last of the digits shown: roots and powers differ in a bit."""
    if NUMBER.split(one) != NUMBER.split(other):
        return False
    numbers = zip(NUMBER.findall(one), NUMBER.findall(other), strict=True)
    return all(isclose(float(mine), float(theirs), rel_tol=1e-11) for mine, theirs in numbers)


def test_json_is_that_of_the_command_line(local, capsys, monkeypatch):
    different = []
    for line in (*FEW, *(MANY if NIGHTLY else MANY[::8])):
        verb, said, language = asked(line)
        question = json.dumps({"verb": verb, "said": said, "form": "json", "lang": language})
        *found, day = local(f"const {{text, code}} = await local.ask({question}); return [text, code, {DAY}]")
        monkeypatch.setenv("RIGRIGHT_TODAY", day)  # a browser knows only its own
        code = main([*shlex.split(line), *([] if "--lang" in line else ["--lang", "en"]), "--json"])
        if found[1] != code or not is_alike(found[0], capsys.readouterr().out):
            different.append(line)
    assert different == []


@pytest.mark.parametrize("language", WORDS)
def test_its_fields_are_those_of_the_server(static, served, language):
    with (
        urlopen(f"{static}forms-{language}.json") as made,  # noqa: S310 - on loopback
        urlopen(f"{served}api/forms?lang={language}") as asked,  # noqa: S310 - the same
    ):
        assert json.load(made) == json.load(asked)


def test_a_file_that_is_dropped_is_examined_there(local, tmp_path):
    (tmp_path / "box").write_text(json.dumps(BOX), encoding="utf-8")
    asked = '{verb: "doctor", form: "json", lang: "en"}'
    found = local(f"return (await local.dropped({asked}, new Blob([{json.dumps(json.dumps(BOX))}]))).text")
    there = json.loads(reply("doctor", {}, trusted={"from": str(tmp_path / "box")}).text)
    assert json.loads(found)["findings"] == there["findings"]


def test_it_says_that_a_browser_does_not_see_the_machine(local):
    for verb, said in (("probe", {}), ("doctor", {}), ("plan", {"model": "qwen3-8b", "on": "here"})):
        sent = json.dumps({"verb": verb, "said": said, "form": "json", "lang": "zh"})
        error = json.loads(local(f"return (await local.ask({sent})).text"))["error"]
        assert error["message"] == "浏览器看不到它所在的机器", verb
        assert "rigright probe" in error["hint"]


def test_a_question_that_nobody_waits_for_any_more_is_not_worked_on(local):
    assert local("""
        const asked = {verb: "plan", said: {model: "qwen3-8b"}, form: "json", lang: "en"};
        const left = new AbortController();
        const first = local.ask(asked), second = local.ask(asked, left.signal);
        left.abort();
        return [(await first).code, await second.catch((error) => error.name)];
    """) == [0, "AbortError"]


def test_a_worker_that_breaks_says_why_and_the_next_question_starts_another(local):
    why, code = local("""
        const why = await local.ask(undefined).catch((error) => error.message);
        return [why, (await local.ask({verb: "cost", said: {what: "4090"}})).code];
    """)
    assert why
    assert code == 0


SHARED = (  # as somebody leaves each view
    "plan?model=qwen3-8b&concurrency=8&mode=rag&where=2x+rtx+4090+%2B+64gb&used=true&lang=en",
    "plan?model=qwen3-32b&mode=finetune&where=60000cny&tokens=10M&currency=EUR&place=DE&lang=en",
    "explain?model=llama-3.1-8b&on=rtx+4090&context=8k&kv=fp8&lang=en",
    "fit?machine=24gb&task=text&lang=zh",
    "compare?things=2x+rtx+4090%EF%BC%8Ch100&for=qwen3-8b&lang=zh",
    "build?what=2x+rtx+4090&room=110V+15A&lang=en",
    "cost?what=2x+rtx+4090&place=CN-GD&currency=CNY&details=true&lang=zh",
)
COPIED = """(async () => {
  let copied = "";
  navigator.clipboard.writeText = async (text) => { copied = text; };
  const [command, link] = document.querySelectorAll("#answer > .tools button");
  command.click();
  const first = copied;
  link.click();
  return [first, copied, document.querySelector("#answer h1").textContent];
})()"""


@pytest.mark.parametrize("shared", SHARED)
def test_the_command_and_the_link_that_are_copied_lead_to_the_same_answer(shared, served, seen, capsys):
    seen.open(f"{served}#{shared}")
    seen.until("!!document.querySelector('#progress[hidden] ~ #answer:not(.old) > .tools')")
    command, link, head = seen.run(COPIED)
    main([*shlex.split(command)[1:], "--lang", shared[-2:], "--html"])
    drawn = seen.run(f"""(() => {{
      const found = new DOMParser().parseFromString({json.dumps(capsys.readouterr().out)}, "text/html");
      return found.querySelector("h1").textContent;
    }})()""")
    said, there = (
        re.split("[;；]", one)[0].strip() for one in (head, drawn)
    )  # doubts name fields, not flags
    assert said == there
    seen.open(link)
    seen.until("!!document.querySelector('#progress[hidden] ~ #answer:not(.old) > .tools')")
    assert seen.run(COPIED) == [command, link, head]


STATE = """(() => ({
  hash: location.hash,
  fields: [...document.querySelectorAll("#question [name]")].map((one) => [
    one.name, one.type === "checkbox" ? one.checked : one.value]),
  shown: document.querySelector("tr[aria-selected=true]")?.textContent,
  head: document.querySelector("#answer h1, #answer p")?.textContent,
}))()"""  # all that a reader sees of a question
DONE = "!!document.querySelector('#progress[hidden] ~ #answer:not(.old) :is(h1, .chips)')"


def test_a_link_brings_back_every_field_and_the_option_that_was_chosen(served, seen):
    seen.size(1280, 900)
    seen.open(f"{served}#plan?lang=en")
    seen.until(DONE)
    schema = seen.run(
        "(async () => (await (await fetch('api/forms?lang=en')).json()).verbs.plan.properties)()"
    )
    said = {
        "model": "llama-3.1-8b",
        "concurrency": "4",
        "mode": "chat",
        "where": "2x rtx 4090",
        "prompt": "900",
    }
    said |= {"output": "100", "ttft": "9s", "tpot": "90ms", "currency": "EUR", "place": "DE", "used": "true"}
    assert {*said} - {"where"} <= {*schema}
    for name, value in said.items():
        seen.run(f"""(() => {{
          const field = document.querySelector('#question [name="{name}"]');
          if (field.type === "checkbox") field.checked = true; else field.value = {json.dumps(value)};
          field.dispatchEvent(new Event(field.matches("select, [type=checkbox]") ? "change" : "input"));
        }})()""")
    seen.until("document.querySelector('#answer:not(.old) h1')?.textContent.match(/Llama-3.1-8B.*€/)")
    seen.run("document.querySelectorAll('tr.pick')[1].click()")
    before = seen.run(STATE)
    assert {name: str(value).lower() for name, value in before["fields"]}.items() >= {
        name: value.lower() for name, value in said.items()
    }.items()
    assert before["shown"].startswith("2 ")
    seen.open(f"{served}{before['hash']}")
    seen.until(f"{DONE} && !!document.querySelector('tr.pick')")
    assert seen.run(STATE) == before


def test_what_was_emptied_stays_empty(served, seen):
    seen.open(f"{served}#plan?model=&concurrency=&mode=rag&lang=zh")
    seen.until(DONE)
    before = seen.run(STATE)
    assert dict(before["fields"])["model"] == ""
    seen.open(f"{served}{before['hash']}")
    seen.until(DONE)
    assert seen.run(STATE) == before
    seen.run("document.querySelector('#answer .chips a').click()")
    seen.until("!!document.querySelector('#answer h1')")


def shows(view):
    """The page has turned to a view, and answered."""
    current = f"document.querySelector('#views [aria-current]')?.getAttribute('href') === './#{view}'"
    return f"location.hash.startsWith('#{view}') && {current} && {DONE}"


def step_back(seen, there):
    """Back, as people press it: again where the page, still busy with what it shows, took the step back."""
    before = seen.run("location.hash")
    for _ in range(3):
        seen.run("setTimeout(() => history.back())")
        with contextlib.suppress(AssertionError):
            return seen.until(there, patience_s=30)
        assert seen.run("location.hash") == before, "another page"
    return seen.until(there)


def test_back_and_the_views_lead_to_questions_as_they_were_left(served, seen):
    seen.open(f"{served}#explain?model=qwen3-8b&on=rtx+4090&context=4k&lang=en")
    seen.until(f"{shows('explain')} && {LOADED}")
    left = seen.run(STATE)
    seen.run("document.querySelector('nav a[href*=cost]').click()")
    seen.until(shows("cost"))
    seen.run("location.hash = 'fit?lang=en'")
    seen.until(shows("fit"))
    step_back(seen, shows("cost"))
    step_back(seen, f"location.hash === {json.dumps(left['hash'])} && {shows('explain')}")
    assert seen.run(STATE) == left
    seen.run("location.hash = 'myths?lang=en'")
    seen.until(shows("myths"))
    seen.run("document.querySelector('nav a[href*=explain]').click()")
    seen.until(shows("explain"))
    assert seen.run(STATE) == left


def test_a_misspelt_name_is_put_right_by_a_click(served, seen):
    seen.open(f"{served}#plan?model=qwn3-32b&mode=chat&lang=en")
    seen.until("!!document.querySelector('.error button')")
    seen.run("document.querySelector('.error button').click()")
    seen.until(DONE)
    assert "Qwen3" in seen.run("document.querySelector('#answer h1').textContent")


@pytest.mark.parametrize(
    ("code", "why"), [(503, "排队的问题太多，请稍后再试。"), (401, "需要令牌"), (500, "x")]
)
def test_a_server_that_refuses_is_told_in_the_reader_s_language(code, why, served, seen):
    seen.open(f"{served}#plan?lang=zh")
    seen.until(DONE)
    seen.run(f"window.fetch = async () => new Response('x', {{status: {code}}})")
    seen.run("location.hash = 'fit?machine=24gb&lang=zh'")
    seen.until("!!document.querySelector('#answer .error')")
    assert why in seen.run("document.querySelector('#answer .error').textContent")


@pytest.mark.parametrize("back", ["served", "static"])
def test_a_capture_that_is_dropped_is_told_by_its_name(back, seen, request):
    seen.open(f"{request.getfixturevalue(back)}#doctor?lang=en")
    seen.until("!!document.querySelector('.drop')")
    seen.run(f"""(() => {{
      const held = new DataTransfer();
      held.items.add(new File([{json.dumps(json.dumps(BOX))}], "my box.json"));
      const event = new DragEvent("drop", {{dataTransfer: held, cancelable: true}});
      document.querySelector(".drop").dispatchEvent(event);
    }})()""")
    seen.until(DONE)
    assert "my_box.json: 1x NVIDIA H100" in seen.run("document.getElementById('answer').textContent")


def test_a_plan_prints_on_a_page_or_two(served, seen):
    seen.size(1280, 900)
    seen.open(f"{served}#plan?lang=en")
    seen.until(DONE)
    sheet = seen.send("Page.printToPDF", paperWidth=8.27, paperHeight=11.69)["data"]
    assert (
        base64.b64decode(sheet).count(b"/Type /Page\n") + base64.b64decode(sheet).count(b"/Type /Page ") <= 2
    )


STOPS = ".sentence, .knobs, .pareto, tr, .tools"


def test_it_is_used_by_keys_alone(served, seen):
    seen.open(f"{served}#plan?lang=en")
    seen.until(ANSWERED)

    def press(key, code=0, text=""):
        asked = {"key": key, "windowsVirtualKeyCode": code, "text": text}
        seen.send("Input.dispatchKeyEvent", type="keyDown", **asked)
        seen.send("Input.dispatchKeyEvent", type="keyUp", key=key)

    press("/", 191, "/")
    assert seen.run("document.activeElement.name") == "model"
    seen.send("Input.insertText", text="llama-3.1-8b")
    seen.until("document.querySelector('#answer h1')?.textContent.includes('Llama-3.1-8B')")
    reached = set()
    for _ in range(80):
        press("Tab", 9)
        reached.add(seen.run(f"document.activeElement.closest('{STOPS}')?.classList[0] ?? ''"))
    assert {"sentence", "knobs", "pareto", "pick", "tools"} <= reached


def test_files_that_start_a_plan_are_made_in_the_browser_too(local, capsys):
    asked = '{verb: "export", said: {model: "qwen3-8b", engine: "vllm"}, number: 1, lang: "en"}'
    made = json.loads(local(f"return (await local.ask({asked})).text"))["targets"]["vllm"]["files"]
    main(["export", "vllm", "qwen3-8b", "--engine", "vllm", "--json"])
    assert made == json.loads(capsys.readouterr().out)["files"]
