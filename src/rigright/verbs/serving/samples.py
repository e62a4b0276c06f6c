"""How fast whole samples are looked at, made or learnt from: each card works alone, on its own share."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from rigright.arch.classifiers import classifier
from rigright.arch.read import read_config
from rigright.arch.record import Arch
from rigright.arch.sources import zoo
from rigright.arch.sources.painters import painter
from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.choice.case import Case
from rigright.choice.networks import PAINT, READ, Network, network_of, part_bytes, precisions
from rigright.cost.estimate import Estimate, over
from rigright.cost.images import ImageRun
from rigright.cost.layers import is_generator, takes_samples
from rigright.demand import Layout, Size, Training
from rigright.facts.nodes import Node
from rigright.predict.painted import BatchTime, Learning
from rigright.predict.samples import batch_time, learns_of, network_rates, network_speed, train_time
from rigright.predict.timed import SampleSpeed
from rigright.terms.fitted import wire_of

PARTS = ("compute", "memory", "fixed", "links")  # links: of a training
LEAST_SHARE = 0.002  # of a training step: what takes less is not stated
SMALLEST, LARGEST = 16, 8192


def sample_speed(case: Case) -> SampleSpeed | None:
    """Samples a second of all cards; None where the law knows neither such numbers nor such a network."""
    precision = precisions(case.arch).get(case.serving.weights)
    if precision is None or not takes_samples(case.arch):
        return None
    network = network_of(
        case.arch, picture=case.picture, length=case.length, steps=case.steps,
        tok=case.serving.context_tok, waits=case.serving.parts_wait,
    )  # fmt: skip
    each = max(int(np.ceil(case.serving.batch / len(case.cards))), 1)
    run = ImageRun(precision=precision, compiled=case.serving.compiled)
    rate, time = _speed(case, network, run=run, each=each)
    if rate is None:
        return None
    compiled = None
    if network.does != READ:
        compiled, _ = _speed(case, network, run=replace(run, compiled=True), each=each)
    return _sampled(
        network, rate, each=each, cards=len(case.cards), compiled=compiled, made=network.does == PAINT,
        parts_s=tuple((part, _at(getattr(time, f"{part}_s"))) for part in PARTS[:-1]),
        steps=network.steps,
        length_tok=network.tok if network.does == READ else None,
        beside_bytes=sum(part_bytes(network, case.serving.weights).values()),
        waits=network.waits,
    )  # fmt: skip


def learning_speed(
    arch: Arch, training: Training, *, layout: Layout, node: Node, picture: Size | None
) -> SampleSpeed | None:
    """Images learnt from a second, gradients summed; None where texts are read, or layers are cut."""
    cut = layout.tp * layout.pp * layout.cp > 1
    if cut or not takes_samples(arch):
        return None
    network = network_of(arch, picture=picture)
    if network.does == READ:
        return None
    run = ImageRun(precision="fp32" if training.precision == "fp32" else "16bit")
    chips = tuple(dict.fromkeys(card.chip for card in node.cards))
    rates = network_rates(network, chips, run=run, trains=True)
    learns = learns_of(arch, training)
    learning = Learning(ranks=layout.dp, wire=wire_of(chips), learns=learns)
    each, cards = int(training.micro_batch), int(layout.dp)
    time = train_time(network, rates, batch=each, learning=learning)
    slowest = int(np.argmax(np.broadcast_to(time.total_s, len(chips))))
    step_s = _at(time.total_s, slowest)
    if not np.isfinite(step_s):
        return None
    value = each * cards / step_s
    rate = network_speed(network, chips[slowest], value=value, trains=True, learns=learns)
    parts = {part: _at(getattr(time, f"{part}_s"), slowest) for part in PARTS}
    shown = tuple((part, size) for part, size in parts.items() if size > LEAST_SHARE * step_s)
    return _sampled(network, rate, each=each, cards=cards, compiled=None, made=False, parts_s=shown)


def _sampled(network: Network, rate: Estimate, *, each: int, cards: int, **more: Any) -> SampleSpeed:
    """A rate of all cards, and the seconds of a batch of them all."""
    drawn = network.painter
    return SampleSpeed(
        unit=network.unit,
        batch_per_card=each,
        cards=cards,
        rate=rate,
        batch_s=over(each * cards, rate),
        picture=network.size,
        frames=None if drawn is None or not drawn.net.fps else drawn.frames,
        seconds=None if drawn is None else drawn.seconds,
        given=0 if drawn is None else drawn.net.given,
        **more,
    )


def _speed(case: Case, network: Network, *, run: ImageRun, each: int) -> tuple[Estimate | None, BatchTime]:
    """What all cards come to, unlike ones too, and the time of the first; None: a chip has no rate."""
    form, engine = case.serving.weights, case.engine.id
    alike = Counter(card.chip for card in case.cards)  # each card works alone: the first is of the first
    times = [
        batch_time(network, network_rates(network, (chip,), run=run, form=form, engine=engine), batch=each)
        for chip in alike
    ]
    estimates = [
        network_speed(network, chip, value=each / _at(time.total_s), engine=engine)
        for chip, time in zip(alike, times, strict=True)
    ]
    value, low, high = (
        sum(
            getattr(estimate, name) * count for estimate, count in zip(estimates, alike.values(), strict=True)
        )
        for name in ("value", "low", "high")
    )
    if not np.isfinite(value):
        return None, times[0]
    least = max(estimates, key=lambda estimate: estimate.high / estimate.low)
    return Estimate(value=value, low=low, high=high, mark=least.mark), times[0]


def _at(values: object, place: int = 0) -> float:
    """A figure of a chip; one that all share stands alone."""
    result = np.atleast_1d(np.asarray(values, dtype=float))
    return float(result[min(place, len(result) - 1)])


def resized(arch: Arch, picture: Size) -> Arch:
    """The model reading pictures of such a size: its config is read again with that size."""
    sides = picture.height_px, picture.width_px
    if min(sides) < SMALLEST or max(sides) > LARGEST:
        raise AskError(say("image size must be {least} to {most} pixels", least=SMALLEST, most=LARGEST))
    named = classifier(arch.name, image_px=sides[0]) if sides[0] == sides[1] else None
    if named is not None:
        return named
    if zoo.exact(arch.name) is None or arch.task not in {"vision", "image"}:
        raise AskError(say("{model}: --image-size works for known image models only", model=arch.name))
    if is_generator(arch):
        return painter(arch.name, sides=(picture.width_px, picture.height_px)).arch
    return read_config(
        {**zoo.config(arch.name), "image_size": sides[0] if sides[0] == sides[1] else list(sides)}, arch.name
    )
