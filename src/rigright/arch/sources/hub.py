"""A model of the hub by its id: what is cached is read as it lies; else the extra `hub` asks."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from weakref import WeakKeyDictionary

from rigright.arch.read import read_config
from rigright.arch.record import Arch
from rigright.arch.sources.files import (
    CONFIG,
    MAX_CONFIG_BYTES,
    open_config,
    parse_json,
    plain_file,
    read_json,
)
from rigright.arch.sources.opened import Files, Opened, Tensor
from rigright.arch.sources.safetensors import LENGTH_BYTES, parsed
from rigright.arch.sources.tally import compare, tally
from rigright.arch.sources.weight_files import read_weights
from rigright.base.errors import MissingError, RigError
from rigright.base.extras import install
from rigright.base.http import fetched
from rigright.base.record import replace
from rigright.base.words import Sentence, say

WAIT_S = 10
SILENT_S = 60.0  # a hub that cannot be reached is not asked again: a table names a hundred models
UNREACHED = frozenset(
    {"ConnectError", "ConnectTimeout", "ConnectionError", "NetworkError", "ReadTimeout", "Timeout"}
)
LIMIT_S = 60.0  # for one file, and for all headers together
INDEX, SINGLE = "model.safetensors.index.json", "model.safetensors"
MOST_FILES = 1000
MAX_REVISION = 200
_SILENT: WeakKeyDictionary[Any, tuple[float, Sentence]] = WeakKeyDictionary()  # until when, and why, by hub
_FALSE = frozenset({"", "0", "false", "no", "off"})


def open_hub(name: str, unknown: RigError | None = None) -> Opened:
    """Open "org/name"; `unknown` is what the zoo said to it."""
    for folder in cached(name):
        if (folder / CONFIG).is_file():
            arch = open_config(folder / CONFIG)
            files = read_weights(folder, arch, config=read_json(folder / CONFIG))
            return _opened(replace(arch, name=name, source=f"hub cache: {name}"), files)
    if sys.platform == "emscripten":
        raise _missing(name, say("the hub is not available in the browser"), unknown=unknown)
    if _is_offline():
        raise _missing(name, say("the hub was not queried: HF_HUB_OFFLINE is set"), unknown=unknown)
    if importlib.util.find_spec("huggingface_hub") is None:
        raise _missing(name, say("to query the hub: {command}", command=install("hub")), unknown=unknown)
    # ask the hub for the config and for the headers of the weights
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    hub: Any = importlib.import_module("huggingface_hub")
    until, why = _SILENT.get(hub, (0.0, None))
    if why is not None and time.monotonic() < until:
        raise _missing(name, why, unknown=unknown)
    try:  # the extra names what is wrong; what it would store by names of the server's is read here instead
        hub.get_hf_file_metadata(hub.hf_hub_url(name, CONFIG), timeout=WAIT_S)
        content = _fetched(hub, name, file=CONFIG, most_bytes=MAX_CONFIG_BYTES)
    except RigError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the extra raises is one sentence for the user
        why = _why(error)
        if type(error).__name__ in UNREACHED:
            _SILENT[hub] = time.monotonic() + SILENT_S, why
        raise _missing(name, why, unknown=unknown) from None
    raw = parse_json(content, f"{name}/{CONFIG}")
    arch = replace(read_config(raw, name), source=f"hub: {name}")
    return _opened(arch, _weights(hub, name, arch=arch, raw=raw))


def _fetched(hub: Any, name: str, *, file: str, most_bytes: int, span: str = "") -> bytes:
    """A file of a repository, or a span of it, never written anywhere."""
    return fetched(
        hub.hf_hub_url(name, file),
        most_bytes=most_bytes,
        limit_s=LIMIT_S,
        wait_s=WAIT_S,
        key=hub.get_token(),
        span=span,
    )


def _missing(name: str, why: Sentence, *, unknown: RigError | None) -> MissingError:
    if unknown is None:
        return MissingError(
            say("{name} is not known here, and {why}; or give its config.json", name=name, why=why)
        )
    return MissingError(say("{unknown}; {why}", unknown=unknown.sentence, why=why), hint=unknown.hint)


def _is_offline() -> bool:
    """Whether the user wants no network."""
    return os.environ.get("HF_HUB_OFFLINE", "").strip().lower() not in _FALSE


def cached(name: str) -> Iterator[Path]:
    """Folders of the local cache that may hold a model: the main revision first."""
    try:
        folder = _cache() / f"models--{name.replace('/', '--')}"
        with plain_file(folder / "refs" / "main") as (file, _):
            main = file.read(MAX_REVISION).decode("ascii").strip()
        others = sorted(path.name for path in (folder / "snapshots").iterdir())
    except (RigError, OSError, ValueError, RuntimeError):  # no cache, or no home
        return
    for revision in (main, *others):
        if revision.strip(".") and Path(revision).name == revision:
            yield folder / "snapshots" / revision


def _cache() -> Path:
    """The cache folder, as huggingface_hub finds it."""
    for variable, below in (("HF_HUB_CACHE", ""), ("HUGGINGFACE_HUB_CACHE", ""), ("HF_HOME", "hub")):
        if os.environ.get(variable):
            return Path(os.environ[variable]).expanduser() / below
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "huggingface" / "hub"


def _opened(arch: Arch, files: Files | None) -> Opened:
    if files is None or files.params is None:
        return Opened(arch=arch, files=files)
    return Opened(arch=arch, files=replace(files, notes=(*files.notes, compare(arch, files))))


def _why(error: Exception) -> Sentence:
    """What went wrong, in a sentence for each kind the extra names."""
    kind = type(error).__name__
    if kind == "GatedRepoError":
        return say("gated model: accept its terms on the hub and set HF_TOKEN")
    if kind in {
        "RepositoryNotFoundError",
        "EntryNotFoundError",
        "RemoteEntryNotFoundError",
        "HFValidationError",
    }:
        return say("the hub has no config.json for it (private models need HF_TOKEN)")
    return say("the hub does not answer ({error})", error=kind)


def _weights(hub: Any, name: str, *, arch: Arch, raw: dict[str, Any]) -> Files | None:
    """Counts from the headers alone; a repository without safetensors has none."""
    until = time.monotonic() + LIMIT_S
    tensors: list[Tensor] = []
    try:
        files = _weight_names(hub, name)
        for file in files:
            if time.monotonic() > until:
                return None
            head = _fetched(hub, name, file=file, most_bytes=LENGTH_BYTES, span=f"0-{LENGTH_BYTES - 1}")
            last = LENGTH_BYTES + int.from_bytes(head, "little") - 1
            data = _fetched(hub, name, file=file, most_bytes=MAX_CONFIG_BYTES, span=f"{LENGTH_BYTES}-{last}")
            size = hub.get_hf_file_metadata(hub.hf_hub_url(name, file), timeout=WAIT_S).size
            tensors += parsed(data, size, path=Path(file)).tensors
    except Exception:  # noqa: BLE001 - the config is enough; the weights only check it
        return None
    return replace(tally(tensors, arch, config=raw), files=len(files))


def _weight_names(hub: Any, name: str) -> list[str]:
    """Files of weights: those the index names, else the only one."""
    try:
        index = parse_json(_fetched(hub, name, file=INDEX, most_bytes=MAX_CONFIG_BYTES), INDEX)
    except HTTPError:
        return [SINGLE]
    return sorted({str(file) for file in index["weight_map"].values()})[:MOST_FILES]
