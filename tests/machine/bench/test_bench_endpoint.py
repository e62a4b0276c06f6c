"""A language model behind an address, and servers that are none: a small socket plays them all."""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import suppress
from dataclasses import replace
from io import BytesIO
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refusals import refused
from rigright.base.errors import AskError, DataError, MissingError, RigError
from rigright.doctor.reference import BaselineFigure
from rigright.machine.bench.parts import endpoint
from rigright.machine.bench.record import BenchRequest, Result, SentLoad
from rigright.machine.device import Device
from rigright.machine.record import Machine
from rigright.verbs.bench.record import served
from rigright.verbs.bench.verb import by_plan
from rigright.verbs.runs.planned import PlannedRun

MACHINE = Machine(devices=(Device(index=0, vendor="nvidia", name="NVIDIA H100 80GB HBM3"),))
FIRST_S, GAP_S, TOKENS = 0.03, 0.004, 8
OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
MODELS = OK + json.dumps({"data": [{"id": "m", "owned_by": "library"}]}).encode()
TOKEN = b'data: {"choices": [{"text": "x"}]}\n\n'
END = b"data: [DONE]\n\n"
USAGE = {"prompt_tokens": 517, "completion_tokens": 2 * TOKENS}  # two tokens in each piece


class Scripted:
    """A socket that answers each visitor with the bytes for its path, or what streams them; then hangs up."""

    def __init__(self, **answers):
        self.answers = answers
        self.waiting = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.waiting.getsockname()[1]}/v1"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                visitor, _ = self.waiting.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(visitor,), daemon=True).start()

    def _answer(self, visitor):
        with visitor, suppress(OSError):
            visitor.settimeout(5)
            heard = b""
            while b"\r\n\r\n" not in heard:
                heard += visitor.recv(65536)
            head, _, body = heard.partition(b"\r\n\r\n")
            lines = (line.split(b": ", 1) for line in head.split(b"\r\n")[1:])
            heads = {name.lower(): value for name, value in lines}
            while len(body) < int(heads.get(b"content-length", 0)):
                body += visitor.recv(65536)
            path = head.split(b" ")[1].rpartition(b"/")[2].decode()
            answer = self.answers.get(path, b"HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\nno")
            for piece in [answer] if isinstance(answer, bytes) else answer(body, heads):
                visitor.sendall(piece)

    def close(self):
        with suppress(OSError):
            self.waiting.shutdown(socket.SHUT_RDWR)  # whoever accepts there comes back now
        self.waiting.close()


class Good(Scripted):
    """Streams tokens as such servers do."""

    def __init__(self):
        self.asked, self.lock, self.busy, self.most = [], threading.Lock(), 0, 0
        listed = {"data": [{"id": "meta-llama/Llama-3.1-8B", "owned_by": "vllm"}]}
        super().__init__(
            models=OK + json.dumps(listed).encode(),
            version=OK + b'{"version": "0.19.1"}',
            completions=self.tokens,
        )

    def tokens(self, body, heads):
        self.asked.append((json.loads(body), heads.get(b"authorization")))
        with self.lock:
            self.busy += 1
            self.most = max(self.most, self.busy)
        yield OK
        time.sleep(FIRST_S)
        for index in range(TOKENS):
            time.sleep(GAP_S if index else 0)
            yield TOKEN
        yield b"data: " + json.dumps({"choices": [], "usage": USAGE}).encode() + b"\n\n"
        with self.lock:
            self.busy -= 1
        yield END


@pytest.fixture
def server():
    server = Good()
    yield server
    server.close()


@pytest.fixture
def scripted():
    made = []

    def start(**answers):
        made.append(Scripted(**answers))
        return made[-1]

    yield start
    for one in made:
        one.close()


@pytest.fixture(scope="module")
def lasting():
    server = Scripted()
    yield server
    server.close()


def measured(server, **more):
    return list(endpoint.endpoint(asking(server, **more)))


def asking(server, **more):
    return BenchRequest(part="endpoint", endpoint=server.url, **{"quick": True} | more)


def test_one_request_is_timed_and_counted_as_the_server_counts(server, monkeypatch):
    monkeypatch.setenv(endpoint.KEY, "secret")
    spoken = endpoint.speak(server.url, "m", prompt="hello", output_tok=16)
    assert spoken.ttft_s >= FIRST_S
    assert spoken.total_s >= FIRST_S + (TOKENS - 1) * GAP_S
    assert (spoken.prompt_tok, spoken.output_tok) == (517, 2 * TOKENS)
    assert spoken.tpot_s == pytest.approx((spoken.total_s - spoken.ttft_s) / (2 * TOKENS - 1))
    ((asked, key),) = server.asked
    assert key == b"Bearer secret"
    assert (asked["stream"], asked["max_tokens"], asked["prompt"]) == (True, 16, "hello")


