"""A grid of questions to answers: each is the best plan as flat cells, or why there is none.

Questions are asked here, in processes, or on a Ray cluster; answers are kept as they come, and gathered in
the order of the grid.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

from rigright.arch.sources.open import open_model
from rigright.base.errors import AskError, MissingError, RigError, maybe
from rigright.base.extras import absent
from rigright.base.tables import DATA
from rigright.base.units import parse_count
from rigright.base.words import ENGLISH, say, tell
from rigright.demand import Serving
from rigright.facts import own_prices
from rigright.options.read import read_wish
from rigright.options.rows import options_of
from rigright.search.record import Plan, traffic_of
from rigright.sim.tally import Targets
from rigright.verbs.ordering import wish_of
from rigright.verbs.plan import plans
from rigright.verbs.planning.planned import Planned, row_of
from rigright.verbs.simulate.replicas import play
from rigright.verbs.sweep.sheet import (
    Answered,
    Cells,
    SweepQuestion,
    Swept,
    append_answer,
    journal_of,
    kept_answers,
    opened_journal,
    read_grid,
    stamp_of,
    write_answers,
)

_ANY = "auto"  # the cluster that Ray itself finds
_REACH_S = 5.0  # a cluster that answers no call within this is not there
_WAITING_A_CORE = 2  # tasks handed over at once, for each core


def answers_on_ray(
    work: Callable[[SweepQuestion], Answered], questions: Sequence[SweepQuestion], *, address: str
) -> Iterator[tuple[str, Answered]]:
    """Answers as they come, each with the node that gave it; what a lost node had is asked again."""
    ray = _joined(address)

    def ask(question: SweepQuestion) -> tuple[str, Answered]:
        node = import_module("ray").get_runtime_context().get_node_id()
        return f"node {node[:8]}", work(question)

    try:
        task = ray.remote(num_cpus=1, max_retries=3)(ask)
        most = max(int(ray.cluster_resources().get("CPU", 1)), 1) * _WAITING_A_CORE
        waiting: list[Any] = []
        for question in questions:
            if len(waiting) >= most:
                done, waiting = ray.wait(waiting)
                yield from ray.get(done)
            waiting.append(task.remote(question))
        while waiting:
            done, waiting = ray.wait(waiting)
            yield from ray.get(done)
    finally:
        ray.shutdown()


def _joined(address: str) -> Any:
    """The ray module, joined to the cluster."""
    try:
        ray = import_module("ray")
    except ImportError:
        raise absent("ray", say("--ray needs the package ray, which is not installed")) from None
    _reach(address)
    sends = {"py_modules": [str(DATA.parent)]}  # this very program
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", runtime_env=sends)
    except (ConnectionError, RuntimeError, ValueError) as error:
        why = str(error).strip().partition("\n")[0]
        raise MissingError(
            say("cannot join the Ray cluster at {address}: {why}", address=address, why=why)
        ) from None
    return ray


def _reach(address: str) -> None:
    """Ray waits minutes for a cluster that is not there; a plain call tells at once."""
    if address == _ANY:
        return
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit():
        raise AskError(say('"{address}" is not the address of a Ray cluster; use host:port', address=address))
    try:
        socket.create_connection((host, int(port)), timeout=_REACH_S).close()
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise MissingError(say("no answer from {address}: {why}", address=address, why=why)) from None


_Progress = Callable[[int, int], None]
MODEL, _PLAY, _SEED = "model", "play", "seed"
_MOST_REQUESTS = 100_000
_OPTIONS = frozenset(name for option in options_of("plan") for name in (option.name, *option.aliases))
WORDS = _OPTIONS | {MODEL, _PLAY, _SEED}
_TOGETHER = 10  # neighbours that one process answers, because they ask much the same
_ROUNDS = 4  # of each process at least, so that all of them end together


def sweep(
    grid: str,
    *,
    out: str | None = None,
    workers: int | None = None,
    on_ray: str | None = None,
    progress: _Progress | None = None,
) -> Swept:
    """Answer a grid of questions; with `out`, a sweep that was broken off goes on where it was."""
    began = time.monotonic()
    questions = read_grid(grid, known=WORDS)
    mark = stamp_of(questions)
    path = None if out is None else journal_of(out)
    done = {} if path is None else kept_answers(path, mark=mark)
    kept, places = len(done), Counter[str]()
    with nullcontext() if path is None else opened_journal(path, mark=mark, fresh=not done) as file:
        left = [question for question in questions if question.index not in done]
        for place, answered in _asked(left, workers=workers or os.cpu_count() or 1, on_ray=on_ray):
            done[answered.index] = replace(answered, cells=Cells(answered.cells))
            places[place] += 1
            if file is not None:
                append_answer(file, answered)
            if progress is not None:
                progress(len(done), len(questions))
    result = Swept(
        file=Path(grid).name,
        questions=questions,
        cells=tuple(done[question.index] for question in questions),
        kept=kept,
        places=places,
        out=out,
        seconds=time.monotonic() - began,
    )
    if out is not None:
        write_answers(result, out)
    if path is not None:
        path.unlink(missing_ok=True)
    return result


def _asked(
    questions: Sequence[SweepQuestion], *, workers: int, on_ray: str | None
) -> Iterator[tuple[str, Answered]]:
    """Answers as they come, each with the process or node that gave it."""
    work = partial(_priced, own_prices.used())
    if on_ray is not None and questions:
        yield from answers_on_ray(work, questions, address=on_ray)
    elif workers <= 1 or len(questions) <= 1:
        yield from map(partial(_here, work), questions)
    else:
        context = multiprocessing.get_context("spawn")
        size = max(1, min(_TOGETHER, len(questions) // (workers * _ROUNDS)))
        with ProcessPoolExecutor(min(workers, len(questions)), context, initializer=_deaf) as pool:
            yield from pool.map(partial(_here, work), questions, chunksize=size)


def _priced(prices: tuple[own_prices.NamedList, ...], question: SweepQuestion) -> Answered:
    """An answer with the user's own prices, also where another process gives it."""
    with own_prices.use(*prices):
        return answer(question)


