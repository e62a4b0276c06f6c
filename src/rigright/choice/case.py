"""A case of serving: one model, one machine, one way to run it, with everything decided."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rigright.arch.record import Arch
from rigright.base.errors import AskError
from rigright.base.record import dataclass, replace
from rigright.base.words import Sentence, say
from rigright.choice.drafts import NONE, Drafts
from rigright.choice.layout import usual_layout
from rigright.choice.ways import Site, format_of, format_on, formats_in, is_run, is_sliced, taken_on
from rigright.cost.layers import is_generator, takes_samples
from rigright.cost.memory.settings import Settings, settle
from rigright.cost.speed.reach import KERNEL
from rigright.cost.speed.work import InRam
from rigright.cost.weights import WeightBytes
from rigright.demand import Layout, Length, PlanWish, Serving, ServingWish, Size, Traffic
from rigright.facts.engines import Engine, engines_of, find_engine, unrun
from rigright.facts.formats import find_kv_format
from rigright.facts.hosts import Host
from rigright.facts.nodes import Card, Node
from rigright.terms.memory import device_of, weigh, weights_bytes

MOST_TOK = 2**31
ROOM = 0.9  # of the memory of cards, for weights


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """Where a model lay in somebody's run that used main memory, as its log and flags say."""

    ram: InRam  # shares that lay there; all of it where the processor worked alone
    disk_share: float = 0.0  # of what lies there, that has no room and is read from the disk
    threads: int | None = None
    repacked: bool = False  # rows lie as only the processor reads them: it works on prompts of any length
    active_experts: int | None = None  # of a token; None: as many as the model asks for


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One model, one machine, one way to serve, and the load it is asked about."""

    arch: Arch
    serving: Serving
    layout: Layout
    engine: Engine
    cards: tuple[Card, ...]
    traffic: Traffic | None = None  # None: the batch and the context tell it
    percentile: float | None = None  # the share of requests that times are stated for; None: on average
    most_s: tuple[tuple[str, float], ...] = ()  # limits of time that somebody named
    drafts: Drafts = NONE
    picture: Size | None = None  # that is made or looked at
    length: Length | None = None  # of a video that is made
    steps: int | None = None  # of a generator, for a picture
    host: Host | None = None  # what stands around the cards, where somebody spoke of it
    notes: tuple[Sentence, ...] = ()
    prefill: Layout | None = None  # workers of prompts alone; `layout` is then of the others
    manner: str = ""  # how the engine is tuned
    kernel: str = ""  # that reads the weights, where somebody spoke of it
    file_gib: float | None = None  # of the very file of weights
    ran: bool = False  # somebody ran it: a request had room, whatever the engine takes by itself
    is_alone: bool = False  # a stream or a static batch, with no server around it
    prompt_left_out: bool = False  # of the time of such a stream
    beside: Beside | None = None  # what a run tells of main memory; `serving.offload` is what we deal out

    @property
    def weights(self) -> WeightBytes:
        """Where the bytes of the model lie."""
        return weigh(self.arch, self.serving.weights)

    @property
    def form(self) -> str:
        """The format of its weights, and after a slash the kernel that reads it."""
        return f"{self.serving.weights}{KERNEL}{self.kernel}" if self.kernel else self.serving.weights

    @property
    def settings(self) -> Settings:
        """The engine's settings on the smallest card."""
        smallest = min(self.cards, key=lambda card: card.total_bytes)
        return settle(self.engine, self.serving, layout=self.layout, device=device_of(smallest, self.engine))

    def over(self, **changes: Any) -> Case:
        """The same with some of its serving changed."""
        return replace(self, serving=replace(self.serving, **changes))


def serving_case(
    arch: Arch,
    serving: Serving,
    *,
    layout: Layout,
    cards: Sequence[Card],
    engine: Engine | None = None,
    **more: Any,
) -> Case:
    """The case of a model that is served so: nothing else makes one. `engine`: of a build or a day."""
    return Case(
        arch=arch,
        serving=serving,
        layout=layout,
        engine=engine or find_engine(serving.engine),
        cards=tuple(cards),
        **more,
    )


