"""The page: answers to the letter of `--json`, and what a stranger is refused."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import sys
import threading
import time

import pytest
from jsonschema import Draft202012Validator
from web_questions import FEW, MANY, asked

from kept_answers import keep
from ports import free_ports
from rigright.base.errors import AskError
from rigright.base.tables import DATA
from rigright.faces import web
from rigright.faces.cli.main import main
from rigright.faces.page import forms
from rigright.faces.reply import reply
from rigright.faces.workers import AnswerPool, done
from rigright.verbs.watch.serving import door

testclient = pytest.importorskip("starlette.testclient")
anyio = pytest.importorskip("anyio")


@pytest.fixture(scope="module", autouse=True)
def kept():
    """Each question is answered once, whichever door it comes through."""
    with pytest.MonkeyPatch.context() as patch:
        keep(patch, {}, of=None)
        yield


def agree(line, capsys):
    verb, said, language = asked(line)
    found = reply(verb, said, language=language)
    code = main([*shlex.split(line), *([] if "--lang" in line else ["--lang", "en"]), "--json"])
    assert (found.text, found.exit_code) == (capsys.readouterr().out, code)


@pytest.mark.parametrize("line", FEW)
def test_the_json_is_that_of_the_command_line(line, capsys):
    agree(line, capsys)


@pytest.mark.live
def test_the_json_is_that_of_the_command_line_for_many(capsys):
    """Every fourth, in the nightly all of them."""
    for line in MANY if os.environ.get("RIGRIGHT_NIGHTLY") else MANY[1::4]:
        agree(line, capsys)


@pytest.fixture(scope="module")
def page():
    with testclient.TestClient(web.app(), base_url="http://127.0.0.1:9479") as client:
        yield client


def ask(client, verb, *, said, headers=(), **more):
    body = {"verb": verb, "said": said, **more}
    return client.post("/api/ask", json=body, headers=dict(headers))


def test_an_answer_is_kept_and_bears_its_exit_code(page):
    first = ask(page, "cost", said={"what": "2x rtx 4090"})
    assert first.status_code == 200
    assert first.headers["x-exit-code"] == "0"
    assert first.json()
    assert ask(page, "cost", said={"what": "2x rtx 4090"}).text == first.text


@pytest.mark.parametrize("form", ["html", "csv", "markdown"])
def test_other_forms(page, form):
    assert "4090" in ask(page, "cost", said={"what": "2x rtx 4090"}, form=form).text


def test_questions_and_answers_are_as_the_document_for_programs_says(page):
    document = page.get("/api/openapi.json").json()
    asked = document["paths"]["/api/ask"]["post"]
    question = asked["requestBody"]["content"]["application/json"]["schema"]
    answers = document["components"]["schemas"]
    for verb, said in (
        ("plan", {"model": "qwen3-8b", "on": "rtx 4090"}),
        ("explain", {"model": "qwen3-8b", "on": "rtx 4090"}),
        ("explain", {"model": "qwen3-8b", "on": "rtx 4090", "train": "lora"}),
        ("cost", {"what": "2x rtx 4090"}),
    ):
        Draft202012Validator(question).validate({"verb": verb, "said": said})
        Draft202012Validator(answers[verb]).validate(ask(page, verb, said=said).json())
    Draft202012Validator(answers["error"]).validate(ask(page, "plan", said={"model": "nosuch"}).json())
    assert not Draft202012Validator(question).is_valid({"verb": "plan", "said": {"save": "/etc/x"}})
    assert not Draft202012Validator(answers["plan"]).is_valid({"error": {}})
    for answer in asked["responses"]["200"]["content"]["application/json"]["schema"]["anyOf"]:
        assert answer["$ref"].rpartition("/")[2] in answers


def test_an_error_is_its_record(page):
    found = ask(page, "plan", said={"model": "nobody-knows-this"})
    assert found.headers["x-exit-code"] != "0"
    assert "nobody-knows-this" in found.json()["error"]["message"]


@pytest.mark.parametrize(
    ("verb", "said"),
    [
        ("plan", {"model": "/etc/passwd"}),
        ("plan", {"model": "../../secret.json"}),
        ("plan", {"model": "~/.ssh/id_rsa"}),
        ("plan", {"model": "http://169.254.169.254/latest"}),
        ("plan", {"model": "qwen3-8b", "prices": "mine.csv"}),
        ("plan", {"model": "qwen3-8b", "on": "/etc/hosts"}),
        ("plan", {"model": "--help"}),
        ("cost", {"what": "plan.json"}),
        ("cost", {"from": "/etc/passwd"}),
        ("build", {"check": "/etc/passwd"}),
        ("doctor", {"from": "/etc"}),
        ("doctor", {"fix_script": "x.sh"}),
        ("probe", {"save": "x.json"}),
        ("export", {"model": "qwen3-8b", "out": "folder"}),
        ("export", {"model": "qwen3-8b", "plan_file": "/etc/passwd"}),
        ("export", {"model": "qwen3-8b", "script": "/etc/passwd"}),
        ("look_up", {"kind": "model", "words": ["evil.py:make"], "run_code": True}),
    ],
)
def test_no_file_of_the_host_is_read_or_written(page, verb, said):
    found = ask(page, verb, said=said)
    assert found.json()["error"]["kind"] == "ask"
    assert "root:" not in found.text


@pytest.mark.parametrize("verb", ["watch", "web", "mcp", "validate", "bench", "__init__", ""])
def test_other_commands_are_not_offered(page, verb):
    assert ask(page, verb, said={}).status_code == 400


@pytest.mark.parametrize(
    "body", ["", "[]", "{", '{"verb":"plan"}', "[" * 60_000, '{"verb":{},"said":{}}', "1"]
)
def test_nonsense_is_refused(page, body):
    headers = {"content-type": "application/json"}
    assert page.post("/api/ask", content=body, headers=headers).status_code == 400


@pytest.mark.parametrize("said", [{"model": {}}, {"model": [1]}, [], {str(n): "x" for n in range(65)}])
def test_options_are_plain(page, said):
    assert ask(page, "plan", said=said).status_code == 400


@pytest.mark.parametrize(
    "path", ["/..%2f..%2fetc/passwd", "/../about.toml", "/about.toml", "/web/app.js", "/api/"]
)
def test_only_the_page_own_files_are_served(page, path):
    assert page.get(path).status_code == 404


def test_a_body_is_bounded(page, monkeypatch):
    assert page.post("/api/ask", json={"verb": "plan", "said": {"model": "x" * 70_000}}).status_code == 413
    monkeypatch.setattr(web.page, "MOST_FILE", 1000)
    sent = {"content-type": "application/octet-stream"}
    assert page.post("/api/file?verb=doctor", content=b"x" * 1001, headers=sent).status_code == 413
    assert page.post("/api/file?verb=doctor", content=b"", headers=sent).status_code == 400


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "127.0.0.1.evil.example:9479"},
        {"host": ""},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_other_sites_and_names_are_refused(page, headers):
    assert ask(page, "cost", said={"what": "4090"}, headers=headers).status_code == 403
    assert page.get("/api/here", headers=headers).status_code == 403


def test_a_form_of_another_site_cannot_post(page):
    headers = {"content-type": "text/plain"}
    assert page.post("/api/ask", content='{"verb":"plan","said":{}}', headers=headers).status_code == 415
    assert page.post("/api/file?verb=doctor", content=b"x", headers=headers).status_code == 415


def test_the_policy_allows_nothing_from_outside(page):
    found = page.get("/")
    assert found.headers["content-security-policy"].startswith("default-src 'self'")
    assert "unsafe" not in found.headers["content-security-policy"]
    for file in (DATA / "web").iterdir():
        text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://", text), file.name
    assert "style=" not in found.text
    assert not re.search(r"<script(?! type=\"module\" src=\"app.js\")", found.text)


def test_a_dropped_machine_is_examined_and_forgotten(page):
    box = {"schema": 1, "devices": [{"index": 0, "vendor": "nvidia", "name": "NVIDIA H100 80GB HBM3"}]}
    headers = {"content-type": "application/octet-stream"}
    found = page.post("/api/file?verb=doctor&form=json", content=json.dumps(box), headers=headers)
    assert found.status_code == 200
    assert found.json()["findings"] is not None
    assert found.json()["machine"].startswith("dropped: 1x NVIDIA H100")
    assert page.post("/api/file?verb=plan", content=b"x", headers=headers).status_code == 400
    named = "/api/file?verb=doctor&form=json&name=..%2F..%2Fetc%2Fmy+box.json"
    told = page.post(named, content=json.dumps(box), headers=headers).json()["machine"]
    assert re.match(r"[\w.]*my_box\.json: 1x NVIDIA H100", told)
    short, long = (
        page.post(f"/api/file?verb=doctor&all={every}", content=json.dumps(box), headers=headers).text
        for every in ("", "true")
    )
    assert len(short) < len(long)


@pytest.mark.parametrize(
    ("verb", "said", "names"),
    [
        ("probe", {}, "2x rtx 4090"),
        ("fit", {"machine": "here"}, "2x rtx 4090"),
        ("plan", {"model": "nobody/knows-this"}, ""),
    ],
)
def test_what_a_browser_cannot_do_is_said(monkeypatch, verb, said, names):
    """It sees no machine and no hub."""
    monkeypatch.setattr(sys, "platform", "emscripten")
    error = json.loads(reply(verb, said).text)["error"]
    assert error["kind"] in {"ask", "missing"}
    assert names in error.get("hint", "")


def test_beyond_loopback_a_token_is_needed():
    with pytest.raises(AskError):
        door("0.0.0.0:9479", token_file=None)
    with testclient.TestClient(web.app("t" * 20), base_url="http://box:9479") as client:
        assert client.get("/").status_code == 200
        assert ask(client, "cost", said={"what": "4090"}).status_code == 401
        wrong, right = {"authorization": "Bearer " + "u" * 20}, {"authorization": "Bearer " + "t" * 20}
        assert ask(client, "cost", said={"what": "4090"}, headers=wrong).status_code == 401
        assert ask(client, "cost", said={"what": "4090"}, headers=right).status_code == 200


def test_who_guesses_tokens_has_to_wait(monkeypatch):
    right, wrong = ({"authorization": f"Bearer {one * 20}"} for one in "tu")
    with testclient.TestClient(web.app("t" * 20), base_url="http://box:9479") as client:
        for _ in range(2 * web.MOST_GUESSES):
            assert ask(client, "cost", said={"what": "4090"}).status_code == 401  # none is no guess
        told = [
            ask(client, "cost", said={"what": "4090"}, headers=wrong).status_code
            for _ in range(web.MOST_GUESSES + 2)
        ]
        assert told == [401] * web.MOST_GUESSES + [429] * 2
        assert ask(client, "cost", said={"what": "4090"}, headers=right).status_code == 429
        monkeypatch.setattr(web, "GUESSES_S", 0.0)
        assert ask(client, "cost", said={"what": "4090"}, headers=right).status_code == 200


def test_a_name_that_a_guesser_gives_himself_opens_nothing_and_shuts_nobody_out():
    right, wrong = ({"authorization": f"Bearer {one * 20}"} for one in "tu")
    with testclient.TestClient(web.app("t" * 20), base_url="http://box:9479") as client:

        def told(headers, behind):
            return ask(
                client, "cost", said={"what": "4090"}, headers={**headers, "x-forwarded-for": behind}
            ).status_code

        assert told(right, "10.0.0.7") == 200
        codes = [told(wrong, f"10.1.0.{place}") for place in range(3 * web.MOST_GUESSES)]
        assert codes.count(401) == web.MOST_GUESSES
        assert told(right, "10.2.0.1") == 429
        assert told(right, "10.0.0.7") == 200, "who was let in before is not shut out"
        codes = [told(wrong, "10.0.0.7") for _ in range(web.MOST_GUESSES + 5)]
        assert codes.count(401) == web.MOST_GUESSES


def test_workers_answer_as_the_page_does_and_those_that_are_late_are_killed(tmp_path):
    sent = json.dumps({"verb": "cost", "said": {"what": "4090"}, "form": "json"})
    crew = AnswerPool(1)
    try:
        assert crew.ask({"sent": sent, "verb": "cost"}) == done({"sent": sent})
        path = tmp_path / "dropped"
        path.write_text("NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.")
        job = {
            "file": str(path),
            "verb": "doctor",
            "form": "json",
            "language": "en",
            "name": "a.log",
            "every": False,
        }
        assert "79" in crew.ask(job).text
        path.unlink()
        assert crew.ask({**job}).failed, "the process is gone"
        assert not crew.ask({"sent": sent, "verb": "cost"}).failed, "and another took its place"
    finally:
        crew.close()
    crew = AnswerPool(1, budget_s=1e-3)
    try:
        late = crew.ask({"sent": sent, "verb": "cost"}, language="zh")
        assert late.failed
        assert late.exit_code == 2
    finally:
        crew.close()


def test_guessers_beyond_a_number_are_forgotten():
    guesses = web.Guesses()
    for place in range(web.MOST_GUESSERS + 5):
        guesses.add(str(place))
    assert len(guesses._at) == web.MOST_GUESSERS


def test_a_slow_body_is_not_waited_for():
    class Slow:
        async def stream(self):
            yield b"{"
            await anyio.sleep(60)

    async def asked():
        return await web._bounded(Slow(), 1000, within_s=0.05)

    assert anyio.run(asked) == 408


def test_who_sends_no_whole_head_is_hung_up_on(monkeypatch):
    uvicorn = pytest.importorskip("uvicorn")
    monkeypatch.setattr(web, "HEAD_S", 0.2)
    kept = {"host": "127.0.0.1", "port": free_ports(1)[0], "lifespan": "off", "log_level": "critical"}
    server = uvicorn.Server(uvicorn.Config(web.app(), http=web.prompt_protocol(), **kept))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        at = kept["host"], kept["port"]
        for told in (
            b"POST /api/ask HTTP/1.1\r\nHost:",
            b"GET /icon.svg HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET",
        ):
            with socket.create_connection(at, timeout=5) as line:
                line.sendall(told)
                while line.recv(4096):  # until it is closed there
                    pass
    finally:
        server.should_exit = True
        thread.join()


def test_too_many_that_wait_are_sent_away(page, monkeypatch):
    monkeypatch.setattr(web, "MOST_WAITING", 0)
    found = ask(page, "cost", said={"what": "3x rtx 4090"})
    assert found.status_code == 503
    assert found.headers["retry-after"]


def test_the_fields_are_in_the_reader_s_language(page, request):
    if request.config.getoption("reworded"):
        pytest.skip("help is translated by its English text")
    english, chinese = (page.get(f"/api/forms?lang={lang}").json()["verbs"] for lang in ("en", "zh"))
    assert {verb: [*one["properties"]] for verb, one in english.items()} == {
        verb: [*one["properties"]] for verb, one in chinese.items()
    }
    for name, about in chinese["plan"]["properties"].items():
        assert name in {"lang", "method"} or re.search(r"[一-鿿]", about["description"]), name
    assert "prices" not in english["plan"]["properties"]
    for about in (one for verb in english.values() for one in verb["properties"].values()):
        assert not re.search(r"GGUF|probe --save|[a-z]\.json", about["description"])


def test_every_sentence_of_the_page_has_its_chinese():
    folder = DATA / "web"
    code = "".join(
        file.read_text(encoding="utf-8") for file in folder.glob("*.js") if file.name != "words.js"
    )
    words = (folder / "words.js").read_text(encoding="utf-8")
    said = set(re.findall(r'\bt\("([^"]+)"\)', code)) | set(re.findall(r'"([^"]+ {\w+}[^"]*)"', code))
    assert "Explain {model} on {on}" in said
    said |= set(re.findall(r'\d: "([^"]+)"', (folder / "server.js").read_text(encoding="utf-8")))
    missing = [text for text in said if f'"{text}":' not in words and f"{text}:" not in words]
    assert not missing


def test_every_field_has_a_name_in_both_languages():
    rows = re.findall(
        r'(\w+): \["[^"]+", "[^"]+"\]', (DATA / "web" / "labels.js").read_text(encoding="utf-8")
    )
    shown = ("plan", "explain", "fit", "compare", "build", "cost", "doctor")
    verbs = forms("zh")["verbs"]
    assert {name for verb in shown for name in verbs[verb]["properties"]} <= {*rows}
    assert {*verbs["plan"]["properties"]["mode"]["enum"]} <= {*rows}


@pytest.mark.parametrize("line", ["qwen3-8b --engine vllm", "qwen3-8b --mode finetune"])
def test_the_files_of_a_plan_are_those_of_export(page, line, tmp_path, capsys):
    verb, said, _ = asked(f"plan {line}")
    targets = page.post("/api/ask", json={"verb": "export", "said": said, "number": 2}).json()["targets"]
    main([verb, *shlex.split(line), "--lang", "en", "--json"])
    (tmp_path / "plan.json").write_text(capsys.readouterr().out, encoding="utf-8")
    assert any("files" in one for one in targets.values())
    for target, one in targets.items():
        code = main(["export", target, "--from", str(tmp_path / "plan.json"), "--number", "2", "--json"])
        printed = capsys.readouterr().out
        if "files" in one:
            assert one["files"] == json.loads(printed)["files"]
        else:
            assert code != 0


def test_a_plan_that_cannot_be_exported_says_why(page):
    found = page.post("/api/ask", json={"verb": "export", "said": {"model": "nobody-knows-this"}})
    assert found.headers["x-failed"]
    none = page.post("/api/ask", json={"verb": "export", "said": {"model": "qwen3-8b"}, "number": 99}).json()
    assert all("99" in one["error"] for one in none["targets"].values())


def test_history_is_asked_for_by_a_few_times_alone(page):
    assert page.get("/api/here?since=1h").status_code == 200
    assert page.get("/api/here?since=../../etc").status_code == 400


def test_every_run_of_the_view_of_accuracy_is_told_by_the_names_at_its_head():
    told = json.loads((DATA / "web" / "accuracy.json").read_text(encoding="utf-8"))
    assert len(told["rows"]) > 10_000
    for row in told["rows"]:
        one = dict(zip(told["columns"], row, strict=True))
        assert all(0 <= one[key] < len(names) for key, names in told["names"].items())
        assert one["measured"] > 0
        assert one["predicted"] > 0
    code = (DATA / "web" / "accuracy.js").read_text(encoding="utf-8")
    assert all(f"{figure}: [" in code for figure in told["names"]["figure"])


def test_everything_is_shown_where_somebody_asks_for_it(page, capsys):
    said = {"things": ["4090", "5090"], "for": "qwen3-8b"}
    shown = ask(page, "compare", said=said, form="html", details=True).text
    main(["compare", "4090", "5090", "--for", "qwen3-8b", "--details", "--html", "--lang", "en"])
    assert shown.strip() in capsys.readouterr().out
    assert shown != ask(page, "compare", said=said, form="html").text
