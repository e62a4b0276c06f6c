"""What a page tells of one model beside its figures: towers, parameters by part, cache, sizes, files."""

from __future__ import annotations

from rigright.arch.sources.opened import Files
from rigright.base.page import Bar, Bars, Column, Part, Piece, Points, Shown, Table
from rigright.base.units import KIB, MEGA, show_bytes, show_count
from rigright.base.words import Sentence, say, worded
from rigright.verbs.look_up.model_card import ModelCard, TowerCard

# what people weigh against each other first; --json has every format
USUAL_FORMATS = (
    "bf16",
    "fp8",
    "int8",
    "awq4",
    "nf4",
    "nvfp4",
    "mxfp4",
    "mlx4",
    "gguf:Q8_0",
    "gguf:Q6_K",
    "gguf:Q5_K_M",
    "gguf:Q4_K_M",
    "gguf:Q3_K_M",
    "gguf:IQ2_XS",
)
MAX_KINDS = 40
_MIXERS = {
    "full": say("attention"),
    "window": say("sliding attention"),
    "chunk": say("chunked attention"),
    "both": say("bidirectional attention"),
    "cross": say("cross attention"),
    "latent": say("latent attention (MLA)"),
    "linear": say("linear attention"),
    "ssm": say("SSM"),
    "conv": say("convolution"),
}
_PARTS = {
    "embed": say("token embeddings"),
    "position": say("positions"),
    "head": say("head"),
    "norm": say("norms"),
    "attn": say("attention"),
    "cross": say("cross attention"),
    "mixer": say("linear attention and SSM"),
    "ffn": say("feed-forward"),
    "router": say("routers"),
    "expert": say("experts"),
    "shared": say("shared experts"),
    "conv": say("convolutions"),
    "patch": say("patches"),
    "project": say("projectors"),
    "other": say("other"),
}


def model_parts(card: ModelCard) -> tuple[Part, ...]:
    """The parts of a page about one model."""
    if card.error is not None:
        return ()
    warnings = Points(title=say("Warnings"), items=card.warnings, tone="warn") if card.warnings else None
    parts = (_layers(card), _by_part(card), _cache(card), _weights(card), _files(card.files), _adapter(card))
    return tuple(part for part in (*parts, warnings) if part is not None)


def exact_count(number: float) -> Shown:
    """A count to the last one, and in short."""
    return f"{number:,.0f}" if number < MEGA else f"{number:,.0f} ({show_count(number)})"


def cache_shown(size: float) -> Shown:
    """Bytes of a cache; a model without one shows none."""
    return show_bytes(size) if size else ""


def context_shown(tokens: int) -> Shown:
    """A length in tokens: 128K, 8,000."""
    return f"{tokens // KIB:,}K" if tokens and tokens % KIB == 0 else f"{tokens:,}"


def _layers(card: ModelCard) -> Part | None:
    rows = [row for tower in card.towers or () for row in _tower_rows(tower)]
    if not rows:
        return None
    columns = (
        Column(head=say("layers"), right=True),
        Column(head=say("tower")),
        Column(head=say("mixing")),
        Column(head=say("heads x width"), flexible=True),
        Column(head=say("feed-forward"), flexible=True),
        Column(head=say("parameters"), right=True),
    )
    return Table(title=say("Layers by kind"), columns=columns, rows=tuple(rows[:MAX_KINDS]))


def _tower_rows(tower: TowerCard) -> list[tuple[Shown, ...]]:
    return [
        (
            str(kind.count),
            worded("tower")(tower.name),
            _MIXERS.get(kind.mixer, kind.mixer) if kind.mixer else "-",
            kind.mixer_shape,
            _ffn(kind.ffn, kind.ffn_shape),
            show_count(kind.params),
        )
        for kind in tower.kinds
    ]


def _ffn(kind: str | None, shape: str) -> Shown:
    if kind is None:
        return "-"
    return say("experts {shape}", shape=shape) if kind == "experts" else shape


def _by_part(card: ModelCard) -> Part | None:
    if not card.params:
        return None
    pieces = tuple(
        Piece(name=_PARTS.get(name, name), size=number, shown=show_count(number))
        for name, number in (card.params_by_part or {}).items()
        if number
    )
    bar = Bar(label=say("parameters"), pieces=pieces, limit=card.params, shown=show_count(card.params))
    return Bars(title=say("Parameters by part"), bars=(bar,))


def _cache(card: ModelCard) -> Part | None:
    if not card.kv_bytes_at or not any(card.kv_bytes_at.values()):
        return None
    columns = (Column(head=say("context"), right=True), Column(head=say("one sequence, 16-bit"), right=True))
    rows = tuple((context_shown(tok), show_bytes(size)) for tok, size in card.kv_bytes_at.items())
    return Table(title=say("Cache"), columns=columns, rows=rows)


def _weights(card: ModelCard) -> Part | None:
    own = [card.stored] if card.stored in card.weights_bytes else []
    names = dict.fromkeys([*own, *(name for name in USUAL_FORMATS if name in card.weights_bytes)])
    if not names:
        return None
    columns = (Column(head=say("format")), Column(head=say("weights"), right=True))
    rows = tuple((name or "", show_bytes(card.weights_bytes[name or ""])) for name in names)
    return Table(title=say("Weights by format"), columns=columns, rows=rows)


def _files(files: Files | None) -> Part | None:
    if files is None:
        return None
    return Points(title=say("Files"), items=(*_parts_words(files), *files.notes))


def _parts_words(files: Files) -> tuple[Sentence, ...]:
    types = ", ".join(
        f"{dtype} {show_bytes(size)}"
        for dtype, size in sorted(files.bytes_by_dtype.items(), key=lambda pair: -pair[1])
    )
    size = files.tensors_bytes if files.size_bytes is None else files.size_bytes
    return (
        say(
            "files: {files}, total {size} ({bytes} bytes)",
            files=files.files,
            size=show_bytes(size),
            bytes=f"{size:,}",
        ),
        *((say("tensors by type: {types}", types=types),) if types else ()),
    )


def _adapter(card: ModelCard) -> Part | None:
    if card.adapter is None:
        return None
    rank, params = card.adapter.rank, card.adapter.params
    item = say(
        "{kind} of rank {rank}, {params} parameters",
        kind=card.adapter.kind,
        rank=rank if rank is not None else "?",
        params=f"{params:,}" if params is not None else "?",
    )
    return Points(title=say("Adapter"), items=(item,))