def fixed(arch: Arch, node: Node, *, wish: ServingWish, work: PlanWish) -> Case:
    """The case that a wish fixes, by policy alone where it leaves something open: nothing is scored.

    `work` is the settled wish: its lengths, load, engines and formats. Of the formats the best one is taken
    whose weights leave a tenth of the memory free, else the smallest: what nobody asked for need not fit.
    """
    chips = tuple({card.chip.id: card.chip for card in node.cards}.values())
    site = Site(
        chips=chips, cards=node.n_cards, boxes=node.n_nodes, mixed=node.is_mixed, sliced=is_sliced(wish)
    )
    taken = taken_on(arch, work, site=site)
    able = (item for item in taken if any(formats_in(arch, work, engine=item, chips=chips)))
    engine = next(able, taken[0])
    _check_cut(engine, wish)
    form, waits = stored_on(arch, engine, node=node, work=work)
    kv = find_kv_format(work.kv[0] if work.kv else "16bit")
    if kv.engines and engine.id not in kv.engines:
        raise AskError(
            say(
                "{engine} has no {kv} KV cache; these do: {engines}",
                engine=engine.label,
                kv=kv.label,
                engines=", ".join(kv.engines),
            )
        )
    layout = usual_layout(arch, engine, node=node, wish=wish)
    serving = Serving(
        engine=engine.asked,
        weights=form,
        kv=kv.id,
        context_tok=work.context_tok,
        batch=wish.batch or int(work.users or 1),
        prompt_tok=work.prompt_tok,
        parts_wait=waits,
        **wish.settings,
    )
    cards = tuple(card for _ in range(node.n_nodes) for card in node.cards)
    if takes_samples(arch) and layout.tp * layout.pp == 1:  # each card works alone: no more than was said
        cards = cards[: layout.dp]
    notes = _unrun_on(engine, form, cards=cards)
    return serving_case(arch, serving, layout=layout, cards=cards, host=node.host, notes=notes)


def stored_on(arch: Arch, engine: Engine, *, node: Node, work: PlanWish) -> tuple[str, bool]:
    """The first format that has room; and, of a generator, whether its parts wait in main memory."""
    chips = tuple({card.chip.id: card.chip for card in node.cards}.values())
    named = bool(work.weights)
    forms: tuple[str, ...]
    if named:
        forms = (format_on(work.weights[0], arch, engine=engine, chips=chips, named=bool(work.engines)),)
    else:
        forms = tuple(formats_in(arch, work, engine=engine, chips=chips)) or (arch.stored or arch.dtype,)
    if not is_generator(arch):
        room = ROOM * sum(card.room_bytes for card in node.cards) * node.n_nodes
        return next((form for form in forms if weights_bytes(arch, form) <= room), forms[-1]), False
    from rigright.choice.networks import PACKED, network_memory, network_of, waiting

    more = [form for form in PACKED if form not in forms and is_run(engine, form, chips=chips)]
    network = network_of(arch, picture=work.picture, length=work.length)
    devices = [device_of(card, engine) for card in node.cards]
    tries = [(form, way) for form in (*forms, *(() if named else more)) for way in waiting(network, chips)]
    for form, way in tries:
        memories = [network_memory(way, form, batch=1, device=device) for device in devices]
        if all(float(memory.spare_bytes) >= 0 for memory in memories):
            return form, way.waits
    return tries[-1][0], tries[-1][1].waits


def check_wish(wish: ServingWish) -> None:
    """Refuse counts and shares that no serving has."""
    counts = ("context_tok", "batch", "prompt_tok", "budget_tok", "max_seqs", "tp", "pp", "dp", "ep", "cp")
    for name in counts:
        value = getattr(wish, name)
        if value is not None and not 1 <= value <= MOST_TOK:
            raise AskError(
                say("{name} must be at least 1, got {value}", name=name.removesuffix("_tok"), value=value)
            )
    if wish.utilisation is not None and not 0 < wish.utilisation <= 1:
        raise AskError(
            say("the GPU memory share must be above 0 and at most 1, got {share}", share=wish.utilisation)
        )


def _check_cut(engine: Engine, wish: ServingWish) -> None:
    """Refuse ways of cutting that the engine does not have."""
    asked = [name for name in ("tp", "ep", "cp") if (getattr(wish, name) or 1) > 1]
    asked += ["attention-dp"] if wish.attention_dp else []
    if engine.split == "layer" and asked:
        raise AskError(
            say(
                "{engine} splits a model by layer: {asked} does not apply",
                engine=engine.label,
                asked=", ".join(f"--{name}" for name in asked),
            ),
            hint=say("use --pp or --dp, or another --engine"),
        )


def _unrun_on(engine: Engine, form: str, *, cards: tuple[Card, ...]) -> tuple[Sentence, ...]:
    """Chips on which the engine, or weights of this format, do not run."""
    emulated = form == "bf16" and not engine.native_bf16
    chips = {card.chip.id: card.chip for card in cards}.values()
    asked = (chip for chip in chips if not (emulated and engine.id in engines_of(chip)))
    sentences = (unrun(engine.id, form, chip=chip) for chip in asked)
    return tuple(sentence for sentence in sentences if sentence is not None)


def taken_for_bf16(case: Case, asked: str | None) -> tuple[Sentence, ...]:
    """That weights asked for in bf16 are run in fp16, on chips without bf16."""
    if asked is None or case.serving.weights != "fp16" or format_of(asked, engine=case.engine) != "bf16":
        return ()
    from rigright.facts.chips import features_of

    known = {card.chip.name: features_of(card.chip.isa) for card in case.cards}
    lacking = [
        name for name, features in known.items() if features is not None and features.bf16.startswith("n")
    ]
    return (say("{chip} has no bf16: using fp16, the same size", chip=", ".join(lacking)),)
