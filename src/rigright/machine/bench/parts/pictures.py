"""Preparing data on the processor: how it grows with worker processes, and what feeds the most pictures here.

The data are packed pictures that are decoded and prepared in the worker, as a training set of images is; and
tables of numbers. Of PyTorch's DataLoader first the workers are swept, then the other settings at the best
number of them. Without PyTorch a pool of processes prepares the same batches.
"""

from __future__ import annotations

import csv
import io
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from multiprocessing import get_context
from typing import Any

from rigright.base.words import say
from rigright.machine.bench.accelerator import BY_NUMPY, accelerators, has_pytorch, pytorch
from rigright.machine.bench.record import BenchRequest, Result, Settings, Skipped
from rigright.machine.bench.table import NO_TORCH
from rigright.machine.bench.tasks import Deadline, Task, measure, rate, spread, timed

ROWS, COLUMNS = 4000, 12  # of a table
PICTURES = 24
_ROUND_S, QUICK_ROUND_S = 1.5, 0.2
SIDE, _CHANNELS = 512, 3  # of a picture

BATCH = 16
_EPOCHS_S, QUICK_EPOCHS_S = 2.0, 0.3
_BATCHES, QUICK_BATCHES = 4, 2  # of an epoch, at least
_MOST_WORKERS = 32
ENOUGH = 1.03  # a setting must win by so much to be preferred to a simpler one


def packed(seed: int, side: int = SIDE) -> bytes:
    """A picture as PNG packs it: differences to the left neighbour, deflated."""
    import numpy as np

    source = np.random.default_rng(seed)
    across = np.linspace(0, 255, side)
    smooth = (across[None, :, None] + across[:, None, None] + source.integers(0, 24, (side, side, 3))) % 256
    rows = smooth.astype(np.uint8)
    differences = rows.copy()
    differences[:, 1:] -= rows[:, :-1]
    return zlib.compress(differences.tobytes(), 6)


def decoded(data: bytes, side: int = SIDE) -> Any:
    """Its pixels, by rows and columns."""
    import numpy as np

    differences = np.frombuffer(zlib.decompress(data), np.uint8).reshape(side, side, _CHANNELS)
    return np.cumsum(differences, axis=1, dtype=np.uint8)


def prepared(data: bytes) -> Any:
    """What a network is fed: decoded, every second pixel, channels first, about zero."""
    pixels = decoded(data)[::2, ::2].transpose(2, 0, 1)
    return (pixels.astype("float32") / 255.0 - 0.45) / 0.225


_picture = cache(packed)  # made when it is first asked for


def worker_counts(most: int) -> list[int]:
    """How many workers are tried: 1, 2, 4 ... and all."""
    return sorted({*(2**power for power in range(10) if 2**power < most), most})


# ---- parsing and decoding, by number of workers


