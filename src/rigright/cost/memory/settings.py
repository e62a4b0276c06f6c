"""The GPU and the settings an engine starts with: as given, and its defaults for the rest."""

from __future__ import annotations

import numpy as np

from rigright.base.record import dataclass, replace
from rigright.base.units import KIB, MIB
from rigright.demand import Layout, Numbers, Serving
from rigright.facts.anchors import Anchor
from rigright.facts.engines import Engine


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineCard:
    """One card as an engine meets it, with the terms that were fitted for its kind."""

    total_bytes: Numbers  # what a program is handed
    free_bytes: Numbers  # of it, what others left free
    context_bytes: float
    collectives_bytes: float  # where several cards work together
    graph_bytes: float  # one captured size of one layer
    expert_graph_bytes: float  # more, where the layer has experts
    graph_base_bytes: float  # all that is captured, whatever its number
    graph_estimate: float  # what the engine takes for all of it beforehand, over what it is
    base_bytes: float  # workspaces of the engine
    libraries_bytes: float  # kernels and workspaces outside the framework's tensors
    joined_bytes: float  # the same with links, where several cards work together
    reserve: float  # reserved over allocated
    budget_tok: Numbers = None  # tokens of a step, as the engine takes them there; None: whole prompts
    max_seqs: Numbers = None  # sequences that it is prepared for; None: as many as are asked
    graph_sizes: Numbers = 0  # that it captures
    slack_bytes: float = 0.0  # libraries and fragments: on the device, in no tensor
    chip: str = ""
    capability: str = ""  # what its maker calls its generation of instructions: "9" of "9.0"
    own: tuple[Anchor, ...] = ()  # starts of this engine on such a card that the user measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How an engine is started: what was asked, and what is tabulated of it."""

    serving: Serving
    engine: Engine
    kv_elem_bytes: float  # of an element of the cache
    unpack_bytes: float  # for an element of the matrix that a format unpacks


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The engine's settings after its defaults were filled in: numbers or arrays."""

    budget_tok: Numbers
    max_seqs: Numbers
    share: Numbers  # of the device, where the engine takes one
    graph_sizes: Numbers


def settle(engine: Engine, serving: Serving, *, layout: Layout, device: EngineCard) -> Settings:
    """Fill what was not said with the engine's defaults on this device."""
    replicas = layout.dp * (layout.tp if layout.attention_dp else 1)  # each with sequences of its own
    own = -(-serving.batch // replicas)
    seqs = 0 if device.max_seqs is None else device.max_seqs
    told_budget = serving.budget_tok if serving.budget_tok is not None else device.budget_tok
    settings = Settings(
        budget_tok=_prompt_tok(serving) * own if told_budget is None else told_budget,
        max_seqs=np.maximum(seqs, own) if serving.max_seqs is None else serving.max_seqs,
        share=serving.utilisation if serving.utilisation is not None else engine.share,
        graph_sizes=device.graph_sizes if serving.graphs else 0,
    )
    if settings.share is None and engine.share_rule == "sglang":
        return replace(settings, share=_sglang_share(settings, layout, device=device))
    return settings


def _sglang_share(settings: Settings, layout: Layout, *, device: EngineCard) -> Numbers:
    """SGLang's own rule, in MiB: metadata, a chunk's tokens, captured sizes, ranks; large cards 10 GiB."""
    total_mib = np.asarray(device.total_bytes, dtype=float) / MIB
    ranks = np.asarray(layout.tp) * np.asarray(layout.pp)
    reserve = (
        512
        + np.maximum(settings.budget_tok, 2048) * 1.5
        + np.asarray(settings.max_seqs) * 2
        + ranks / 8 * KIB
    )
    reserve = np.where(total_mib > 60 * KIB, np.maximum(reserve, 10 * KIB), reserve)
    return np.round((total_mib - reserve) / total_mib, 3)


def _prompt_tok(serving: Serving) -> Numbers:
    return serving.context_tok if serving.prompt_tok is None else serving.prompt_tok
