"""The search for machines that make or look at images: chips, how many, and samples at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rigright.arch.painters import Painter, painter
from rigright.arch.record import Arch
from rigright.arch.sources import zoo
from rigright.base.errors import AskError
from rigright.base.words import Sentence, say
from rigright.cost.bands import band, mark
from rigright.cost.estimate import Estimate
from rigright.cost.images.diffusion import paint
from rigright.cost.images.law import forward
from rigright.cost.images.rates import ImageRun, image_rates, place_of
from rigright.cost.images.work import arch_kind, work_of_arch
from rigright.cost.known import known_of_one
from rigright.cost.memory_device import device_of
from rigright.cost.memory_serving import ServingMemory, serving_memory
from rigright.cost.money import SECONDS_PER_H, price_width
from rigright.cost.weights import weigh
from rigright.demand import Layout, Numbers, PlanWish, Serving
from rigright.facts.chips import Chip
from rigright.facts.engines import Engine, find_engine
from rigright.facts.running import how_runs
from rigright.search.choose import choose, field_of
from rigright.search.columns import at, stacked
from rigright.search.figures import Limit, limits_of, power_w, total_usd, usd_per_h
from rigright.search.market import Market
from rigright.search.plans import Table, notes_of, power_of, rank_bytes_of, reasons_of
from rigright.search.question import COUNTS, Kind, Question, Way, kinds_of
from rigright.search.record import Found, Plan, Supply
from rigright.search.room import engine_name
from rigright.search.score import Misfits
from rigright.search.supply import HOWS, options, prices_of, supply_of
from rigright.search.why import broken, excess_of, rejections, too_small

SUBJECT = "speed_images"
ENGINE = "transformers"
FORMAT = "fp16"
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
IMAGE_PX = 1024
TEXT_TOK = 512  # of a sample that is text, where nobody says


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagePoints:
    """What is scored: arrays, one entry for a kind, a number of chips and samples at once on each."""

    way: Numbers
    kind: Numbers
    n_chips: Numbers
    batch: Numbers  # of each chip

    def __len__(self) -> int:
        return len(self.kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageScored:
    """What fits, with what it gives; and what does not fit."""

    points: ImagePoints
    latency_s: Numbers
    share: Numbers  # of a card that is taken
    misfits: Misfits


def find_images(arch: Arch, wish: PlanWish, *, market: Market) -> Found:
    """The best few machines for a network of images within the wish, and why nothing cheaper will do."""
    notes: list[Sentence] = []
    if wish.image_px is None and arch.task == "image":
        wish = replace(wish, image_px=IMAGE_PX)
        notes.append(say("images of {px} x {px} pixels assumed", px=IMAGE_PX))
    kinds = kinds_of(wish, counts=COUNTS)
    able = tuple(place for place, kind in enumerate(kinds) if how_runs(ENGINE, FORMAT, chip=kind.chip))
    if not able:
        raise AskError(say("no engine runs such weights on any of the chips; leave a format or engine out"))
    way = Way(engine=find_engine(ENGINE), weights=FORMAT, kv="16bit", kinds=able)
    question = Question(arch=arch, wish=wish, market=market, kinds=kinds, ways=(way,))
    table = _tabled(question)
    found = _found(table) if len(table.options.index) else _nothing(table)
    return replace(found, looked_at=len(table.scored.points), chips=len(kinds), notes=tuple(notes))


def _tabled(question: Question) -> Table:
    scored, prices = _score(question), prices_of(question)
    points, one = scored.points, np.ones(len(scored.points), dtype=int)
    found = options(prices, question.wish, kind=points.kind, n_chips=points.n_chips, replica=one)
    table = Table(question=question, scored=scored, prices=prices, options=found, figures={})
    index = found.index
    rate = (points.n_chips * points.batch / scored.latency_s)[index]
    power = power_w(question, scored)[index]
    hour = usd_per_h(question, scored, found=found, power=power)
    total = total_usd(question.wish, found)
    figures = {
        "images_per_s": rate, "latency_s": scored.latency_s[index], "power_w": power,
        "usd": found.usd, "usd_per_h": hour, "usd_per_image": hour / (rate * SECONDS_PER_H),
        "usd_total": total, "usd_needed": total, "headroom": 1 - scored.share[index],
    }  # fmt: skip
    return replace(table, figures=figures)


def _score(question: Question) -> ImageScored:
    """[kind, batch], then every number of chips."""
    way = question.ways[0]
    kinds = [question.kinds[place] for place in way.kinds]
    batches = np.array(BATCHES)
    memory = memory_of(question.arch, way.engine, kinds=kinds, batch=batches[None, :], wish=question.wish)
    able = np.broadcast_to(memory.need_bytes + memory.spare_bytes, (len(kinds), len(batches)))
    need = np.broadcast_to(memory.need_bytes, able.shape)
    latency = latency_s(question.arch, [kind.chip for kind in kinds], batches=BATCHES, wish=question.wish)
    counts = [np.array(kind.counts) for kind in kinds]
    row, column = np.nonzero(need <= able)
    times = np.array([len(counts[place]) for place in row], dtype=int)
    none = np.zeros(0, dtype=int)
    n_chips = np.concatenate([none, *(counts[place] for place in row)])
    row, column = np.repeat(row, times), np.repeat(column, times)
    short, wide = np.nonzero((need > able) & (batches == 1)[None, :])
    kind = np.asarray(way.kinds)
    return ImageScored(
        points=ImagePoints(
            way=np.zeros(len(row), dtype=int), kind=kind[row], n_chips=n_chips, batch=batches[column]
        ),
        latency_s=latency[row, column],
        share=need[row, column] / able[row, column],
        misfits=Misfits(
            way=np.zeros(len(short), dtype=int), kind=kind[short], chips=np.ones(len(short), dtype=int),
            need_bytes=need[short, wide], able_bytes=np.maximum(able[short, wide], 1.0),
        ),
    )  # fmt: skip


def memory_of(
    arch: Arch, engine: Engine, *, kinds: Sequence[Kind], batch: Numbers, wish: PlanWish
) -> ServingMemory:
    """Memory on each kind with so many samples at once; guidance doubles them."""
    drawer = _painter(arch, wish)
    passes = 1 if drawer is None else drawer.passes
    device = at(stacked([device_of(kind.card, engine) for kind in kinds]), (slice(None), None))
    serving = Serving(
        engine=engine_name(engine),
        weights=FORMAT,
        context_tok=wish.prompt_tok or TEXT_TOK,
        batch=batch * passes,
    )
    own = arch if drawer is None else drawer.denoiser
    return serving_memory(own, weigh(own, FORMAT), serving=serving, layout=Layout(), device=device)


def latency_s(arch: Arch, chips: Sequence[Chip], *, batches: Sequence[int], wish: PlanWish) -> Numbers:
    """[chip, batch]: seconds from samples to what is made of them."""
    drawer, run = _painter(arch, wish), ImageRun()
    if drawer is not None:
        return np.stack([paint(drawer, chips, run=run, batch=batch).total_s for batch in batches], axis=1)
    places = [place_of(chip, run.precision) for chip in chips]
    rates = image_rates(places, kinds=[arch_kind(arch)] * len(places), runs=[run] * len(places))
    work = work_of_arch(arch, tok=wish.prompt_tok or TEXT_TOK)
    return np.stack([forward(work, rates, batch=batch).total_s for batch in batches], axis=1)


def _painter(arch: Arch, wish: PlanWish) -> Painter | None:
    """The generator that the arch takes the noise away for; None for what only looks at images."""
    if arch.task != "image" or arch.name not in zoo.names():
        return None
    return painter(arch.name, image_px=wish.image_px or IMAGE_PX)


def _found(table: Table) -> Found:
    limits = limits_of(table.question, table.figures)
    beyond = excess_of(limits, len(table.options.index))
    keeps = np.flatnonzero(beyond <= 0)
    if not len(keeps):
        return _nearest(table, limits, beyond=beyond)
    figures = {name: column[keeps] for name, column in table.figures.items() if name != "usd_needed"}
    alike = table.scored.points.kind[table.options.index] * len(HOWS) + table.options.how
    wish = table.question.wish
    field = field_of(figures, alike=alike[keeps], told=wish.rate_per_s is not None)
    chosen = choose(field, wish)
    first = int(keeps[chosen[0].place])
    return Found(
        plans=tuple(_plan(table, int(keeps[one.place]), best_at=one.best_at) for one in chosen),
        rejections=rejections(table, limits, first=first, cost=field.main),
        looked_at=0,
        chips=0,
    )


def _nearest(table: Table, limits: Sequence[Limit], *, beyond: Numbers) -> Found:
    place = int(np.lexsort((table.figures["usd_per_h"], beyond))[0])
    return Found(
        plans=(), rejections=(), looked_at=0, chips=0,
        nearest=_plan(table, place), broken=broken(table, limits, place=place),
    )  # fmt: skip


def _nothing(table: Table) -> Found:
    misfits = table.scored.misfits
    nearest = np.argsort(misfits.need_bytes / misfits.able_bytes, kind="stable")[:1]
    return Found(
        plans=(), rejections=(), looked_at=0, chips=0,
        broken=tuple(too_small(table.question, misfits, place=int(place)) for place in nearest),
    )  # fmt: skip


def _plan(table: Table, place: int, *, best_at: Sequence[str] = ()) -> Plan:
    question, points = table.question, table.scored.points
    point = int(table.options.index[place])
    kind, way = question.kinds[int(points.kind[point])], question.ways[0]
    n_chips, batch = int(points.n_chips[point]), int(points.batch[point])
    memory = at(
        memory_of(question.arch, way.engine, kinds=[kind], batch=np.array([[batch]]), wish=question.wish),
        (0, 0),
    )
    supply = supply_of(question, kind, how=int(table.options.how[place]), n_chips=n_chips, replica=1)
    return Plan(
        chip=kind.chip,
        n_chips=n_chips,
        n_nodes=-(-n_chips // kind.per_node),
        layout=Layout(dp=n_chips),
        work=Serving(engine=engine_name(way.engine), weights=FORMAT, batch=batch * n_chips),
        concurrency=float(batch * n_chips),
        memory=(memory,),
        rank_bytes=rank_bytes_of(memory),
        room_bytes=float(device_of(kind.card, way.engine).free_bytes),
        figures=_told(table, place, kind=kind, supply=supply),
        supply=supply,
        bound="compute",
        reasons=reasons_of(best_at),
        notes=tuple(notes_of(supply, kind, n_chips=n_chips)),
    )


def _told(table: Table, place: int, *, kind: Kind, supply: Supply) -> dict[str, Estimate]:
    known = known_of_one(SUBJECT, kind.chip, kind=table.question.arch.task)
    slow, fast = (float(edge) for edge in band(SUBJECT, "images_per_s", known=known))
    width = price_width(supply.as_of, table.question.market.today) if supply.how != "own" else 0.0
    bands = {
        "images_per_s": (slow, fast), "latency_s": (1 / fast, 1 / slow), "headroom": (1.0, 1.0),
        "usd": (1 - width, 1 + width), "usd_per_h": (1 - width, 1 + width),
        "usd_total": (1 - width, 1 + width), "usd_per_image": ((1 - width) / fast, (1 + width) / slow),
    }  # fmt: skip
    found = {"power_w": power_of(table, place)}
    for name, (low, high) in bands.items():
        value = float(table.figures[name][place])
        if np.isfinite(value) and not (name == "usd" and supply.how != "buy"):
            found[name] = Estimate(
                value=value, low=value * low, high=value * high,
                mark=mark(SUBJECT, "images_per_s", known=known),
                as_of=supply.as_of if name.startswith("usd") else None,
            )  # fmt: skip
    return found
