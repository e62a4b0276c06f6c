"""A case of serving: what was wished, with every default filled in from engine, model and machine."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rigright.arch.record import Arch
from rigright.base.errors import AskError
from rigright.base.words import Sentence, say
from rigright.cost.images.networks import takes_samples
from rigright.cost.memory_device import device_of
from rigright.cost.memory_kv import generates
from rigright.cost.memory_settings import Settings, settle
from rigright.cost.weights import WeightBytes, weigh
from rigright.demand import Layout, Serving, ServingWish
from rigright.facts.engines import Engine, find_engine
from rigright.facts.features import features_of
from rigright.facts.formats import find_format
from rigright.facts.kv_formats import find_kv_format
from rigright.facts.nodes import Card, Node
from rigright.facts.running import engines_of, unrun

CONTEXT_TOK = 8192  # asked for when nobody says
MOST_TOK = 2**31
GGUF = "gguf:"
USUAL_GGUF = "gguf:Q4_K_M"
PLAIN_GGUF = {"bf16": "gguf:BF16", "fp16": "gguf:F16", "fp32": "gguf:F32"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One model, one machine, one way to serve."""

    arch: Arch
    weights: WeightBytes
    serving: Serving
    layout: Layout
    engine: Engine
    cards: tuple[Card, ...]
    notes: tuple[Sentence, ...] = ()

    @property
    def settings(self) -> Settings:
        """The engine's settings on the smallest card."""
        smallest = min(self.cards, key=lambda card: card.total_bytes)
        return settle(self.engine, self.serving, layout=self.layout, device=device_of(smallest, self.engine))

    def over(self, **changes: object) -> Case:
        """The same with some of its serving changed."""
        serving = replace(self.serving, **changes)  # type: ignore[arg-type]
        weights = weigh(self.arch, serving.weights) if "weights" in changes else self.weights
        return replace(self, serving=serving, weights=weights)


def build_case(arch: Arch, node: Node, *, wish: ServingWish) -> Case:
    """Fill in what was not said."""
    _check(wish)
    engine = find_engine(wish.engine or _engine(arch, node, wish=wish))
    form = find_format(_weights(arch, engine, wish=wish))
    context = wish.context_tok or min(CONTEXT_TOK, arch.max_context_tok or CONTEXT_TOK)
    cards = tuple(card for _ in range(node.n_nodes) for card in node.cards)
    layout = _layout(arch, engine, node=node, wish=wish)
    serving = Serving(
        engine=f"{engine.id} {engine.version}",
        weights=form.id,
        kv=_kv(engine, wish),
        context_tok=context,
        batch=wish.batch or 1,
        prompt_tok=wish.prompt_tok,
        budget_tok=wish.budget_tok,
        max_seqs=wish.max_seqs,
        utilisation=wish.utilisation,
        graphs=wish.graphs,
    )
    return Case(
        arch=arch,
        weights=weigh(arch, form.id),
        serving=serving,
        layout=layout,
        engine=engine,
        cards=cards,
        notes=(
            *node.notes,
            *arch.warnings,
            *_unused(engine, wish),
            *_unrun(engine, form.id, cards=cards),
            *_notes(arch, wish, context_tok=context),
        ),
    )


def _check(wish: ServingWish) -> None:
    counts = ("context_tok", "batch", "prompt_tok", "budget_tok", "max_seqs", "tp", "pp", "dp", "ep", "cp")
    for name in counts:
        value = getattr(wish, name)
        if value is not None and not 1 <= value <= MOST_TOK:
            raise AskError(
                say("{name} cannot be {value}: from 1 on", name=name.removesuffix("_tok"), value=value)
            )
    if wish.utilisation is not None and not 0 < wish.utilisation <= 1:
        raise AskError(
            say("the share of the device is above 0 and at most 1, not {share}", share=wish.utilisation)
        )


def _engine(arch: Arch, node: Node, *, wish: ServingWish) -> str:
    """The engine people take for this model on such cards."""
    told = wish.weights or arch.stored
    if told is not None and find_format(told).id.startswith(GGUF):
        return "llama.cpp"
    if not generates(arch):
        return "transformers"
    return "llama.cpp" if node.is_mixed or node.cards[0].chip.vendor == "Apple" else "vllm"


def _weights(arch: Arch, engine: Engine, *, wish: ServingWish) -> str:
    reads_gguf = engine.formats[0].startswith(GGUF)
    if wish.weights is not None:
        return PLAIN_GGUF.get(wish.weights.lower(), wish.weights) if reads_gguf else wish.weights
    if reads_gguf:
        stored = arch.stored or ""
        return stored if stored.startswith(GGUF) else USUAL_GGUF
    halved = engine.pool == "share" and arch.dtype == "fp32"  # servers run fp32 models in half precision
    return arch.stored or ("fp16" if halved else arch.dtype)


def _kv(engine: Engine, wish: ServingWish) -> str:
    form = find_kv_format(wish.kv or "16bit")
    if form.engines and engine.id not in form.engines:
        raise AskError(
            say(
                "{engine} keeps no {kv} cache; those that do: {engines}",
                engine=engine.label,
                kv=form.label,
                engines=", ".join(form.engines),
            )
        )
    return form.id


