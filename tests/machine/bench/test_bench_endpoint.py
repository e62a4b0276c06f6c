"""A language model behind an address: a small server plays it, well and badly."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refusals import refused
from rigright.base.errors import AskError, DataError, MissingError
from rigright.doctor.reference import BaselineFigure
from rigright.machine.bench.parts import endpoint
from rigright.machine.bench.record import BenchRequest, Result, SentLoad
from rigright.machine.device import Device
from rigright.machine.record import Machine
from rigright.verbs.bench.rows import served
from rigright.verbs.bench.verb import by_plan
from rigright.verbs.runs.planned import PlannedRun

MACHINE = Machine(devices=(Device(index=0, vendor="nvidia", name="NVIDIA H100 80GB HBM3"),))
FIRST_S, GAP_S, TOKENS = 0.03, 0.004, 8


class Server(BaseHTTPRequestHandler):
    """Streams tokens as such servers do."""

    def do_GET(self):
        told = {
            "/v1/models": {"data": [{"id": "meta-llama/Llama-3.1-8B", "owned_by": "vllm"}]},
            "/version": {"version": "0.19.1"},
        }.get(self.path)
        self.send_response(200 if told else 404)
        self.end_headers()
        self.wfile.write(json.dumps(told or {"error": "no such path"}).encode())

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((asked, self.headers.get("Authorization")))
        if self.server.broken:
            self.send_response(429)
            self.end_headers()
            self.wfile.write(b"too many requests")
            return
        self.send_response(200)
        self.end_headers()
        with self.server.lock:
            self.server.busy += 1
            self.server.most = max(self.server.most, self.server.busy)
        time.sleep(FIRST_S)
        for index in range(TOKENS):
            time.sleep(GAP_S if index else 0)
            self.wfile.write(b'data: {"choices": [{"text": "x "}]}\n\n')
            self.wfile.flush()
        usage = {"prompt_tokens": 517, "completion_tokens": 2 * TOKENS}  # two tokens in each piece
        self.wfile.write(b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\n")
        with self.server.lock:
            self.server.busy -= 1
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *_):
        pass


class Patient(ThreadingHTTPServer):
    """Takes as many that knock at once as a test sends; the usual five make the sixth wait a second."""

    request_queue_size = 64


@pytest.fixture
def server():
    with Patient(("127.0.0.1", 0), Server) as found:
        found.asked, found.broken = [], False
        found.lock, found.busy, found.most = threading.Lock(), 0, 0
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield found
        found.shutdown()
        thread.join()


def url(server):
    return f"http://127.0.0.1:{server.server_address[1]}/v1/"


def test_one_request_is_timed_and_counted_as_the_server_counts(server, monkeypatch):
    monkeypatch.setenv(endpoint.KEY, "secret")
    spoken = endpoint.speak(url(server), "m", prompt="hello", output_tok=16)
    assert spoken.ttft_s >= FIRST_S
    assert spoken.total_s >= FIRST_S + (TOKENS - 1) * GAP_S
    assert (spoken.prompt_tok, spoken.output_tok) == (517, 2 * TOKENS)
    assert spoken.tpot_s == pytest.approx((spoken.total_s - spoken.ttft_s) / (2 * TOKENS - 1))
    ((asked, key),) = server.asked
    assert key == "Bearer secret"
    assert (asked["stream"], asked["max_tokens"], asked["prompt"]) == (True, 16, "hello")


def test_every_load_is_measured_and_becomes_runs_for_calibrate(server):
    ask = BenchRequest(part="endpoint", endpoint=url(server), quick=True)
    found = [one for one in endpoint.endpoint(ask) if isinstance(one, Result)]
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
    found = list(endpoint.endpoint(BenchRequest(part="endpoint", endpoint=url(server), load=load)))
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
    first, *_ = endpoint.endpoint(BenchRequest(part="endpoint", endpoint=url(server), load=load))
    assert len(waits) == len(set(waits)) == 20
    assert 0.1 < max(waits) < 1.5, "19 gaps of 20 ms, as drawn"
    assert first.what == "first token, 50 a second"
    assert dict(first.settings)["load"] == "50 req/s"


def test_when_time_is_over_what_was_answered_counts(server):
    load = SentLoad(prompt_tok=8, output_tok=4, concurrency=1, requests=300)
    *_, tokens = endpoint.endpoint(
        BenchRequest(part="endpoint", endpoint=url(server), load=load, spare_s=0.2)
    )
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


def test_prompts_differ_so_that_no_cache_answers(server):
    list(endpoint.endpoint(BenchRequest(part="endpoint", endpoint=url(server), quick=True, spare_s=0.0)))
    prompts = [endpoint.prompt_of(endpoint.PROMPT_TOK, seed) for seed in range(40)]
    assert len(set(prompts)) == 40
    assert all(abs(len(prompt.split()) - endpoint.PROMPT_TOK) <= 1 for prompt in prompts)


def test_a_server_that_refuses_is_told_and_what_was_measured_stays(server):
    ask = BenchRequest(part="endpoint", endpoint=url(server), quick=True)
    going = endpoint.endpoint(ask)
    first = next(going)
    server.broken = True
    with refused(DataError, 429, "too many requests"):
        list(going)
    assert isinstance(first, Result)


def test_nobody_there_and_something_else_there_are_told(server):
    with refused(MissingError, "http://127.0.0.1:9/v1"):
        endpoint.models("http://127.0.0.1:9/v1")
    with refused(DataError, 404):
        endpoint.models(url(server).replace("/v1", "/other"))


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
