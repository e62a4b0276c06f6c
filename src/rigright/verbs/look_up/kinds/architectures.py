"""Chip architectures: number formats, sparsity, attention kernels, links."""

from __future__ import annotations

from rigright.base.words import say
from rigright.facts.features import Features, features
from rigright.verbs.look_up.fields import doubt, provenance, told
from rigright.verbs.look_up.listing import Asked, Field, Kind
from rigright.verbs.look_up.words import doubt_notes, matching, source_shown


def _find(asked: Asked) -> tuple[Features, ...]:
    return matching(
        features(),
        asked.words,
        text_of=lambda one: f"{one.architecture} {' '.join(one.isa)} {one.examples}",
    )


KIND = Kind(
    summary=say("what chip architectures can do: number formats, attention kernels"),
    title=say("Chip architectures"),
    fields=(
        told("architecture", say("architecture"), "arch", listed=True, flexible=True),
        doubt(),
        Field(
            key="isa",
            head=say("compute capability"),
            read=lambda one: list(one.isa) or None,
            show=" ".join,
            flexible=True,
        ),
        told("bf16", say("BF16"), listed=True, flexible=True),
        told("fp8", say("FP8"), listed=True, flexible=True),
        told("fp4", say("FP4"), listed=True, flexible=True),
        told("flash_attention", say("flash attention"), listed=True, flexible=True),
        told("fp16", say("FP16")),
        told("tf32", say("TF32")),
        told("int8", say("INT8")),
        told("int4", say("INT4")),
        told("sparsity", say("sparsity")),
        told("matrix_unit", say("matrix unit")),
        told("link", say("link between chips")),
        told("examples", say("such as")),
        told("stack", say("last CUDA, or software")),
        *provenance(),
    ),
    find=_find,
    notes=lambda _asked, kept: (say("y: in hardware; n: not there"), *doubt_notes(kept)),
    sources=source_shown,
)