def test_every_load_is_measured_and_becomes_runs_for_calibrate(server):
    found = measured(server)
    assert [one.what for one in found] == [
        f"{figure}, {load} at once" for load in (1, 8) for figure in ("first token", "next token", "tokens")
    ]
    settings = dict(found[0].settings)
    assert (settings["engine"], settings["engine_version"], settings["prompt_tok"]) == (
        "vllm",
        "0.19.1",
        "517",
    )
    assert server.most == 8  # in flight together
    rows = list(served([replace(one, part="endpoint") for one in found], MACHINE))
    assert [row["metric"] for row in rows[:3]] == ["ttft_ms", "tpot_ms", "output_tok_s_total"]
    assert {row["chip"] for row in rows} == {"h100-sxm5-80gb"}
    assert float(rows[0]["value"]) == pytest.approx(found[0].value * 1000, rel=1e-4)
    assert (rows[0]["engine"], rows[0]["n_chips"], rows[0]["load"]) == ("vllm", "1", "1")


def test_a_planned_load_is_sent_in_the_models_own_tokens(server):
    load = SentLoad(prompt_tok=517, output_tok=4, concurrency=3, requests=7)
    found = measured(server, load=load)
    warm, *asked = [body for body, _ in server.asked]
    assert len(asked) == 7
    assert {body["max_tokens"] for body in asked} == {4}
    # the server counts 517 tokens in the 64 words of the first prompt: as many words stand for as many tokens
    assert {len(body["prompt"].split()) for body in asked} == {len(warm["prompt"].split())}
    assert [one.what for one in found] == [
        "first token, 3 at once",
        "next token, 3 at once",
        "tokens, 3 at once",
    ]
    assert found[2].repeats == 7


def test_requests_at_a_rate_come_when_they_come(server, monkeypatch):
    load = SentLoad(prompt_tok=8, output_tok=4, rate_per_s=50.0, requests=20)
    waits = []
    clock = {"perf_counter": time.perf_counter, "monotonic": lambda: 0.0, "sleep": waits.append}
    monkeypatch.setattr(endpoint, "time", SimpleNamespace(**clock))
    first, *_ = measured(server, load=load)
    assert len(waits) == len(set(waits)) == 20
    assert 0.1 < max(waits) < 1.5, "19 gaps of 20 ms, as drawn"
    assert first.what == "first token, 50 a second"
    assert dict(first.settings)["load"] == "50 req/s"


def test_when_time_is_over_what_was_answered_counts(server):
    load = SentLoad(prompt_tok=8, output_tok=4, concurrency=1, requests=300)
    *_, tokens = measured(server, load=load, spare_s=1.0)
    assert 1 <= tokens.repeats < 300


def test_figures_are_held_against_the_plans_band():
    planned = PlannedRun(
        model="m",
        wish={},
        plan={"figures": {"ttft_s": {"value": 0.2, "low": 0.1, "high": 0.4}}},
    )
    one = BaselineFigure(
        result=Result(
            part="endpoint", what="first token, 2 at once", on="u", value=0.3, low=0.3, high=0.3, unit="s",
            repeats=1,
        ),
        verdict="unknown",
    )  # fmt: skip
    within = by_plan(one, planned)
    assert (within.verdict, within.basis, within.full, within.least) == ("expected", "planned", 0.2, 0.4)
    late = by_plan(replace(one, result=replace(one.result, value=0.5)), planned)
    assert (late.verdict, late.share) == ("slow", pytest.approx(0.4))
    other = replace(one, result=replace(one.result, what="next token, 2 at once"))
    assert by_plan(other, planned) is other
    assert by_plan(one, None) is one


def test_prompts_differ_so_that_no_cache_answers():
    prompts = [endpoint.prompt_of(endpoint.PROMPT_TOK, seed) for seed in range(40)]
    assert len(set(prompts)) == 40
    assert all(abs(len(prompt.split()) - endpoint.PROMPT_TOK) <= 1 for prompt in prompts)


def test_nobody_there_and_something_else_there_are_told(scripted):
    with refused(MissingError, "http://127.0.0.1:9/v1"):
        endpoint.models("http://127.0.0.1:9/v1")
    with refused(DataError, 404):
        endpoint.models(scripted().url)


@pytest.mark.parametrize("text", ["file:///etc/passwd", "127.0.0.1:8000", "ftp://x/y", "http://"])
def test_only_the_web_is_asked(text):
    with refused(AskError, f'"{text}"'):
        endpoint.base_of(text)


@given(st.binary(max_size=400))
def test_any_stream_ends_and_gives_objects_alone(raw):
    assert all(isinstance(event, dict) for event in endpoint.events(BytesIO(raw)))


@given(st.lists(st.binary(max_size=30).map(lambda one: b"data:" + one + b"\n"), max_size=20))
def test_any_event_is_passed_over_or_read(lines):
    assert all(isinstance(event, dict) for event in endpoint.events(BytesIO(b"".join(lines))))


def test_what_comes_after_the_end_is_not_read():
    raw = b'data: {"a": 1}\n\ndata: [DONE]\n\ndata: {"b": 2}\n'
    assert list(endpoint.events(BytesIO(raw))) == [{"a": 1}]


