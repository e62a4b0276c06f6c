"""A diffusers pipeline: model_index.json names the parts, each part has a folder with its config."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rigright.arch.sources.files import CONFIG, open_config, read_json
from rigright.arch.sources.opened import Files, Opened
from rigright.arch.sources.weight_files import read_weights
from rigright.base.errors import DataError, MissingError, RigError
from rigright.base.files import no_file
from rigright.base.record import replace
from rigright.base.words import Sentence, say

INDEX = "model_index.json"
MAX_PARTS = 32
_MAIN = (
    "transformer",
    "unet",
    "prior",
    "decoder",
)  # the part that a pipeline is named by, the first that is there
_NO_MODELS = ("scheduler", "tokenizer", "feature_extractor", "image_processor", "processor")


def open_pipeline(folder: Path, part: str | None = None) -> Opened:
    """All parts as towers of one Arch, the main part last; or one part alone."""
    names = list(_parts(read_json(folder / INDEX)))
    if part is not None:
        return _one(folder, part, names=names)
    opened: dict[str, Opened] = {}
    warnings: list[Sentence] = []
    for name in names:
        try:
            opened[name] = _open_part(folder / name)
        except RigError as error:
            warnings.append(say('the part "{part}" is not counted: {why}', part=name, why=error.sentence))
    if not opened:
        raise MissingError(say("{path} contains no readable part", path=folder))
    return _joined(folder, opened, warnings=tuple(warnings))


def _open_part(folder: Path) -> Opened:
    if not (folder / CONFIG).is_file():
        raise no_file(folder / CONFIG)
    arch = open_config(folder / CONFIG)
    return Opened(arch=arch, files=read_weights(folder, arch, config=read_json(folder / CONFIG)))


def _one(folder: Path, part: str, *, names: list[str]) -> Opened:
    if part not in names:
        raise DataError(
            say(
                '{path} has no part "{part}"; it has {names}',
                path=folder,
                part=part[:80],
                names=", ".join(names),
            )
        )
    opened = _open_part(folder / part)
    return replace(opened, arch=replace(opened.arch, name=f"{folder.resolve().name}#{part}"))


def _parts(index: dict[str, Any]) -> Iterator[str]:
    """Parts that are models: [library, class] where neither is null."""
    for name, value in list(index.items())[:MAX_PARTS]:
        is_model = (
            isinstance(value, list) and len(value) == 2 and all(isinstance(word, str) for word in value)
        )
        if is_model and Path(name).name == name and not name.startswith((*_NO_MODELS, "_", ".")):
            yield name


def _joined(folder: Path, opened: dict[str, Opened], *, warnings: tuple[Sentence, ...]) -> Opened:
    main = next((name for name in _MAIN if name in opened), next(iter(opened)))
    order = [name for name in opened if name != main] + [main]
    arch = opened[main].arch
    # named after their part: a text encoder is no trunk here
    towers = tuple(
        replace(tower, name=name if len(opened[name].arch.towers) == 1 else f"{name}.{tower.name}")
        for name in order
        for tower in opened[name].arch.towers
    )
    sentences = tuple(warning for name in order for warning in opened[name].arch.warnings)
    return Opened(
        arch=replace(
            arch,
            name=folder.resolve().name,
            task="image" if arch.task in {"image", "text"} else arch.task,
            towers=towers,
            warnings=(*sentences, *warnings),
        ),
        files=_files([opened[name].files for name in order], whole=not warnings),
    )


def _files(files: list[Files | None], *, whole: bool) -> Files | None:
    there = [file for file in files if file is not None]
    if not there:
        return None
    sizes = [kept.size_bytes for kept in there]
    return Files(
        files=sum(kept.files for kept in there),
        size_bytes=None if None in sizes else sum(size for size in sizes if size is not None),
        tensors_bytes=sum(kept.tensors_bytes for kept in there),
        elems_by_dtype=_summed([kept.elems_by_dtype for kept in there]),
        bytes_by_dtype=_summed([kept.bytes_by_dtype for kept in there]),
        params=sum(kept.params or 0 for kept in there),
        complete=whole and len(there) == len(files) and all(kept.complete for kept in there),
        notes=tuple(note for kept in there for note in kept.notes),
    )


def _summed(counts: list[dict[str, int]]) -> dict[str, int]:
    keys = dict.fromkeys(key for count in counts for key in count)
    return {key: sum(count.get(key, 0) for count in counts) for key in keys}