def preprocess(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """One worker, then twice as many each time, and how well it scales."""
    counts = worker_counts(ask.cpus)
    counts = [counts[0], counts[-1]] if ask.quick and len(counts) > 2 else counts
    round_s = QUICK_ROUND_S if ask.quick else _ROUND_S
    tasks = [
        Task(
            what=f"{workers} workers",
            on="cpu",
            run=partial(_job_rates, workers=workers, round_s=round_s),
            always=workers == 1,
        )
        for workers in counts
    ]
    figures: dict[str, dict[str, float]] = {name: {} for name in _JOBS}
    for item in measure(tasks, Deadline.of(ask.spare_s)):
        if isinstance(item, Result):
            figures[item.what.partition(",")[0]][dict(item.settings)["workers"]] = item.value
        yield item
    for name, values in figures.items():
        most = max(map(int, values), default=1)
        if most > 1:
            share = values[str(most)] / values["1"] / most
            yield spread(f"{name}, scaling at {most} workers", on="cpu", values=[share], unit="ratio")


def _job_rates(_spare_s: float, *, workers: int, round_s: float) -> Iterator[Result]:
    """Times of rounds in which every worker does the job once."""
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as executor:
        for name, (job, items, unit) in _JOBS.items():
            list(executor.map(job, range(workers * 2)))
            rounds = partial(_all_work, executor, job=job, workers=workers)
            yield rate(
                f"{name}, {workers} workers",
                work=float(items * workers),
                times_s=timed(rounds, Deadline.of(round_s)),
                unit="items_per_s",
                settings=(("workers", str(workers)), ("item", unit)),
            )


def _all_work(executor: Executor, *, job: Callable[[int], int], workers: int) -> None:
    list(executor.map(job, range(workers)))


def parse(_seed: int) -> int:
    """Read one table and turn its cells to numbers."""
    line = ",".join(f"{column * 1.37:.4f}" for column in range(COLUMNS))
    text = f"{line}\n" * ROWS  # as a file would hold them
    return sum(len([float(cell) for cell in row]) for row in csv.reader(io.StringIO(text)))


def decode(seed: int) -> int:
    """Decode some pictures and prepare them."""
    data = _picture(seed % 2)
    return sum(prepared(data).shape[0] for _ in range(PICTURES))


_JOBS: dict[str, tuple[Callable[[int], int], int, str]] = {
    "csv": (parse, ROWS, "rows"),
    "pictures": (decode, PICTURES, "pictures of 512x512"),
}


# ---- the settings of a loader


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderSetting:
    """What one may choose."""

    workers: int
    prefetch: int | None = 2  # batches a worker is ahead; None without workers
    pinned: bool = False
    lasting: bool = False  # workers outlive an epoch

    @property
    def words(self) -> Settings:
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

    @property
    def name(self) -> str:
        """What makes it another setting than the usual one."""
        marks = {"persistent": self.lasting, "pinned": self.pinned}
        words = [word for word, is_on in marks.items() if is_on]
        words += [f"prefetch {self.prefetch}"] if self.prefetch not in {None, 2} else []
        return ", ".join((f"{self.workers} workers", *words))


def data_loader(ask: BenchRequest) -> Iterator[Result | Skipped]:
    """Every setting that is tried, then the best once more under its own name."""
    counts = (0, *worker_counts(min(ask.cpus, _MOST_WORKERS)))
    settings = [LoaderSetting(workers=count, prefetch=2 if count else None) for count in counts]
    until, tried = Deadline.of(ask.spare_s), dict[LoaderSetting, Result]()
    if has_pytorch():
        card = next(iter(accelerators(ask)), None)
        run = partial(_loader_rate, quick=ask.quick, device=card.device if card else None)
        yield from _try(settings, run, tried=tried, until=until)
        yield from _try(finer(_best(tried), has_card=card is not None), run, tried=tried, until=until)
    else:
        yield from _try(settings, partial(_pool_rate, quick=ask.quick), tried=tried, until=until)
        yield Skipped(part="", why=say("{what}: {why}", what="DataLoader", why=NO_TORCH))
    if len(tried) > 1:
        best = tried[_best(tried)]
        words = tuple(pair for pair in best.settings if pair != BY_NUMPY)
        yield replace(best, what="best", settings=words)


def _try(
    settings: Sequence[LoaderSetting],
    run: Callable[..., Iterable[Result]],
    *,
    tried: dict[LoaderSetting, Result],
    until: Deadline,
) -> Iterator[Result | Skipped]:
    """Measure these settings too; without workers however late it is."""
    names = {setting.name: setting for setting in settings}
    tasks = [
        Task(what=name, on="cpu", run=partial(run, setting=setting), always=not setting.workers)
        for name, setting in names.items()
    ]
    for item in measure(tasks, until):
        if isinstance(item, Result):
            tried[names[item.what]] = item
        yield item


def _best(tried: dict[LoaderSetting, Result]) -> LoaderSetting:
    """The simplest of those that none beats clearly."""
    best, *others = tried
    for setting in others:
        if tried[setting].value > tried[best].value * ENOUGH:
            best = setting
    return best


def finer(setting: LoaderSetting, *, has_card: bool) -> list[LoaderSetting]:
    """The other choices at this number of workers: each once."""
    if not setting.workers:
        return []
    lasting = replace(setting, lasting=True)
    more = [lasting, replace(lasting, prefetch=4)]
    return [*more, replace(lasting, pinned=True)] if has_card else more


def _loader_rate(
    _spare_s: float, *, setting: LoaderSetting, quick: bool, device: str | None
) -> Iterator[Result]:
    """Samples a second over whole epochs, starts of workers included."""
    torch = pytorch()
    batches = _batches(setting, quick=quick)

    class Pictures(torch.utils.data.Dataset):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            self.data = packed(0)

        def __len__(self) -> int:
            return BATCH * batches

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

    def epoch() -> int:
        """Take every batch, onto the card where there is one."""
        count = 0
        for batch in loader:
            if device is not None:
                batch.to(device, non_blocking=True)
            count += len(batch)
        return count

    yield _epoch_rate(epoch, setting.words, quick=quick)


def _pool_rate(_spare_s: float, *, setting: LoaderSetting, quick: bool) -> Iterator[Result]:
    """Processes of Python that prepare the same batches; without workers the program does it itself."""
    batches = _batches(setting, quick=quick)
    with pool(setting.workers) as executor:
        yield _epoch_rate(
            lambda: sum(executor.map(batch, [BATCH] * batches)), (*setting.words[:2], BY_NUMPY), quick=quick
        )


def pool(workers: int) -> Executor:
    """Processes that prepare batches; without workers the program does it between its steps."""
    if not workers:
        return ThreadPoolExecutor(1)
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"))


def batch(size: int) -> int:
    """One batch of pictures, decoded and prepared."""
    return len([prepared(_picture(0)) for _ in range(size)])


def _batches(setting: LoaderSetting, *, quick: bool) -> int:
    return max(QUICK_BATCHES if quick else _BATCHES, 2 * setting.workers)


def _epoch_rate(epoch: Callable[[], int], settings: Settings, *, quick: bool) -> Result:
    """Pictures a second, an epoch at a time; the first, in which processes start, is not counted."""
    epoch()
    until = Deadline.of(QUICK_EPOCHS_S if quick else _EPOCHS_S)
    times: list[float] = []
    while len(times) < 2 or not until.is_over():
        began = time.perf_counter()
        items = epoch()
        times.append((time.perf_counter() - began) / items)
    return rate(work=1.0, times_s=times, unit="items_per_s", settings=settings)
