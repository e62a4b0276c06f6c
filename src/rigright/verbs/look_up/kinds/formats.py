"""Weight formats: how a matrix is stored, and what a model of eight billion parameters takes in each."""

from __future__ import annotations

from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.facts.formats import Format, GgufMix, find_format, formats, mixes
from rigright.verbs.look_up.fields import field
from rigright.verbs.look_up.listing import ListingKind, LookUpQuery, Unit


def _find(asked: LookUpQuery) -> tuple[Format | GgufMix, ...]:
    everything: tuple[Format | GgufMix, ...] = (*formats().values(), *mixes().values())
    if not asked.words:
        return tuple(sorted(everything, key=lambda form: (form.loss_rank, -form.bits_per_weight)))
    exact = _exact(" ".join(asked.words))
    words = [word.lower() for word in asked.words]
    near = [form for form in everything if all(word in f"{form.id} {form.label}".lower() for word in words)]
    return tuple(near) if near and exact is None else (exact or find_format(" ".join(asked.words)),)


def _exact(name: str) -> Format | GgufMix | None:
    try:
        return find_format(name)
    except AskError:
        return None


KIND = ListingKind(
    record=Format | GgufMix,
    summary=say("weight formats and GGUF mixes"),
    title=say("Weight formats, best quality first"),
    fields=(
        field("id", say("format"), listed=True),
        field("label", say("name"), listed=True, flexible=True),
        field("bits_per_weight", say("bits per weight"), "bits", unit=Unit(written="{:.2f}"), listed=True),
        field("loss_rank", say("quality rank"), "loss", listed=True),
        field("group=per_scale", say("group")),
        field("parts", say("as stored")),
        field("rules=n_rules", say("per-tensor rules")),
    ),
    find=_find,
    named=lambda asked: _exact(" ".join(asked.words)),
    notes=lambda _asked, _kept: (
        say("quality rank: by measured quality loss; 0 is lossless, equal ranks are equivalent"),
    ),
    sources=lambda form: form.source,
)