def _here(work: Callable[[SweepQuestion], Answered], question: SweepQuestion) -> tuple[str, Answered]:
    return f"process {os.getpid()}", work(question)


def _deaf() -> None:
    """Ctrl-C is for the parent, which then stops its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def answer(question: SweepQuestion) -> Answered:
    """The first plan, or what comes nearest; a question that is wrong is answered with its error."""
    words = dict(question.words)
    cells = {"fits": ""}
    try:
        requests, seed = _requests(words)
        model, wish = words.pop(MODEL, ""), replace(wish_of(words), most_plans=1)
        plan = plans(model, wish=wish, beside=tuple(filter(None, map(_users_of, question.beside))))
        cells = {"fits": "yes" if plan.fits else "no"}
        why = "" if plan.fits else "; ".join(tell(rejection.reason, ENGLISH) for rejection in plan.broken)
        if plan.first is not None:
            cells |= row_of(plan.first)
            if requests:
                cells |= _played(plan, plan.first, requests=requests, seed=seed)
    except RigError as error:
        why = tell(error.whole, ENGLISH)
    return Answered(index=question.index, cells=cells, why=why)


def _requests(words: dict[str, str]) -> tuple[int, int]:
    """How many requests a question wants played (none: 0), and the seed; both leave the words."""
    asked, seed = words.pop(_PLAY, ""), words.pop(_SEED, "")
    requests = parse_count(asked) if asked else 0
    if requests > _MOST_REQUESTS:
        raise AskError(
            say("at most {most} requests can be simulated, got {asked}", most=_MOST_REQUESTS, asked=asked)
        )
    return requests, parse_count(seed) if seed else 0


def _played(result: Planned, plan: Plan, *, requests: int, seed: int) -> dict[str, str]:
    """Percentiles and goodput of the plan under its own load, one random arrival after another."""
    wish, work = result.wish, plan.work
    if plan.prefill is not None or not isinstance(work, Serving) or wish.output_tok is None:
        raise AskError(
            say("plans with separate prefill and decode workers cannot be simulated request by request")
        )
    arch = open_model(result.model_asked)
    tally = play(
        arch,
        plan,
        traffic=traffic_of(plan, wish, arch=arch),
        targets=Targets(ttft_s=wish.ttft_s, tpot_s=wish.tpot_s),
        seed=seed,
        requests=requests,
    )
    figures = {
        "played_ttft_s": tally.ttft_s.mean,
        "played_ttft_p95_s": tally.ttft_s.p95,
        "played_tpot_s": tally.tpot_s.mean,
        "played_tpot_p95_s": tally.tpot_s.p95,
        "played_tok_per_s": tally.output_tok_per_s,
        "played_good_share": tally.good_share,
    }
    return {name: f"{value:.6g}" for name, value in figures.items()}


@cache
def _users_of(text: str) -> float | None:
    """What a cell of users says; what cannot be read is stated where it is asked."""
    return maybe(lambda: read_wish({"users": text}).users)
