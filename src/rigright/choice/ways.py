"""The ways to run a model on a chip: which engines people take there, which weights and caches each loads.

Engines, what they load and where they are taken are rows of tables; here they are only put in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rigright.arch.record import Arch
from rigright.base.errors import maybe
from rigright.base.record import dataclass
from rigright.choice.work import RACK, is_for_one, is_home
from rigright.cost.layers import generates, transcribes
from rigright.demand import PlanWish, Serving, ServingWish, grown_users
from rigright.facts.chips import Chip
from rigright.facts.engines import NATIVE, Engine, engines, find_engine, how_runs
from rigright.facts.formats import Format, find_format, find_kv_format, mixes

GGUF = "gguf:"
HOME = "home"  # a place of engines.toml: one person, or a few
FEW = 4  # requests at once that an engine for one user still carries
SERVER_CARDS = 4  # of a desk: so many are bought for engines that cut tensors
PACKED_LOSS = 6  # files of such formats are run as they are, and not packed anew
USUAL_LOSS = 7  # formats that lose more are taken only where nothing else fits, or when asked for
ANY_LOSS = 99
FOUR_BITS, FEW_BITS_LOSS = "Q4_K_M", 9  # what loses so much has fewer than four bits: people notice
OWN_LOSS = 1  # of 16 bit
NO_LOSS = 4  # up to here nobody tells the difference
FULL_KV_BITS = 16
KV_LOSS = 0.5  # of a rank, where the cache is kept in less


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where it would run: chips that work together, of a machine that is there or of cards to be had."""

    chips: Sequence[Chip]
    cards: int = 0  # of the machine; 0: none is named
    boxes: int = 1  # that it stands in
    mixed: bool = False  # cards of unlike sizes, even of one chip
    sliced: bool = False  # somebody cuts tensors, which engines that split by layer do not


