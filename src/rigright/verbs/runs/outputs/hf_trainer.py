"""Hugging Face Trainer: trainer_state.json, train_results.json, all_results.json and what it prints."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rigright.base.bounded import bounded_json
from rigright.base.errors import RigError
from rigright.base.files import read_bounded
from rigright.base.units import MIB, to_gib
from rigright.verbs.runs.columns import RunSetup
from rigright.verbs.runs.document import Document, OutputFormat, Run, cells, model_named, number, word

_PRINTED = re.compile(
    r"""\b((?:train|init|before)_\w{1,60}|num_input_tokens_seen)\b['"]?[ \t]{0,60}[:=][ \t]{0,60}['"]?"""
    r"""([0-9][\w.:,+-]{0,40})"""
)
_CLOCK = re.compile(r"(?:(\d{1,18}) days?, )?(\d{1,18}):(\d{2}):(\d{2}(?:\.\d+)?)")
_RUN, _SAMPLES = "train_runtime", "train_samples_per_second"
_PEAK = ("before_init_mem_gpu", "init_mem_gpu_alloc_delta", "train_mem_gpu_alloc_delta",
         "train_mem_gpu_peaked_delta")  # fmt: skip
_LEFT_LISTED = 12  # of an adapter's targets


def _claims(document: Document) -> bool:
    """Whether a Trainer wrote it."""
    return _SAMPLES in _figures(document) or any(
        isinstance(row.get("log_history"), list) for row in document.objects
    )


def _rows(document: Document, setup: RunSetup) -> Iterator[Run]:
    """The run of a file: tokens a second and chip, and the peak where the Trainer tracked memory."""
    fields = _figures(document)
    seq, chips = setup.number("seq"), setup.chips()
    seconds, samples = number(fields.get(_RUN)), number(fields.get(_SAMPLES))
    tokens = number(fields.get("train_tokens_per_second"))
    if tokens is None and seconds and number(fields.get("num_input_tokens_seen")):
        tokens = (number(fields["num_input_tokens_seen"]) or 0.0) / seconds
    if tokens is None and samples and seq:
        tokens = samples * seq
    peak = sum(number(fields.get(name)) or 0.0 for name in _PEAK) if number(fields.get(_PEAK[-1])) else None
    values = {
        "framework": "HF Trainer",
        "micro_batch": number(fields.get("train_batch_size")),
        "tok_per_s_per_chip": None if tokens is None else tokens / chips,
        "samples_per_s": samples,
        "peak_gib": None if peak is None else to_gib(peak),
        "peak_kind": "allocated" if peak else "",
        **_beside(document),
    }
    yield Run(kind="training", cells=cells(values))


def _figures(result: Document) -> dict[str, Any]:
    """Its figures, the last word on each."""
    fields: dict[str, Any] = {}
    for row in result.objects:
        fields.update({name: value for name, value in row.items() if not isinstance(value, list | dict)})
        history = row.get("log_history")
        for entry in history if isinstance(history, list) else ():
            if isinstance(entry, Mapping):
                fields.update(entry)
    if not result.objects:
        fields = {name: _plain(value) for name, value in _PRINTED.findall(result.text)}
    return fields


def _plain(value: str) -> object:
    """Read "0:05:12.33" as seconds; anything else stays as it is."""
    clock = _CLOCK.match(value)
    if clock is None:
        return value.rstrip(".,")
    days, hours, minutes, seconds = (float(part or 0) for part in clock.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _beside(document: Document) -> dict[str, object]:
    """What lies in the same folder: an adapter's settings, or the model's own config."""
    if document.folder is None:
        return {}
    adapter = _small_json(document, "adapter_config.json")
    if adapter is not None:
        base, targets = word(adapter.get("base_model_name_or_path")), adapter.get("target_modules")
        listed = map(str, targets[:_LEFT_LISTED]) if isinstance(targets, list) else ()
        return {
            "method": "lora",
            "model": base,
            "arch": model_named(base),
            "lora_rank": number(adapter.get("r")),
            "lora_targets": " ".join(listed),
        }
    config = _small_json(document, "config.json")
    if config is None or "model_type" not in config:
        return {}
    return {"model": word(config.get("_name_or_path")), "arch": str(document.folder / "config.json")}


def _small_json(document: Document, name: str) -> dict[str, Any] | None:
    if document.folder is None:
        return None
    try:
        read = bounded_json(read_bounded(document.folder / name, MIB))
    except (RigError, ValueError):
        return None
    return read if isinstance(read, dict) else None


OUTPUT = OutputFormat(name="hf trainer", claims=_claims, rows=_rows)
