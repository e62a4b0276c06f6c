"""Hub ids: the local cache without any extra, the extra where it is installed, else one clear sentence."""

from __future__ import annotations

import http.server
import json
import os
import socket
import subprocess
import sys
import threading
import types
import urllib.error
from importlib.machinery import ModuleSpec
from importlib.util import find_spec

import pytest

from made_files import safetensors_bytes
from rigright.arch import count
from rigright.arch.sources import hub
from rigright.arch.sources.open import examine, open_model
from rigright.base.errors import AskError, MissingError
from spoken import values

needs_extra = pytest.mark.skipif(
    find_spec("huggingface_hub") is None, reason="huggingface_hub is not installed"
)
NAME = "someone/Brand-New-3B"
CONFIG = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 1,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "vocab_size": 100,
    "tie_word_embeddings": True,
}
HELD = {"model.embed_tokens.weight": ("BF16", (100, 64)), "model.norm.weight": ("BF16", (64,))}


@pytest.fixture(autouse=True)
def bare(monkeypatch, tmp_path):
    """No settings of the machine and no cache but an empty one."""
    for name in ("HF_HUB_OFFLINE", "HF_ENDPOINT", "HF_TOKEN", "HF_HOME", "HUGGINGFACE_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))


def cached(tmp_path, revision="abc", config=None):
    folder = tmp_path / "cache" / "models--someone--Brand-New-3B"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text(f"{revision}\n", encoding="ascii")
    (folder / "snapshots" / "abc").mkdir(parents=True)
    (folder / "snapshots" / "abc" / "config.json").write_text(json.dumps(config or CONFIG), encoding="utf-8")
    return folder


def fake(monkeypatch, **functions):
    module = types.ModuleType("huggingface_hub")
    module.__spec__ = ModuleSpec("huggingface_hub", None)
    asked = {"hf_hub_url": lambda *parts: "/".join(parts), "get_hf_file_metadata": lambda *_, **__: None}
    for name, function in (asked | functions).items():
        setattr(module, name, function)
    monkeypatch.setitem(sys.modules, "huggingface_hub", module)


def failing(kind):
    def fail(*_, **__):
        raise type(kind, (Exception,), {})("the whole story, very long")

    return fail


def test_the_cache_is_read_offline_and_without_the_extra(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    cached(tmp_path)
    arch = open_model(NAME)
    assert arch.name == NAME
    assert arch.source == f"hub cache: {NAME}"


def test_another_revision_than_main_is_read_where_main_is_gone(tmp_path):
    cached(tmp_path, revision="gone")
    assert open_model(NAME).vocab == 100


def test_a_cache_that_points_elsewhere_is_not_followed(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = cached(tmp_path, revision="../../../../etc")
    (folder / "snapshots" / "abc" / "config.json").unlink()
    with pytest.raises(MissingError):
        open_model(NAME)


def test_offline_says_so_and_what_to_do(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(MissingError, match="HF_HUB_OFFLINE") as caught:
        open_model(NAME)
    assert "config.json" in str(caught.value.hint)


def test_without_the_extra_the_sentence_tells_how_to_get_it(monkeypatch):
    monkeypatch.setattr(hub.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MissingError, match="pip install 'huggingface_hub>="):
        open_model(NAME)
    with pytest.raises(MissingError, match="pip install 'huggingface_hub>="):
        open_model("hub:meta-llama/Llama-3.1-8B")


@pytest.mark.parametrize("asked", ["hub:", "hub:one", "hub:a/b/c", "hub:../etc/passwd", "hub:a/../b"])
def test_what_is_no_id_is_not_asked_for(asked, monkeypatch):
    fake(monkeypatch)
    with pytest.raises(AskError):
        open_model(asked)


def held_by(monkeypatch, files):
    """A hub of these files, asked through the extra's names."""
    sizes = {name: types.SimpleNamespace(size=len(raw)) for name, raw in files.items()}
    fake(
        monkeypatch,
        get_token=lambda: None,
        get_hf_file_metadata=lambda url, **_: sizes[url.rpartition("/")[2]],
    )

    def fetched(url, *, span="", **_):
        raw = files.get(url.rpartition("/")[2])
        if raw is None:
            raise urllib.error.HTTPError(url, 404, "not there", None, None)
        first, last = map(int, span.split("-")) if span else (0, len(raw))
        return raw[first : last + 1]

    monkeypatch.setattr(hub, "fetched", fetched)


def test_the_extra_gives_config_and_headers(monkeypatch):
    weights = safetensors_bytes({"embed": ("BF16", (100, 64))})
    held_by(monkeypatch, {"config.json": json.dumps(CONFIG).encode(), "model.safetensors": weights})
    found = examine(f"hub:{NAME}")
    assert found.arch.source == f"hub: {NAME}"
    assert found.files.elems_by_dtype == {"BF16": 6400}
    assert values(found.files.notes[-1])["held"] == "6,400"


def test_every_file_that_the_index_names_is_counted(monkeypatch):
    index = {"weight_map": {"a": "one.safetensors", "b": "two.safetensors", "c": "two.safetensors"}}
    held_by(
        monkeypatch,
        {
            "config.json": json.dumps(CONFIG).encode(),
            "model.safetensors.index.json": json.dumps(index).encode(),
            "one.safetensors": safetensors_bytes({"a": ("BF16", (4, 4))}),
            "two.safetensors": safetensors_bytes({"b": ("BF16", (2, 4)), "c": ("F32", (3,))}),
        },
    )
    found = examine(f"hub:{NAME}").files
    assert found.files == 2
    assert found.elems_by_dtype == {"BF16": 24, "F32": 3}


def test_a_repository_without_safetensors_is_its_config(monkeypatch):
    held_by(monkeypatch, {"config.json": json.dumps(CONFIG).encode()})
    assert examine(NAME).files is None


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("GatedRepoError", "HF_TOKEN"),
        ("RepositoryNotFoundError", r"no config\.json"),
        ("ConnectionError", r"\(ConnectionError\)"),
        ("LocalEntryNotFoundError", r"\(LocalEntryNotFoundError\)"),
    ],
)
@pytest.mark.parametrize("at", ["get_hf_file_metadata", "get_token"])
def test_what_goes_wrong_is_one_sentence(monkeypatch, kind, told, at):
    fake(monkeypatch, **{at: failing(kind)})
    with pytest.raises(MissingError, match=told) as caught:
        open_model(NAME)
    assert "\n" not in str(caught.value)
    assert "whole story" not in str(caught.value)


@pytest.mark.parametrize(("kind", "times"), [("ConnectError", 1), ("RepositoryNotFoundError", 3)])
def test_a_hub_that_cannot_be_reached_is_not_asked_for_every_name(monkeypatch, kind, times):
    asked = []

    def fails(*names, **_):
        asked.append(names)
        failing(kind)()

    fake(monkeypatch, get_hf_file_metadata=fails)
    told = set()
    for maker in ("one", "two", "three"):
        with pytest.raises(MissingError) as caught:
            open_model(f"{maker}/Brand-New-3B")
        told.add(str(caught.value).replace(maker, "NAME"))
    assert len(asked) == times
    assert len(told) == 1


class Hub(http.server.BaseHTTPRequestHandler):
    """As much of a hub as a config and a header need."""

    files = {"config.json": json.dumps(CONFIG).encode(), "model.safetensors": safetensors_bytes(HELD)}  # noqa: RUF012

    def answer(self, *, body):
        name = self.path.partition("?")[0].rpartition("/")[2]
        content = self.files.get(name)
        if content is None or "/resolve/" not in self.path:
            self.send_response(404)
            self.send_header("X-Error-Code", "EntryNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        start, stop = 0, len(content)
        if "Range" in self.headers:
            first, _, last = self.headers["Range"].removeprefix("bytes=").partition("-")
            start, stop = int(first), min(int(last or stop) + 1, stop)
        self.send_response(206 if "Range" in self.headers else 200)
        self.send_header("X-Repo-Commit", "a" * 40)
        self.send_header("ETag", f'"{name}"')
        self.send_header("Content-Length", str(stop - start))
        self.end_headers()
        if body:
            self.wfile.write(content[start:stop])

    def do_GET(self):
        self.answer(body=True)

    def do_HEAD(self):
        self.answer(body=False)

    def log_message(self, *_):
        """Keep quiet."""


def ask(program, *, port, home):
    """A program of its own whose hub stands at a port of this machine."""
    settings = {"HF_ENDPOINT": f"http://127.0.0.1:{port}", "HF_HOME": str(home), "NO_PROXY": "127.0.0.1"}
    return subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | settings,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@needs_extra
def test_a_hub_that_is_not_there_is_asked_once(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    program = f"from rigright.arch.sources.open import open_model; open_model('{NAME}')"
    told = ask(program, port=port, home=tmp_path).stderr
    assert "the hub does not answer" in told
    assert "Retry" not in told


@needs_extra
def test_a_hub_of_our_own_answers(tmp_path):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    program = (
        "from rigright.arch.sources.open import examine; from rigright.arch import count;"
        f"found = examine('{NAME}'); print(count.params(found.arch), found.files.tensors_bytes)"
    )
    try:
        done = ask(program, port=server.server_address[1], home=tmp_path)
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)
    assert done.returncode == 0, done.stderr
    params, held = map(int, done.stdout.split())
    assert params == count.params(examine(write_config(tmp_path)).arch)
    assert held == 2 * (6400 + 64)


def write_config(tmp_path):
    path = tmp_path / "config-copy.json"
    path.write_text(json.dumps(CONFIG), encoding="utf-8")
    return str(path)
