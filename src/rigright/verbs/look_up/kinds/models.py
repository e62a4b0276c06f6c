"""The zoo: models whose architecture ships with the program."""

from __future__ import annotations

import re

from rigright.base.units import GIGA, parse_count, show_bytes, show_count
from rigright.base.words import say
from rigright.verbs.look_up.fields import figure, told
from rigright.verbs.look_up.listing import Field, Kind
from rigright.verbs.look_up.model_parts import context_shown
from rigright.verbs.look_up.models import list_models

_BILLIONS = re.compile(r"(\d{1,6}(?:\.\d+)?)\s*[bB]")


def read_params(text: str) -> float:
    """A number of parameters: 7B, 270M, 8030261248."""
    number = _BILLIONS.fullmatch(text.strip())
    return float(number[1]) * GIGA if number else float(parse_count(text))


KIND = Kind(
    summary=say("the models whose architecture ships with the program"),
    title=say("Models"),
    fields=(
        told("name", say("model"), listed=True, flexible=True),
        told("family", say("family"), listed=True),
        told("task", say("task"), listed=True),
        Field(
            key="params",
            head=say("parameters"),
            read=lambda card: card.params,
            show=show_count,
            parse=read_params,
            right=True,
        ),
        Field(
            key="active_params",
            head=say("active"),
            read=lambda card: card.active_params,
            show=show_count,
            parse=read_params,
            names=("active",),
            right=True,
        ),
        figure("layers", say("layers"), written="{:,.0f}", listed=True),
        figure("hidden", say("width"), written="{:,.0f}", listed=True),
        Field(
            key="kv_bytes_per_token",
            head=say("cache a token"),
            read=lambda card: card.kv_bytes_per_token,
            show=lambda size: show_bytes(size) if size else "",
            names=("kv",),
            right=True,
        ),
        Field(
            key="max_context_tok",
            head=say("context"),
            read=lambda card: card.max_context_tok,
            show=context_shown,
            names=("context",),
            right=True,
        ),
        figure("vocab", say("vocabulary"), written="{:,.0f}"),
        told("dtype", say("published in")),
        told("stored", say("stored as")),
        told("source", say("source"), flexible=True),
    ),
    find=list_models,
    searched=False,
    notes=lambda _asked, kept: (
        () if len(kept) == 1 else (say("all of one model: rigright look-up model NAME"),)
    ),
    sources=lambda card: card.source or "-",
)
