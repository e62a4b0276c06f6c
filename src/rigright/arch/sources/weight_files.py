"""The safetensors files of a folder: one file, an index with its shards, an adapter (LoRA and its like)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rigright.arch.record import Arch
from rigright.arch.sources.files import MAX_CONFIG_BYTES, read_json
from rigright.arch.sources.opened import Adapter, Files, Tensor
from rigright.arch.sources.safetensors import read_header
from rigright.arch.sources.tally import tally
from rigright.base.errors import DataError
from rigright.base.files import unread
from rigright.base.record import replace
from rigright.base.words import Sentence, say

INDEX_ENDING = ".safetensors.index.json"
MAX_INDEX_BYTES = 8 * MAX_CONFIG_BYTES
MAX_FILES = 10_000
MISSING_SHOWN = 3
ADAPTER_CONFIG, ADAPTER_WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
MAX_RANK = 65_536
# where one folder holds the same weights twice, the first of these names counts
_PREFERRED = ("model", "diffusion_pytorch_model", "pytorch_model")


def listed(folder: Path, pattern: str) -> list[Path]:
    """The files of a folder that fit a pattern, sorted."""
    try:
        return sorted(folder.glob(pattern))[:MAX_FILES]
    except OSError as error:
        raise unread(folder, error) from None


def read_weights(folder: Path, arch: Arch | None, *, config: Mapping[str, Any]) -> Files | None:
    """What the safetensors files of a folder hold; None where there are none."""
    index = next(iter(_by_preference(listed(folder, f"*{INDEX_ENDING}"))), None)
    if index is not None:
        # the shards an index names; those that are not here are named
        raw = read_json(index, limit=MAX_INDEX_BYTES)
        places = raw.get("weight_map")
        if not isinstance(places, dict) or not all(_is_name(place) for place in places.values()):
            raise DataError(say('{path} has no readable "weight_map"', path=index))
        shards = [index.parent / name for name in sorted(set(places.values()))][:MAX_FILES]
        here = [path for path in shards if path.is_file()]
        missing = [path.name for path in shards if not path.is_file()]
        files = count_files(here, arch, config=config)
        if not missing:
            return files
        shown = ", ".join(missing[:MISSING_SHOWN]) + (", ..." if len(missing) > MISSING_SHOWN else "")
        note = say(
            "{missing} of {all} weight files are missing: {names}",
            missing=len(missing),
            all=len(shards),
            names=shown,
        )
        value = raw.get("metadata", {}).get("total_size") if isinstance(raw.get("metadata"), dict) else None
        total = int(value) if isinstance(value, int | float) and 0 < value < 2**60 else files.tensors_bytes
        return replace(
            files, tensors_bytes=total, size_bytes=None, complete=False, params=None, notes=(note,)
        )
    paths = _by_preference(listed(folder, "*.safetensors"))
    paths = [path for path in paths if path.name != ADAPTER_WEIGHTS]
    if not paths:
        return None
    return count_files(paths[:1] if is_whole(paths[0]) else paths, arch, config=config)


def is_whole(path: Path) -> bool:
    """Whether a file is no shard of several."""
    return "-of-" not in path.name


def _by_preference(paths: Iterable[Path]) -> list[Path]:
    def rank(path: Path) -> tuple[int, int, str]:
        stem = path.name.partition(".")[0].partition("-0")[0]
        known = _PREFERRED.index(stem) if stem in _PREFERRED else len(_PREFERRED)
        return (known, path.name.count("."), path.name)

    return sorted(paths, key=rank)


def _is_name(place: Any) -> bool:
    """A plain file name: an index may not point out of its folder."""
    return isinstance(place, str) and 0 < len(place) < 256 and Path(place).name == place and "\\" not in place


def count_files(paths: list[Path], arch: Arch | None, *, config: Mapping[str, Any]) -> Files:
    """What some files hold together."""
    headers = [read_header(path) for path in paths]
    tensors: dict[str, Tensor] = {}
    for header in headers:
        for tensor in header.tensors:
            if tensor.name in tensors:
                raise DataError(say('"{name}" is in two weight files', name=tensor.name[:80]))
            tensors[tensor.name] = tensor
    files = tally(tensors.values(), arch, config=config)
    return replace(files, files=len(headers), size_bytes=sum(header.size_bytes for header in headers))


def read_adapter(folder: Path) -> Adapter:
    """Read the adapter in a folder."""
    raw = read_json(folder / ADAPTER_CONFIG)
    weights = folder / ADAPTER_WEIGHTS
    rank = raw.get("r", raw.get("rank"))
    targets = raw.get("target_modules")
    return Adapter(
        kind=_word(raw.get("peft_type")) or "LORA",
        rank=rank if isinstance(rank, int) and not isinstance(rank, bool) and 0 < rank <= MAX_RANK else None,
        targets=_targets(targets),
        params=sum(tensor.elems for tensor in read_header(weights).tensors) if weights.is_file() else None,
        base=_word(raw.get("base_model_name_or_path")),
    )


def _word(value: Any) -> str | None:
    return value.strip() if isinstance(value, str) and 0 < len(value.strip()) < 4096 else None


def _targets(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value[:200],)
    return (
        tuple(item[:200] for item in value[:1000] if isinstance(item, str)) if isinstance(value, list) else ()
    )


def adapter_note(adapter: Adapter) -> Sentence:
    """What to say of an adapter that is not counted."""
    if adapter.params is None:
        return say("adapter found ({kind}) without its weights: not counted", kind=adapter.kind)
    return say(
        "adapter found ({kind}, rank {rank}, {params} parameters): not counted in the model",
        kind=adapter.kind,
        rank=adapter.rank if adapter.rank is not None else say("unknown"),
        params=f"{adapter.params:,}",
    )
