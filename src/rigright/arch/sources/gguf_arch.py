"""A GGUF file as an Arch: by the family its metadata names, checked against its tensor list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from rigright.arch import count
from rigright.arch.read import check, read_config
from rigright.arch.record import Arch
from rigright.arch.sources import gguf_config
from rigright.arch.sources.gguf import Whole, broken, read_whole
from rigright.arch.sources.gguf_config import GgufHead
from rigright.arch.sources.gguf_layers import from_tensors, is_balance, is_buffer, is_spare
from rigright.arch.sources.opened import Files, Opened, Tensor
from rigright.base.errors import DataError, RigError
from rigright.base.record import replace
from rigright.base.tables import DATA, read_rows, text, whole
from rigright.base.words import Sentence, say


def open_gguf(path: Path) -> Opened:
    """Open a GGUF file, or all files of a split one."""
    whole = read_whole(path)
    shapes = {tensor.name: tensor.shape for tensor in whole.tensors}
    file = gguf_config.head_of(whole.metadata, shapes)
    if not file.arch:
        raise broken(path, say('its metadata lacks "{key}"', key="general.architecture"))
    if whole.metadata.get("general.type", "model") != "model" or file.arch == "clip":
        raise DataError(
            say(
                "{path} is not a complete model but {kind}: give the model's own file",
                path=path,
                kind=str(whole.metadata.get("general.type", file.arch))[:40],
            )
        )
    arch = _arch(_name(whole, path), whole, file=file)
    elems: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for tensor in whole.tensors:
        elems[tensor.dtype] += tensor.elems
        sizes[tensor.dtype] += tensor.size_bytes
    notes: list[Sentence] = []
    buffers = sum(tensor.elems for tensor in whole.tensors if is_buffer(tensor))
    spare = sum(tensor.elems for tensor in whole.tensors if is_spare(tensor, file.layers))
    if buffers:
        notes.append(say("{count} elements are buffers, not parameters", count=f"{buffers:,}"))
    if spare:
        notes.append(say("{count} parameters are in MTP layers (multi-token prediction)", count=f"{spare:,}"))
    files = Files(
        files=whole.files,
        size_bytes=None if whole.missing else whole.size_bytes,
        tensors_bytes=sum(sizes.values()),
        elems_by_dtype=dict(elems),
        bytes_by_dtype=dict(sizes),
        params=params(whole.tensors, file),
        complete=not whole.missing,
        notes=tuple(notes),
    )
    warnings = (*arch.warnings, *whole.notes)
    return Opened(
        arch=replace(
            arch, stored=_stored(whole), dtype="fp16", warnings=warnings, source=f"GGUF: {path.name}"
        ),
        files=files,
    )


def _name(whole: Whole, path: Path) -> str:
    value = whole.metadata.get("general.name")
    return value.strip()[:120] if isinstance(value, str) and value.strip() else path.stem


def _arch(name: str, whole: Whole, *, file: GgufHead) -> Arch:
    """The family's Arch where it has the parameters of the file; else counted from the list."""
    number, balance = params(whole.tensors, file), _balance_elems(whole.tensors, file)
    read = list(_read(name, file))
    exact = next((arch for arch in read if count.params(arch) - number in {0, balance}), None)
    if exact is not None:
        return exact
    near = min(read, key=lambda arch: abs(count.params(arch) - number), default=None)
    if whole.missing:
        if near is None:
            raise DataError(
                say(
                    "{name} cannot be counted: {missing} of its files are missing",
                    name=name,
                    missing=len(whole.missing),
                )
            )
        return near
    # the layers of the nearest family, where it has as many
    known = near.trunk.layers if near is not None and len(near.trunk.layers) == file.layers else ()
    arch = _checked(from_tensors(name, whole.tensors, file=file, mixers=known), name)
    return replace(arch, warnings=(*arch.warnings, _counted(file, near, number=number)))


def _checked(arch: Arch, name: str) -> Arch:
    try:
        check(arch)
    except (ArithmeticError, IndexError) as error:
        raise DataError(say("{name} contradicts itself: {why}", name=name, why=error)) from error
    return arch


def _read(name: str, file: GgufHead) -> Iterable[Arch]:
    """What each family that may be meant makes of the metadata."""
    for model_type in gguf_config.types(file):
        try:
            yield read_config(gguf_config.config(file, model_type), name)
        except RigError:
            continue


def _counted(file: GgufHead, near: Arch | None, *, number: int) -> Sentence:
    if near is None and gguf_config.types(file):
        return say("incomplete metadata in this {arch} file: counted from the tensor list", arch=file.arch)
    if near is None:
        return say('unknown GGUF architecture "{arch}": counted from the tensor list', arch=file.arch[:60])
    return say(
        "the tensor list has {held} parameters, the metadata says {told}: using the list",
        held=f"{number:,}",
        told=f"{count.params(near):,}",
    )


def params(tensors: Sequence[Tensor], file: GgufHead) -> int:
    """Parameters in the list: no buffers, no layers that predict further tokens."""
    return sum(
        tensor.elems for tensor in tensors if not is_buffer(tensor) and not is_spare(tensor, file.layers)
    )


def _balance_elems(tensors: Sequence[Tensor], file: GgufHead) -> int:
    """Biases that balance the load of experts: a buffer in most families, parameters in some."""
    return sum(tensor.elems for tensor in tensors if is_balance(tensor) and not is_spare(tensor, file.layers))


def _stored(whole: Whole) -> str | None:
    """The mix the file says it is; else one whose main type is the type that holds most of it."""
    value: Any = whole.metadata.get("general.file_type")
    sizes: Counter[str] = Counter()
    for tensor in whole.tensors:
        sizes[tensor.dtype] += tensor.size_bytes
    main = sizes.most_common(1)[0][0] if sizes else ""
    likely = (_mixes().get(value) if isinstance(value, int) else None, main, f"{main}_M", f"{main}_S")
    mix = next((name for name in likely if name in _mixes().values()), None)
    return None if mix is None else f"gguf:{mix}"


@cache
def _mixes() -> dict[int, str]:
    rows = read_rows(DATA / "gguf_file_types.csv", {"id": whole, "mix": text})
    return {row["id"]: row["mix"] for row in rows}
