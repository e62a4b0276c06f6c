"""Weight formats: how a matrix is stored, and what a model of eight billion parameters takes in each."""

from __future__ import annotations

from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.facts.formats import Format, Mix, find_format, formats, ggml_types, mixes
from rigright.verbs.look_up.listing import Asked, Field, Kind

BITS = 8


def _bits(form: Format | Mix) -> float:
    """Bits of one weight in a matrix, its scales included."""
    if isinstance(form, Mix):
        kind = ggml_types()[form.base]
        return kind.block_bytes * BITS / kind.block_elems
    return form.bits + (form.group_bytes * BITS / form.group if form.group else 0)


def _find(asked: Asked) -> tuple[Format | Mix, ...]:
    everything: tuple[Format | Mix, ...] = (*formats().values(), *mixes().values())
    if not asked.words:
        return tuple(sorted(everything, key=lambda form: (form.loss_rank, -_bits(form))))
    exact = _exact(" ".join(asked.words))
    words = [word.lower() for word in asked.words]
    near = [form for form in everything if all(word in f"{form.id} {form.label}".lower() for word in words)]
    return tuple(near) if near and exact is None else (exact or find_format(" ".join(asked.words)),)


def _exact(name: str) -> Format | Mix | None:
    try:
        return find_format(name)
    except AskError:
        return None


KIND = Kind(
    summary=say("weight formats and GGUF mixes"),
    title=say("Weight formats, the least loss of quality first"),
    fields=(
        Field(key="id", head=say("format"), read=lambda form: form.id),
        Field(key="label", head=say("name"), read=lambda form: form.label, flexible=True),
        Field(
            key="bits_per_weight",
            head=say("bits a weight"),
            read=_bits,
            show=lambda bits: f"{bits:.2f}",
            names=("bits",),
            right=True,
        ),
        Field(
            key="loss_rank",
            head=say("loss rank"),
            read=lambda form: form.loss_rank,
            names=("loss",),
            right=True,
        ),
        Field(
            key="group", head=say("group"), read=lambda form: getattr(form, "group", 0) or None, detail=True
        ),
        Field(
            key="parts",
            head=say("stored so"),
            read=lambda form: list(getattr(form, "parts", ())) or None,
            show=", ".join,
            detail=True,
        ),
        Field(
            key="rules",
            head=say("rules for single tensors"),
            read=lambda form: len(getattr(form, "rules", ())),
            right=True,
            detail=True,
        ),
    ),
    find=_find,
    named=lambda asked: _exact(" ".join(asked.words)),
    notes=lambda _asked, _kept: (
        say("loss rank orders formats by measured loss of quality: 0 is none; equal ranks are alike"),
    ),
    sources=lambda form: form.source,
)
