"""Where a description of a model comes from: one door that picks the source by what it is given."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from rigright.arch.record import Arch
from rigright.arch.sources import zoo
from rigright.arch.sources.opened import Opened
from rigright.base.errors import AskError, DataError, MissingError, RigError
from rigright.base.files import expanded, no_file
from rigright.base.patterns import pattern
from rigright.base.words import say

MAX_TEXT = 4096
HUB = "hub:"
_SHAPE = pattern(r"\s*\w+\s*=[^,]*,")
_FACTORY = pattern(r"(?P<file>.+\.py):(?P<factory>[A-Za-z_][\w.]*)\Z", re.DOTALL)
_HUB_ID = pattern(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}\Z")
_SHARD = pattern(r"-\d{5}-of-\d{5}(?=\.gguf\Z)")
_FILE_ENDINGS = (".json", ".gguf", ".safetensors", ".py", ".bin", ".pt", ".pth", ".onnx", ".ckpt")


def open_model(asked: str, *, run_code: bool = False, input_shape: str | None = None) -> Arch:
    """The Arch of whatever describes a model: a name, a path, a hub id, a shape, or `file.py:factory`."""
    return examine(asked, run_code=run_code, input_shape=input_shape).arch


def examine(asked: str, *, run_code: bool = False, input_shape: str | None = None) -> Opened:
    """The same, with what the weight files hold where there are any."""
    asked = asked.strip()
    if not asked:
        raise AskError(say("no model given; give a name, a config.json, a folder or a GGUF file"))
    if len(asked) > MAX_TEXT or "\0" in asked:
        raise AskError(say("not a model name or path: {letters} characters long", letters=len(asked)))
    if _SHAPE.match(asked):
        from rigright.arch.sources.shape import read_shape

        return Opened(arch=read_shape(asked))
    code = _FACTORY.match(asked)
    if code is not None:
        from rigright.arch.sources.module import trace

        arch = trace(Path(code["file"]), code["factory"], run_code=run_code, input_shape=input_shape)
        return Opened(arch=arch)
    return _path(asked) or _named(asked)


def _path(asked: str, *, is_base: bool = False) -> Opened | None:
    """What lies at a path; None where the text is no path. `folder#part` names a part of a pipeline."""
    open_base = _no_base if is_base else _base
    for whole, part in ((asked, ""), asked.rpartition("#")[::2]):
        path = expanded(whole) if whole else None
        if path is not None and _is_folder(path):
            return _folder(path, part, asked=asked, open_base=open_base)
        if path is not None and _is_there(path):
            return _file(path, open_base)
    if _looks_like_path(asked) and not _is_named_file(asked):
        raise no_file(asked)
    return None


def _is_named_file(asked: str) -> bool:
    """Whether a file that is not here yet says which model it holds: Qwen3-32B-Q6_K.gguf."""
    whole = _SHARD.sub("", asked)
    return whole.endswith(".gguf") and not re.search(r"[/\\~]", asked) and _is_known(whole)


def _is_known(name: str) -> bool:
    from rigright.arch.sources.find import is_known

    return is_known(name)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _is_there(path: Path) -> bool:
    try:
        return path.exists() or path.is_symlink()
    except (OSError, ValueError):
        return False


def _base(asked: str) -> Opened:
    """The model an adapter is for."""
    return _path(asked, is_base=True) or _named(asked)


def _no_base(asked: str) -> Opened:
    raise DataError(say("{path} is an adapter of an adapter: give the base model", path=asked[:200]))


def _looks_like_path(text: str) -> bool:
    return text.startswith((".", "/", "~")) or "\\" in text or text.lower().endswith(_FILE_ENDINGS)


def _folder(path: Path, part: str, *, asked: str, open_base: Callable[[str], Opened]) -> Opened | None:
    """A model's folder; a folder without a model is None where the name may mean something else."""
    from rigright.arch.sources.folder import holds_model, open_folder

    if not holds_model(path) and not _looks_like_path(asked) and _is_known(asked):
        return None
    return open_folder(path, open_base, part=part or None)


def _file(path: Path, open_base: Callable[[str], Opened]) -> Opened:
    ending = path.suffix.lower()
    if ending == ".gguf":
        from rigright.arch.sources.gguf_arch import open_gguf

        return open_gguf(path)
    if ending == ".safetensors":
        from rigright.arch.sources.folder import open_weights

        return open_weights(path, open_base)
    if ending == ".py":
        raise AskError(
            say(
                "{path} is code: name the factory as {path}:factory, and add --run-code",
                path=path,
            )
        )
    if ending in _FILE_ENDINGS and ending != ".json":
        raise AskError(
            say(
                "{path}: files of this type can run code and are not opened; give the config.json",
                path=path,
            )
        )
    from rigright.arch.sources.files import open_config

    return Opened(arch=open_config(path))


def _named(asked: str) -> Opened:
    """A name: of the zoo, else of the hub."""
    if asked.startswith(HUB):
        return _hub(asked.removeprefix(HUB))
    exact = zoo.exact(asked)
    if exact is not None:
        return Opened(arch=zoo.arch(exact))
    from rigright.arch.sources.find import find

    try:
        return Opened(arch=find(_SHARD.sub("", asked)))
    except RigError as unknown:
        from rigright.arch.classifiers import classifier

        known = classifier(asked.lower().replace("-", "_"))
        if known is not None:
            return Opened(arch=known)
        if not _HUB_ID.match(asked) or isinstance(unknown, MissingError):
            raise
        return _hub(asked, unknown)


def _hub(name: str, unknown: RigError | None = None) -> Opened:
    from rigright.arch.sources.hub import open_hub

    if not _HUB_ID.match(name):
        raise AskError(say('"{name}" is not a hub ID; use org/name', name=name[:80]))
    return open_hub(name, unknown)
