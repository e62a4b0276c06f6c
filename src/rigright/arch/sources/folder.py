"""A Hugging Face folder: config.json, the headers of its safetensors files, an adapter where there is one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rigright.arch import count
from rigright.arch.read import read_config
from rigright.arch.sources.files import CONFIG, open_config, read_json
from rigright.arch.sources.gguf import is_later_part
from rigright.arch.sources.gguf_arch import open_gguf
from rigright.arch.sources.opened import Opened
from rigright.arch.sources.pipeline import INDEX, open_pipeline
from rigright.arch.sources.safetensors import read_header
from rigright.arch.sources.tally import compare
from rigright.arch.sources.weight_files import (
    ADAPTER_CONFIG,
    ADAPTER_WEIGHTS,
    adapter_note,
    count_files,
    is_whole,
    listed,
    read_adapter,
    read_weights,
)
from rigright.base.errors import DataError, MissingError, RigError
from rigright.base.record import replace
from rigright.base.words import Sentence, say

Opener = Callable[[str], Opened]


def holds_model(folder: Path) -> bool:
    """Whether a folder holds anything that describes a model."""
    names = (CONFIG, INDEX, ADAPTER_CONFIG)
    return any((folder / name).is_file() for name in names) or any(listed(folder, "*.gguf"))


def open_folder(folder: Path, open_base: Opener, *, part: str | None = None) -> Opened:
    """The model in a folder; `part` picks one of a pipeline's; `open_base` opens what an adapter is for."""
    if (folder / INDEX).is_file():
        return open_pipeline(folder, part)
    if part is not None:
        return open_folder(folder / part, open_base)
    if (folder / CONFIG).is_file():
        return _open_plain(folder)
    if (folder / ADAPTER_CONFIG).is_file():
        return _open_adapter(folder, open_base)
    # A folder of GGUF files: the model where it is only one
    paths = [
        path for path in listed(folder, "*.gguf") if not is_later_part(path) and "mmproj" not in path.name
    ]
    if len(paths) == 1:
        return open_gguf(paths[0])
    if paths:
        raise DataError(
            say(
                "{path} contains several GGUF models: choose one of {names}",
                path=folder,
                names=", ".join(path.name for path in paths[:8]),
            )
        )
    raise MissingError(say("no model in {path}: no config.json, model_index.json or GGUF file", path=folder))


def _open_plain(folder: Path) -> Opened:
    arch = open_config(folder / CONFIG)
    raw = read_json(folder / CONFIG)
    files = read_weights(folder, arch, config=raw)
    notes = () if files is None else (*files.notes, compare(arch, files))
    beside = read_adapter(folder) if (folder / ADAPTER_CONFIG).is_file() else None
    if beside is not None:
        notes += (adapter_note(beside),)
    # what about the files deserves a warning: not here, or not what the config tells
    if files is None:
        faults: tuple[Sentence, ...] = ()
    else:
        differs = files.complete and files.params != count.params(arch)
        faults = (compare(arch, files),) if differs or not files.complete else ()
    return Opened(
        arch=replace(arch, warnings=arch.warnings + faults),
        files=None if files is None else replace(files, notes=notes),
        adapter=beside,
    )


def _open_adapter(folder: Path, open_base: Opener) -> Opened:
    """A folder with an adapter only: the base model it names, with the adapter noted."""
    result = read_adapter(folder)
    if not result.base:
        raise DataError(
            say("{path} contains an adapter without a base model name; give the base model", path=folder)
        )
    try:
        base = open_base(result.base)
    except RigError as error:
        raise type(error)(
            say(
                "{path} contains an adapter of {base}: {why}",
                path=folder,
                base=result.base[:200],
                why=error.sentence,
            )
        ) from None
    arch = replace(base.arch, warnings=(*base.arch.warnings, adapter_note(result)))
    return replace(base, arch=arch, adapter=result)


def open_weights(path: Path, open_base: Opener) -> Opened:
    """A safetensors file named by itself: the config beside it describes the model."""
    config = path.parent / CONFIG
    if (path.parent / ADAPTER_CONFIG).is_file() and path.name == ADAPTER_WEIGHTS:
        return _open_adapter(path.parent, open_base)
    if not config.is_file():
        read_header(path)
        raise MissingError(
            say(
                "{path} contains only weights: add its config.json, or give the config.json itself", path=path
            )
        )
    raw = read_json(config)
    arch = read_config(raw, path.stem)
    files = count_files([path], arch, config=raw)
    if not is_whole(path):
        return _open_plain(path.parent)
    return Opened(arch=arch, files=replace(files, notes=(*files.notes, compare(arch, files))))
