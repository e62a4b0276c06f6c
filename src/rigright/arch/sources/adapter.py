"""An adapter (LoRA and its like): what adapter_config.json tells and its file holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rigright.arch.sources.files import read_json
from rigright.arch.sources.opened import Adapter
from rigright.arch.sources.safetensors import read_header
from rigright.base.words import Sentence, say

CONFIG = "adapter_config.json"
MAX_RANK = 65_536
WEIGHTS = "adapter_model.safetensors"


def read_adapter(folder: Path) -> Adapter:
    """Read the adapter in a folder."""
    raw = read_json(folder / CONFIG)
    weights = folder / WEIGHTS
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


def beside(adapter: Adapter) -> Sentence:
    """What to say of it."""
    if adapter.params is None:
        return say("adapter found ({kind}) without its weights: not counted", kind=adapter.kind)
    return say(
        "adapter found ({kind}, rank {rank}, {params} parameters): not counted in the model",
        kind=adapter.kind,
        rank=adapter.rank if adapter.rank is not None else say("unknown"),
        params=f"{adapter.params:,}",
    )
