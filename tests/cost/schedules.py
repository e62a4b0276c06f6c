"""Pipelines played operation by operation: each stage does one thing at a time, in the order of its schedule.

Written from the papers that name the schedules (GPipe, PipeDream-Flush, Megatron's interleaving, zero-bubble
H1), and not from our law: what the law is held against.
"""

from __future__ import annotations

FORWARD, BACKWARD, WEIGHTS = "F", "B", "W"


def makespan(orders, seconds, *, stages, chunks=1):
    """When the last operation ends. `orders`: for each stage, its (kind, micro, chunk) in turn."""
    ended, clocks, places = {}, [0.0] * stages, [0] * stages
    while any(place < len(order) for place, order in zip(places, orders, strict=True)):
        moved = False
        for stage, order in enumerate(orders):
            while places[stage] < len(order):
                operation = order[places[stage]]
                needed = needs(operation, stage, stages=stages, chunks=chunks)
                if any(one not in ended for one in needed):
                    break
                start = max([clocks[stage], *(ended[one] for one in needed)])
                clocks[stage] = ended[(*operation, stage)] = start + seconds[operation[0]] / chunks
                places[stage] += 1
                moved = True
        assert moved, "a schedule that waits for itself"
    return max(clocks)


def needs(operation, stage, *, stages, chunks):
    """What has to be done before, on which stage."""
    kind, micro, chunk = operation
    if kind == WEIGHTS:
        return [(BACKWARD, micro, chunk, stage)]
    if kind == FORWARD:
        if stage:
            return [(FORWARD, micro, chunk, stage - 1)]
        return [(FORWARD, micro, chunk - 1, stages - 1)] if chunk else []
    if stage < stages - 1:
        return [(BACKWARD, micro, chunk, stage + 1)]
    if chunk < chunks - 1:
        return [(BACKWARD, micro, chunk + 1, 0)]
    return [(FORWARD, micro, chunk, stage)]


def gpipe(stages, micros):
    forward = [(FORWARD, micro, 0) for micro in range(micros)]
    return [[*forward, *((BACKWARD, micro, 0) for micro in range(micros))] for _ in range(stages)]


def one_f_one_b(stages, micros):
    return [_alternate(micros, micros, warm=min(stages - stage - 1, micros)) for stage in range(stages)]


def interleaved(stages, micros, chunks):
    """Megatron's order; micro-batches are a multiple of the stages."""
    orders = []
    for stage in range(stages):
        total = micros * chunks
        warm = min((stages - stage - 1) * 2 + (chunks - 1) * stages, total)
        plain = _alternate(total, total, warm=warm)
        orders.append([_virtual(kind, turn, stages=stages, chunks=chunks) for kind, turn, _ in plain])
    return orders


def _alternate(forwards, backwards, *, warm):
    order = [(FORWARD, turn, 0) for turn in range(warm)]
    for turn in range(forwards - warm):
        order += [(FORWARD, warm + turn, 0), (BACKWARD, turn, 0)]
    return [*order, *((BACKWARD, turn, 0) for turn in range(forwards - warm, backwards))]


def _virtual(kind, turn, *, stages, chunks):
    group, place = divmod(turn, stages * chunks)
    chunk = place // stages
    return kind, group * stages + place % stages, chunk if kind == FORWARD else chunks - 1 - chunk


def zero_bubble(stages, micros):
    """H1: gradients of weights fill what would be waiting; no stage keeps more than 1F1B lets it keep."""
    orders = []
    for stage in range(stages):
        warm, after = min(stages - stage - 1, micros), stage
        order = [(FORWARD, turn, 0) for turn in range(warm)]
        weights = 0
        for turn in range(micros):
            if warm + turn < micros:
                order.append((FORWARD, warm + turn, 0))
            order.append((BACKWARD, turn, 0))
            if turn >= after:
                order.append((WEIGHTS, weights, 0))
                weights += 1
        orders.append([*order, *((WEIGHTS, turn, 0) for turn in range(weights, micros))])
    return orders
