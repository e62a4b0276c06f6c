"""Chip architectures: number formats, sparsity, attention kernels, links."""

from __future__ import annotations

from rigright.base.words import say
from rigright.facts.chips import Features, features
from rigright.verbs.look_up.fields import doubt, field, provenance
from rigright.verbs.look_up.listing import ListingKind, LookUpQuery
from rigright.verbs.look_up.words import doubt_notes, matching, source_shown


def _find(asked: LookUpQuery) -> tuple[Features, ...]:
    return matching(
        features(),
        asked.words,
        text_of=lambda item: f"{item.architecture} {' '.join(item.isa)} {item.examples}",
    )


KIND = ListingKind(
    record=Features,
    summary=say("features of GPU architectures: number formats, attention kernels"),
    title=say("Chip architectures"),
    fields=(
        field("architecture", say("architecture"), "arch", listed=True, flexible=True),
        doubt(),
        field("isa", say("compute capability"), show=" ".join, listed=True, flexible=True),
        field("bf16", say("BF16"), listed=True, flexible=True),
        field("fp8", say("FP8"), listed=True, flexible=True),
        field("fp4", say("FP4"), listed=True, flexible=True),
        field("flash_attention", say("flash attention"), listed=True, flexible=True),
        field("fp16", say("FP16")),
        field("tf32", say("TF32")),
        field("int8", say("INT8")),
        field("int4", say("INT4")),
        field("sparsity", say("sparsity")),
        field("matrix_unit", say("matrix unit")),
        field("link", say("link between chips")),
        field("examples", say("such as")),
        field("stack", say("last CUDA, or software")),
        *provenance(),
    ),
    find=_find,
    notes=lambda _asked, kept: (say("y: in hardware; n: not supported"), *doubt_notes(kept)),
    sources=source_shown,
)