def _layout(arch: Arch, engine: Engine, *, node: Node, wish: ServingWish) -> Layout:
    """All cards: tensor parallel as far as heads allow, then pipeline; or layer by layer."""
    own = node.n_cards // ((wish.dp or 1) * (wish.cp or 1)) or 1
    if takes_samples(arch) and (wish.tp or 1) * (wish.pp or 1) == 1:
        return Layout(dp=wish.dp or node.n_cards)  # each card works alone
    if engine.split == "layer":
        dealt = Layout(pp=min(wish.pp or node.n_cards, len(arch.trunk.layers)))
        _check_layout(arch, node, layout=dealt)
        return dealt
    tp = wish.tp or _heads_allow(arch, min(len(node.cards), max(own // (wish.pp or 1), 1)))
    layout = Layout(
        tp=tp,
        pp=wish.pp or max(min(own // tp, len(arch.trunk.layers)), 1),
        dp=wish.dp or 1,
        ep=wish.ep or 1,
        cp=wish.cp or 1,
        attention_dp=wish.attention_dp,
    )
    _check_layout(arch, node, layout=layout)
    return layout


def _heads_allow(arch: Arch, cards: int) -> int:
    """The most cards that share out the heads evenly."""
    return next(tp for tp in range(cards, 0, -1) if cards % tp == 0 and _divides(arch, tp))


def _divides(arch: Arch, tp: int) -> bool:
    attending = [layer.mixer for layer in arch.trunk.layers if layer.mixer is not None and layer.mixer.heads]
    return all(
        mixer.heads % tp == 0
        and (mixer.latent_dim > 0 or mixer.kv_heads % tp == 0 or tp % mixer.kv_heads == 0)
        for mixer in set(attending)
    )


def _check_layout(arch: Arch, node: Node, *, layout: Layout) -> None:
    needed = layout.tp * layout.pp * layout.dp * layout.cp
    if needed > node.n_cards:
        raise AskError(
            say(
                "tp {tp} x pp {pp} x dp {dp} x cp {cp} needs {needed} cards; there are {cards}",
                tp=layout.tp, pp=layout.pp, dp=layout.dp, cp=layout.cp, needed=needed, cards=node.n_cards,
            )
        )  # fmt: skip
    if not _divides(arch, layout.tp):
        fitting = [str(tp) for tp in range(1, node.n_cards + 1) if _divides(arch, tp)]
        raise AskError(
            say(
                "{model} cannot be cut over tp {tp}: heads do not divide; tp may be {fitting}",
                model=arch.name,
                tp=layout.tp,
                fitting=", ".join(fitting),
            )
        )
    if layout.pp > len(arch.trunk.layers):
        raise AskError(
            say("pp {pp} is more than the {layers} layers", pp=layout.pp, layers=len(arch.trunk.layers))
        )


def _unused(engine: Engine, wish: ServingWish) -> tuple[Sentence, ...]:
    """Ways of cutting that were asked for and that this engine does not have."""
    asked = [name for name in ("tp", "dp", "ep", "cp") if (getattr(wish, name) or 1) > 1]
    if engine.split != "layer" or not asked:
        return ()
    return (
        say("{engine} deals out whole layers: {asked} left out", engine=engine.label, asked=", ".join(asked)),
    )


def _unrun(engine: Engine, form: str, *, cards: tuple[Card, ...]) -> tuple[Sentence, ...]:
    """Chips on which the engine, or weights of this format, do not run."""
    lacking = _no_bf16(engine, cards) if form == "bf16" else ()
    emulated = form == "bf16" and not engine.native_bf16
    chips = {card.chip.id: card.chip for card in cards}.values()
    asked = (chip for chip in chips if not (emulated and engine.id in engines_of(chip)))
    told = (unrun(engine.id, form, chip=chip) for chip in asked)
    return lacking or tuple(said for said in told if said is not None)


def _no_bf16(engine: Engine, cards: tuple[Card, ...]) -> tuple[Sentence, ...]:
    """Chips that cannot compute in bf16, where the engine does not work around it."""
    known = {card.chip.name: features_of(card.chip.isa) for card in cards}
    lacking = [name for name, found in known.items() if found is not None and found.bf16.startswith("n")]
    if not engine.native_bf16 or not lacking:
        return ()
    return (
        say(
            "{chip} has no bf16: {engine} needs fp16 there (--weights fp16, the same size)",
            chip=", ".join(lacking),
            engine=engine.label,
        ),
    )


def _notes(arch: Arch, wish: ServingWish, *, context_tok: int) -> tuple[Sentence, ...]:
    found = []
    if any(tower.name in {"vision", "audio"} for tower in arch.towers if tower is not arch.trunk):
        found.append(say("what pictures or sound take while they are read is not counted"))
    if wish.context_tok is None and generates(arch):
        found.append(say("context not said: {context} tokens assumed", context=f"{context_tok:,}"))
    if arch.max_context_tok is not None and context_tok > arch.max_context_tok:
        found.append(
            say(
                "the model was made for {most} tokens of context, less than the {asked} asked for",
                most=f"{arch.max_context_tok:,}",
                asked=f"{context_tok:,}",
            )
        )
    return tuple(found)
