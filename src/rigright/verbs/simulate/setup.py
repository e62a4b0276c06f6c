"""The setup beside a trace: a JSON object that tells chip, model, layout and the engine's settings."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rigright.base.bounded import bounded_json
from rigright.base.errors import AskError, DataError
from rigright.base.files import read_bounded
from rigright.base.units import MIB
from rigright.base.words import Sentence, say
from rigright.demand import ServingWish

MOST_BYTES = MIB
MOST_CHARS = 200
MOST_COUNT = 2**31
PLAIN_KV = {"bf16", "fp16", "float16", "bfloat16", "auto", "16bit"}
NEEDED = ("chip", "arch")
TEXTS = ("chip", "arch", "engine", "engine_version", "weights", "kv", "source")
COUNTS = {
    "n_chips": None, "tp": "tp", "pp": "pp", "dp": "dp", "ep": "ep", "max_num_seqs": "max_seqs",
    "max_num_batched_tokens": "budget_tok", "max_model_len": "context_tok",
}  # fmt: skip
FLAGS = ("prefix_caching",)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationSetup:
    """What a setup says, in our words."""

    model: str
    machine: str
    wish: ServingWish
    max_context_tok: int | None
    notes: tuple[Sentence, ...] = ()


def read_setup(asked: str) -> SimulationSetup:
    """Read a setup; a field that is wrong is named."""
    name = Path(asked).name
    given = _object(asked, name)
    fields: dict[str, Any] = {field: _field(given, field, name=name) for field in _READERS}
    for field in NEEDED:
        if fields[field] is None:
            raise DataError(say("{file} has no {field}", file=name, field=field))
    ranks = math.prod(fields[cut] or 1 for cut in ("tp", "pp", "dp"))
    engine = fields["engine"] or "vllm"
    counts = {ours: fields[theirs] for theirs, ours in COUNTS.items() if ours is not None}
    if counts["tp"] is not None:  # it ran: what nobody names there was not turned on
        counts |= {"ep": counts["ep"] or 1, "attention_dp": False}
    return SimulationSetup(
        model=fields["arch"],
        machine=f"{fields['n_chips'] or ranks}x {fields['chip']}",
        wish=ServingWish(
            engine=f"{engine} {fields['engine_version']}" if fields["engine_version"] else engine,
            weights=fields["weights"],
            kv="16bit" if fields["kv"] in PLAIN_KV else fields["kv"],
            utilisation=fields["util"],
            **counts,
        ),
        max_context_tok=fields["max_model_len"],
        notes=_unread(given),
    )


def _object(asked: str, name: str) -> dict[str, Any]:
    content = read_bounded(asked, MOST_BYTES)
    try:
        value = bounded_json(content.decode("utf-8-sig"), unknown="NaN")
    except ValueError:
        raise DataError(say("{file} is not JSON", file=name)) from None
    if not isinstance(value, dict):
        raise DataError(say("{file} is not a JSON object with fields such as chip and arch", file=name))
    return value


def _field(fields: dict[str, Any], field: str, *, name: str) -> Any:
    value = fields.get(field)
    if value is None:
        return None
    try:
        return _READERS[field](value)
    except (TypeError, ValueError, OverflowError):
        shown = json.dumps(value)[:MOST_CHARS]
        raise DataError(
            say("{file}, field {field}: cannot read {value}", file=name, field=field, value=shown)
        ) from None


def _text(value: Any) -> str:
    if not isinstance(value, str) or not 0 < len(value.strip()) <= MOST_CHARS:
        raise TypeError
    return value.strip()


def _count(value: Any) -> int:
    if isinstance(value, bool) or value != int(value) or not 1 <= value <= MOST_COUNT:
        raise TypeError
    return int(value)


def _share(value: Any) -> float:
    share = float(value)
    if isinstance(value, bool) or not 0 < share <= 1:
        raise TypeError
    return share


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


_READERS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(TEXTS, _text),
    **dict.fromkeys(COUNTS, _count),
    **dict.fromkeys(FLAGS, _flag),
    "util": _share,
}


def _unread(fields: dict[str, Any]) -> tuple[Sentence, ...]:
    """Fields that change nothing here."""
    unknown = sorted(str(field)[:MOST_CHARS] for field in fields if field not in _READERS)
    if not unknown:
        return ()
    return (say("setup fields ignored: {fields}", fields=", ".join(unknown[:10])),)


def refuse_both(*, model: str | None, machine: str | None) -> None:
    """A setup names the model and the machine itself."""
    if model is not None or machine is not None:
        raise AskError(say("--setup names the model and the machine; drop MODEL and --on"))
