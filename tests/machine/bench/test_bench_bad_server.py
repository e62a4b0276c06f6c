"""Servers that are none: garbage, silence, half answers. Each is told in a sentence and breaks nothing."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refusals import refused
from rigright.base.errors import DataError, MissingError, RigError
from rigright.machine.bench.parts import endpoint
from rigright.machine.bench.record import BenchRequest, Result, Skipped

OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
MODELS = OK + json.dumps({"data": [{"id": "m", "owned_by": "library"}]}).encode()
TOKEN = b'data: {"choices": [{"text": "x"}]}\n\n'
END = b"data: [DONE]\n\n"


class Scripted:
    """A socket that answers every visitor with the bytes for its path, then hangs up."""

    def __init__(self, **answers: bytes):
        self.answers = answers
        self.waiting = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.waiting.getsockname()[1]}/v1"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                visitor, _ = self.waiting.accept()
            except OSError:
                return
            with visitor, suppress(OSError):
                visitor.settimeout(5)
                self._answer(visitor)

    def _answer(self, visitor):
        heard = b""
        while b"\r\n\r\n" not in heard:
            heard += visitor.recv(65536)
        head, _, body = heard.partition(b"\r\n\r\n")
        for line in head.split(b"\r\n"):
            name, _, value = line.partition(b":")
            while name.lower() == b"content-length" and len(body) < int(value):
                body += visitor.recv(65536)
        path = head.split(b" ")[1].rpartition(b"/")[2].decode()
        visitor.sendall(self.answers.get(path, b"HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\nno"))

    def close(self):
        with suppress(OSError):
            self.waiting.shutdown(socket.SHUT_RDWR)  # whoever accepts there comes back now
        self.waiting.close()


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


# ---- the part


def measured(server, **more):
    return list(endpoint.endpoint(BenchRequest(part="endpoint", endpoint=server.url, quick=True, **more)))


def test_a_server_without_models_asks_for_a_name(scripted):
    with refused(MissingError, "use --model"):
        measured(scripted(models=OK + b'{"data": []}', completions=OK + TOKEN))


def test_a_model_that_was_named_is_asked_though_the_server_lists_none(scripted):
    server = scripted(models=OK + b'{"data": []}', completions=OK + TOKEN * 4 + END)
    found = [one for one in measured(server, model="mine") if isinstance(one, Result)]
    assert {dict(one.settings)["model"] for one in found} == {"mine"}


def test_a_server_that_breaks_down_at_a_load_keeps_the_lighter_ones(scripted):
    server = scripted(models=MODELS, completions=OK + TOKEN * 4 + END)
    going = endpoint.endpoint(BenchRequest(part="endpoint", endpoint=server.url, quick=True))
    lighter = [next(going) for _ in range(3)]
    server.answers["completions"] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nhalf"
    with refused(DataError, server.url):
        list(going)
    assert all(isinstance(one, Result) for one in lighter)
    assert dict(lighter[0].settings)["engine"] == "ollama"


def test_without_time_not_even_the_first_load_is_begun(scripted):
    server = scripted(models=MODELS, completions=OK + TOKEN * 4 + END)
    (found,) = measured(server, spare_s=0.0)
    assert isinstance(found, Skipped)
    assert "1" in str(found.why)
