"""PyTorch's DataLoader: which number of workers, prefetch and pinning feed the most pictures here.

The data are packed pictures that are decoded and prepared in the worker, as a training set of images is.
First the workers are swept, then the other settings at the best number of them. Without PyTorch a
pool of processes prepares the same batches.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from rigright.base.words import say
from rigright.machine.bench import plain
from rigright.machine.bench.accelerator import accelerators
from rigright.machine.bench.ask import BenchRequest, Deadline
from rigright.machine.bench.figures import rate
from rigright.machine.bench.needs import NO_TORCH
from rigright.machine.bench.picture import packed, prepared, worker_counts
from rigright.machine.bench.record import Result, Skipped
from rigright.machine.bench.torched import has_pytorch, pytorch

TITLE = say("data loading: the best PyTorch DataLoader settings")
GROUP = "processor"
NEEDS = ("numpy",)
SHARE = 2.0

BATCH = 16
ROUND_S, QUICK_ROUND_S = 2.0, 0.3
BATCHES, QUICK_BATCHES = 4, 2  # of an epoch, at least
MOST_WORKERS = 32
ENOUGH = 1.03  # a setting must win by so much to be preferred to a simpler one


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderSetting:
    """What one may choose."""

    workers: int
    prefetch: int | None = 2  # batches a worker is ahead; None without workers
    pinned: bool = False
    lasting: bool = False  # workers outlive an epoch

    @property
    def words(self) -> tuple[tuple[str, str], ...]:
        """As the DataLoader calls them."""
        pair = (("num_workers", str(self.workers)), ("batch_size", str(BATCH)))
        if not self.workers:
            return pair
        fields = {
            "prefetch_factor": self.prefetch,
            "pin_memory": self.pinned,
            "persistent_workers": self.lasting,
        }
        return pair + tuple((name, str(value)) for name, value in fields.items())


def run(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """Every setting that is tried, then the best once more under its own name."""
    if not has_pytorch():
        yield from _without(ask)
        return
    until = Deadline.of(ask.spare_s)
    card = next(iter(accelerators(ask)), None)
    best: tuple[LoaderSetting, Result] | None = None
    tried, swept = 0, False
    todo = [LoaderSetting(workers=0, prefetch=None)]
    todo += [LoaderSetting(workers=count) for count in worker_counts(min(ask.cpus, MOST_WORKERS))]
    while todo and (best is None or not until.is_over()):
        setting = todo.pop(0)
        result = _measured(setting, quick=ask.quick, device=card.device if card else None)
        yield result
        tried += 1
        if best is None or result.value > best[1].value * ENOUGH:
            best = (setting, result)
        if not todo and not swept:
            swept = True
            todo = finer(best[0], has_card=card is not None)
    if todo:
        yield Skipped(part="", why=say("time ran out with {count} settings left", count=len(todo)))
    if best is not None and tried > 1:
        yield replace(best[1], what="best")


def _without(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """Processes of Python that prepare the same batches: how many of them are best."""
    until = Deadline.of(ask.spare_s)
    results: list[Result] = []
    for workers in (0, *worker_counts(min(ask.cpus, MOST_WORKERS))):
        if results and until.is_over():
            yield Skipped(part="", why=say("time ran out before {what}", what=f"{workers} workers"))
            break
        ends = Deadline.of(QUICK_ROUND_S if ask.quick else ROUND_S)
        batches = max(QUICK_BATCHES if ask.quick else BATCHES, 2 * workers)
        with plain.pool(workers) as executor:
            times = list(plain.epochs(executor, batches=batches, size=BATCH, until=ends.is_over))
        words = (*LoaderSetting(workers=workers).words[:2], plain.BY)
        what = f"{workers} workers"
        results.append(rate(what, on="cpu", work=1.0, times_s=times, unit="items_per_s", settings=words))
        yield results[-1]
    best = max(results, key=lambda result: result.value)
    yield replace(
        best, what="best", settings=tuple(setting for setting in best.settings if setting != plain.BY)
    )
    yield Skipped(part="", why=say("{what}: {why}", what="DataLoader", why=NO_TORCH))


def finer(setting: LoaderSetting, *, has_card: bool) -> list[LoaderSetting]:
    """The other choices at this number of workers: each once."""
    if not setting.workers:
        return []
    lasting = replace(setting, lasting=True)
    more = [lasting, replace(lasting, prefetch=4)]
    return [*more, replace(lasting, pinned=True)] if has_card else more


def _measured(setting: LoaderSetting, *, quick: bool, device: str | None) -> Result:
    """Samples a second over whole epochs, starts of workers included."""
    torch = pytorch()
    least = QUICK_BATCHES if quick else BATCHES

    class Pictures(torch.utils.data.Dataset):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            self.data = packed(0)

        def __len__(self) -> int:
            return BATCH * max(least, 2 * setting.workers)

        def __getitem__(self, index: int) -> Any:
            return torch.from_numpy(prepared(self.data))

    loader = torch.utils.data.DataLoader(
        Pictures(),
        batch_size=BATCH,
        num_workers=setting.workers,
        prefetch_factor=setting.prefetch,
        pin_memory=setting.pinned,
        persistent_workers=setting.lasting,
    )
    until = Deadline.of(QUICK_ROUND_S if quick else ROUND_S)
    times: list[float] = []
    _epoch(loader, device)
    while len(times) < 2 or not until.is_over():
        began = time.perf_counter()
        items = _epoch(loader, device)
        times.append((time.perf_counter() - began) / items)
    what = f"{setting.workers} workers" + "".join(f", {word}" for word in _marks(setting))
    return rate(what, on="cpu", work=1.0, times_s=times, unit="items_per_s", settings=setting.words)


def _marks(setting: LoaderSetting) -> list[str]:
    marks = {"persistent": setting.lasting, "pinned": setting.pinned}
    more = [f"prefetch {setting.prefetch}"] if setting.prefetch not in {None, 2} else []
    return [word for word, is_on in marks.items() if is_on] + more


def _epoch(loader: Any, device: str | None) -> int:
    """Take every batch, onto the card where there is one."""
    count = 0
    for batch in loader:
        if device is not None:
            batch.to(device, non_blocking=True)
        count += len(batch)
    return count