def is_sliced(wish: ServingWish) -> bool:
    """Whether tensors are to be cut."""
    return max(wish.tp or 1, wish.ep or 1, wish.cp or 1) > 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How weights and caches are kept, in which engine."""

    engine: Engine
    weights: str
    kv: str
    usual: bool = True  # the engine that people take for such work on such a chip


def ways_on(
    arch: Arch, wish: PlanWish, *, site: Site, more: bool = False, others: bool = False
) -> Iterator[Way]:
    """Every way to run the model there, the usual engine and the best quality first.

    `others`: unusual engines as well; `more`: with formats and caches that lose more.
    """
    order = [item for item in taken_on(arch, wish, site=site) if not site.mixed or item.split == "layer"]
    # who buys for a few users takes either engine: one user more, or a limit told, must not make it cheaper
    buys = wish.on is None and wish.owned is None and wish.work != "chat"
    either = buys and _place(arch, wish, site=site) == HOME
    for rank, engine in enumerate(order):
        forms = tuple(formats_in(arch, wish, engine=engine, chips=site.chips, more=more))
        for weights in forms:
            for kv in _caches_in(wish, engine, chips=site.chips, more=more):
                yield Way(engine=engine, weights=weights, kv=kv, usual=rank == 0 or bool(wish.engines))
        if forms and not (more or others or either) and not wish.engines:
            return


def taken_on(arch: Arch, wish: PlanWish, *, site: Site) -> tuple[Engine, ...]:
    """Engines for such work on such chips: those asked for; else that of the name; else those people take."""
    if wish.engines:
        return tuple(find_engine(name) for name in wish.engines)
    text, chips = arch.engine, site.chips
    place = _place(arch, wish, site=site)
    forms = [name for name in (*wish.weights, arch.stored or "") if name]
    gguf = any(_is_gguf(name) for name in forms[:1])
    ranked = sorted(
        (engine for engine in engines().values() if place in engine.taken),
        key=lambda engine: engine.taken[place],
    )
    known = [engine for engine in ranked if all(_runs(engine, chip) for chip in chips)]
    if gguf:
        known = [engine for engine in known if reads_gguf(engine)] or [
            engine for engine in engines().values() if reads_gguf(engine) and engine.taken
        ]
    elif not wish.weights and arch.stored is not None and find_format(arch.stored).loss_rank >= PACKED_LOSS:
        known = [engine for engine in known if _loads(engine, arch.stored, chips=chips)] or known
    if wish.kv:
        keeping = [engine for engine in known if _caches_in(wish, engine, chips=chips)]
        known = keeping or [
            engine for engine in engines().values() if engine.taken and _caches_in(wish, engine, chips=chips)
        ]
    if transcribes(arch):
        known = [engine for engine in known if not reads_gguf(engine)] or known
    if text is not None:
        known = [find_engine(text), *(engine for engine in known if engine.id != text)]
    if site.mixed:  # unlike cards share a model by layers alone
        known = [engine for engine in known if engine.split == "layer"] or known
    elif site.sliced:
        known = [engine for engine in known if engine.split != "layer"] or known
    return tuple(known or ranked)


def _place(arch: Arch, wish: PlanWish, *, site: Site) -> str:
    """Where it runs, as engines.toml says it: a desk with many like cards is taken as a server."""
    chips, mixed = site.chips, site.mixed
    if not generates(arch):
        return "samples"
    if transcribes(arch):
        return "rack" if all(chip.segment in RACK for chip in chips) else "many"
    few = wish.users is not None and grown_users(wish.users, wish.growth) <= FEW
    talk = wish.work == "chat" and is_for_one(wish)
    if not (mixed or is_home(chips) or (talk and all(chip.segment != "datacenter" for chip in chips))):
        return "rack"
    alone = (few or talk) and site.cards < SERVER_CARDS and site.boxes == 1
    return HOME if alone or mixed else "many"


def _runs(engine: Engine, chip: Chip) -> bool:
    return any(how_runs(engine.id, name, chip=chip) is not None for name in (*engine.formats, "fp16"))


def _loads(engine: Engine, stored: str, *, chips: Sequence[Chip]) -> bool:
    """Whether it runs a packed file there, or a GGUF that holds the very same numbers."""
    if reads_gguf(engine):
        return stored.upper() in mixes()
    return is_run(engine, stored, chips=chips)


def _is_gguf(name: str) -> bool:
    """Whether a name can mean a GGUF file alone; "q4" and "int4" mean what the engine at hand has."""
    return maybe(lambda: find_format(name).id.startswith(GGUF)) or False


def reads_gguf(engine: Engine) -> bool:
    """Whether it loads GGUF files."""
    return bool(engine.formats) and engine.formats[0].startswith(GGUF)


FP4 = "nvfp4"  # made for chips that multiply it


def formats_in(
    arch: Arch, wish: PlanWish, *, engine: Engine, chips: Sequence[Chip], more: bool = False
) -> Iterator[str]:
    """Formats of weights that run there, best quality first: those asked for, or all down to the floor."""
    if wish.weights:
        named = bool(wish.engines)
        asked = (format_on(name, arch, engine=engine, chips=chips, named=named) for name in wish.weights)
        yield from (name for name in dict.fromkeys(asked) if is_run(engine, name, chips=chips))
        return
    if transcribes(arch) and wish.quality is None:
        floor = NO_LOSS if more else OWN_LOSS  # as published while there is room; errors are heard
    else:
        least = None if wish.quality is None else find_format(wish.quality).loss_rank
        floor = (ANY_LOSS if more else USUAL_LOSS) if least is None else least
    run = [name for name in _own_formats(arch, engine, floor=floor) if is_run(engine, name, chips=chips)]
    emulated = {how_runs(engine.id, FP4, chip=chip) for chip in chips} == {"16-bit"}
    run = [name for name in run if name != FP4 or name == arch.stored or not emulated]
    if not run and arch.stored is not None and find_format(arch.stored).loss_rank < PACKED_LOSS:
        # a file of 8 bit is unpacked where chips cannot multiply it
        run = [name for name in (arch.dtype, "fp16") if is_run(engine, name, chips=chips)]
    yield from (name for name in run if name != "fp16" or "bf16" not in run or arch.dtype != "bf16")


def is_run(engine: Engine, form: str, *, chips: Sequence[Chip]) -> bool:
    """Whether an engine runs weights of a format on every one of the chips."""
    return all(how_runs(engine.id, form, chip=chip) is not None for chip in chips)


def format_of(name: str, *, engine: Engine, named: bool = False) -> str:
    """A format by a loose name, as the engine at hand means it: "q4" is Q4_K_M in llama.cpp, AWQ in vLLM.

    `named`: somebody asked for the engine, so "mxfp4" in llama.cpp is its own file.
    """
    plain = name.strip().lower().replace("-bit", "bit")
    if named and reads_gguf(engine) and plain.upper() in mixes():
        return f"{GGUF}{plain.upper()}"
    return find_format(engine.says.get(plain, name)).id


def check_format(name: str) -> None:
    """Refuse a format that no engine knows by this name, strict or loose."""
    plain = name.strip().lower().replace("-bit", "bit")
    if not any(plain in engine.says for engine in engines().values()):
        find_format(name)


def format_on(name: str, arch: Arch, *, engine: Engine, chips: Sequence[Chip], named: bool = False) -> str:
    """The same of a model on these chips: where one has no bf16, fp16 is meant, its twin in size."""
    form = as_published(arch, format_of(name, engine=engine, named=named))
    twin = form == "bf16" and not is_run(engine, form, chips=chips) and is_run(engine, "fp16", chips=chips)
    return "fp16" if twin else form


def as_published(arch: Arch, form: str) -> str:
    """The format that a name means of a model: 8-bit floats are those of its own file, scaled as they are."""
    stored = arch.stored or ""
    return stored if form == "fp8" and stored.startswith("fp8") else form


def _own_formats(arch: Arch, engine: Engine, *, floor: int) -> tuple[str, ...]:
    """What the engine makes of a model: as it is stored, or packed further, the best quality first."""
    gguf = reads_gguf(engine)
    stored = arch.stored
    if stored is not None and stored.startswith(GGUF) != gguf:
        twin = (
            f"{GGUF}{stored.upper()}"  # a file of 4-bit floats is turned into the same, and never packed anew
        )
        if gguf and find_format(stored).loss_rank >= PACKED_LOSS and stored.upper() in mixes():
            return (twin,)
        stored = None if gguf else arch.dtype
    if stored is not None and (gguf or find_format(stored).loss_rank >= PACKED_LOSS):
        return (stored,)
    plain = "fp16" if arch.dtype == "fp32" else arch.dtype
    own = () if gguf else (stored,) if stored is not None else (plain, "fp16")
    if gguf and transcribes(arch):
        own = (f"{GGUF}F16",)
    least = find_format(stored).loss_rank if stored is not None else 0
    packed = [
        name
        for name in engine.formats
        if name not in {"bf16", "fp16"} and least < find_format(name).loss_rank <= floor
    ]
    names = dict.fromkeys((*own, *sorted(packed, key=lambda name: find_format(name).loss_rank)))
    return tuple(names)


def loss_of(arch: Arch, weights: str, *, kv: str = "16bit") -> float:
    """The rank of what weights and cache lose of a model: as it is published it loses nothing of itself."""
    form, stored = find_format(weights), arch.stored
    packed = stored is not None and find_format(stored).loss_rank >= PACKED_LOSS
    own = packed and form.id in {stored, f"{GGUF}{(stored or '').upper()}"}
    after = form.after_rank if isinstance(form, Format) else None
    rank = min(form.loss_rank, OWN_LOSS) if own else after or form.loss_rank
    return rank + (KV_LOSS if find_kv_format(kv).bits < FULL_KV_BITS else 0.0)


def is_lossy(work: object, *, asked: bool) -> bool:
    """Whether weights have fewer than four bits, and nobody `asked` for them."""
    return isinstance(work, Serving) and not asked and find_format(work.weights).loss_rank >= FEW_BITS_LOSS


def quality_class(loss_rank: float) -> int:
    """Ranks that nobody tells apart count as one: a step down in class is a step that can be measured."""
    return max(int(loss_rank) - NO_LOSS, 0)


def _caches_in(
    wish: PlanWish, engine: Engine, *, chips: Sequence[Chip], more: bool = False
) -> tuple[str, ...]:
    """Formats of the cache: those asked for, else 16 bit; with `more` the common smaller one as well."""
    if wish.kv:
        forms = [find_kv_format(name) for name in wish.kv]
        return tuple(form.id for form in forms if not form.engines or engine.id in form.engines)
    saves = engine.kv_save
    able = saves != "fp8" or all(how_runs(engine.id, "fp8", chip=chip) == NATIVE for chip in chips)
    return ("16bit", saves) if more and saves is not None and able else ("16bit",)
