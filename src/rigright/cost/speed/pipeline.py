"""What stages that work one after another gain, and what their micro-batches lose to the slowest of them."""

from __future__ import annotations

import numpy as np

from rigright.cost.speed.rates import Rates
from rigright.cost.speed.work import PassWork
from rigright.demand import Layout, Numbers

LEAST = 1e-30  # nothing over nothing is nothing


def pipeline_gain(work: PassWork, rates: Rates, *, cards: Numbers, passes: Numbers) -> Numbers:
    """How much sooner a prompt is done because several cards work on passes of it at once."""
    ideal = passes * cards / (passes + cards - 1)
    return 1 + (ideal - 1) * _piped_share(work, rates)


def _piped_share(work: PassWork, rates: Rates) -> Numbers:
    """The part of a pipeline's gain that prompts get: less of it where more weights are unpacked first."""
    unpacked = sum(gemm.elems for gemm in work.gemms if gemm.narrow) / rates.piped_elems
    return rates.piped / (1 + unpacked * unpacked)


def overlap_of(work: PassWork, rates: Rates) -> Numbers:
    """How far micro-batches go on at once in a pipeline, 0 to 1: as runs told, and in servers wholly."""
    return np.where(np.asarray(rates.hop_s) > 0, _piped_share(work, rates), 1.0)


def micro_seqs(running: Numbers, layout: Layout, *, rates: Rates) -> Numbers:
    """Sequences of one pass: a pipeline shares them out over its stages, and cuts none in parts.

    Stages that take turns with one processor have all of them in a pass: no stage goes on meanwhile.
    """
    stages = layout.pp if rates.host is None else 1
    return np.maximum(running / stages, np.minimum(running, 1))


def apart_of(work: PassWork, rates: Rates, *, passes: Numbers, prompts: Numbers, room: Numbers) -> Numbers:
    """By how much less others' prompts hold a token up where so many `passes` are at work side by side.

    `prompts`: those that come to each of them, on average; `room`: the most that one takes.
    """
    mean = np.minimum(prompts, room)
    even = passes * mean / fullest(mean, room=room, passes=passes)
    return 1 + (even - 1) * overlap_of(work, rates)


def fullest(prompts: Numbers, *, room: Numbers, passes: Numbers) -> Numbers:
    """Prompts in the fullest pass of a round, whose pace all others keep: no pass overtakes another.

    Each stage has a pass under way, and chance says to which of them prompts come. Few prompts: one pass has
    any, and each of them is waited for by all. Many: all have nearly as many, and the fullest a little more.
    A prompt longer than a pass comes in pieces, one a pass.
    """
    piece = np.minimum(room, 1.0)
    mean = prompts / piece
    few, many = (passes - 1) * mean, most_of(passes) * np.sqrt(mean)
    more = few * many / np.maximum(np.hypot(few, many), LEAST)
    return np.minimum((mean + more) * piece, room)


def most_of(count: Numbers) -> Numbers:
    """The most of so many normal draws, in standard deviations."""
    return 0.82 * np.log(np.asarray(count, dtype=float)) ** 0.75