# ---- servers that are none


def speak(server):
    return endpoint.speak(server.url, "m", prompt="hello", output_tok=4)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"", MissingError),  # hangs up without a word
        (b"SSH-2.0-OpenSSH_9.2\r\n", MissingError),
        (b"\x00\xff" * 500, MissingError),
        (b"HTTP/1.1 500 Oops\r\nConnection: close\r\n\r\n<html>out of memory</html>", DataError),
        (b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nConnection: close\r\n\r\n", DataError),
        (OK + END, DataError),  # not one token
        (OK + b'data: {"error": {"message": "too long"}}\n\n' + END, DataError),
        (OK + b"<html>hello</html>", DataError),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", DataError),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nshort", DataError),
    ],
)
def test_what_is_no_answer_is_told(scripted, answer, error):
    with pytest.raises(error):
        speak(scripted(completions=answer))


def test_what_a_server_says_when_it_fails_is_passed_on_in_short(scripted):
    said = b"out of memory " * 1000
    with refused(DataError, 503, "out of memory") as caught:
        speak(scripted(completions=b"HTTP/1.1 503 Busy\r\nConnection: close\r\n\r\n" + said))
    assert len(str(caught.value)) < 400


def test_tokens_are_counted_by_pieces_where_the_server_counts_none(scripted):
    spoken = speak(scripted(completions=OK + TOKEN * 3 + END))
    assert (spoken.output_tok, spoken.prompt_tok) == (3, None)
    assert 0 < spoken.ttft_s <= spoken.total_s


def test_a_stream_that_ends_without_a_word_still_counts(scripted):
    assert speak(scripted(completions=OK + TOKEN * 2)).output_tok == 2


@pytest.mark.parametrize("usage", ['"many"', "-4", "0", "null", "true", '{"completion_tokens": "x"}', "[]"])
def test_a_count_that_is_none_is_not_believed(scripted, usage):
    last = f'data: {{"choices": [], "usage": {usage}}}\n\n'.encode()
    assert speak(scripted(completions=OK + TOKEN * 2 + last + END)).output_tok == 2


def test_one_token_has_no_time_to_the_next(scripted):
    assert speak(scripted(completions=OK + TOKEN + END)).tpot_s is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "text", "usage", "completion_tokens", "error"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


@given(st.lists(json_values.map(json.dumps) | st.text(max_size=20), max_size=4))
def test_any_stream_gives_a_count_or_a_sentence(lasting, events):
    told = b"".join(b"data: " + one.replace("\n", " ").encode("utf-8", "replace") + b"\n\n" for one in events)
    lasting.answers["completions"] = OK + told
    try:
        spoken = speak(lasting)
    except RigError:
        return
    assert spoken.output_tok >= 1
    assert 0 < spoken.ttft_s <= spoken.total_s


@given(st.binary(max_size=120) | json_values.map(lambda one: OK + json.dumps(one).encode()))
def test_any_list_of_models_is_read_or_told(lasting, answer):
    lasting.answers["models"] = answer
    try:
        found = endpoint.models(lasting.url)
    except RigError:
        return
    assert all(isinstance(name, str) and isinstance(owner, str) for name, owner in found.items())


@pytest.mark.parametrize("version", [b"", OK, OK + b"{}", OK + b'{"version": 3}', OK + b"[", b"\xff"])
def test_an_engine_that_tells_no_version_is_still_named(scripted, version):
    assert endpoint.engine(scripted(version=version).url, "vllm") == (("engine", "vllm"),)


def test_a_version_of_any_length_is_cut(scripted):
    server = scripted(version=OK + json.dumps({"version": "9" * 500}).encode())
    ((_, _), (_, version)) = endpoint.engine(server.url, "vllm")
    assert len(version) == 40


def test_a_server_without_models_asks_for_a_name(scripted):
    with refused(MissingError, "use --model"):
        measured(scripted(models=OK + b'{"data": []}', completions=OK + TOKEN))


def test_a_model_that_was_named_is_asked_though_the_server_lists_none(scripted):
    server = scripted(models=OK + b'{"data": []}', completions=OK + TOKEN * 4 + END)
    found = [one for one in measured(server, model="mine") if isinstance(one, Result)]
    assert {dict(one.settings)["model"] for one in found} == {"mine"}


def test_a_server_that_breaks_down_at_a_load_keeps_the_lighter_ones(scripted):
    server = scripted(models=MODELS, completions=OK + TOKEN * 4 + END)
    going = endpoint.endpoint(asking(server))
    lighter = [next(going) for _ in range(3)]
    server.answers["completions"] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhalf"
    with refused(DataError, server.url):
        list(going)
    assert all(isinstance(one, Result) for one in lighter)
    assert dict(lighter[0].settings)["engine"] == "ollama"


def test_without_time_not_even_the_first_load_is_begun(scripted):
    server = scripted(models=MODELS, completions=OK + TOKEN * 4 + END)
    (found,) = measured(server, spare_s=0.0)
    assert "1" in str(found.why)
