"""The same work with NumPy alone, for a Python without PyTorch: a transformer, a weights file, a loader."""

from __future__ import annotations

import mmap
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from rigright.base.bounded import bounded_json
from rigright.machine.bench.picture import packed, prepared

BY = ("library", "NumPy")  # of the settings of such a result
HEADS, LAYERS, INNER = 8, 6, 4  # of PyTorch's own Transformer; the inner layer in widths
PAGE_BYTES = 4096


def transformer(tokens: int, width: int) -> Callable[[], Any]:
    """One pass through encoder and decoder, in fp32."""
    import numpy as np

    source = np.random.default_rng(0)

    def weights(rows: int, columns: int) -> Any:
        return source.standard_normal((rows, columns), np.float32) * np.float32(rows**-0.5)

    def layer(*, crosses: bool) -> tuple[list[Any], list[Any]]:
        attentions = [[weights(width, width) for _ in range(4)] for _ in range(2 if crosses else 1)]
        return attentions, [weights(width, INNER * width), weights(INNER * width, width)]

    encoder, decoder = ([layer(crosses=crosses) for _ in range(LAYERS)] for crosses in (False, True))
    inputs, targets = (source.standard_normal((tokens, width), np.float32) for _ in range(2))

    def once() -> Any:
        memory = inputs
        for layers, crosses in ((encoder, False), (decoder, True)):
            hidden = targets if crosses else inputs
            for attentions, (rising, falling) in layers:
                for number, attention in enumerate(attentions):
                    hidden = _even(
                        hidden + _attended(hidden, memory if number else hidden, weights=attention)
                    )
                hidden = _even(hidden + np.maximum(hidden @ rising, 0) @ falling)
            memory = hidden
        return memory

    return once


def _attended(asks: Any, about: Any, *, weights: list[Any]) -> Any:
    """Attention of several heads."""
    import numpy as np

    tokens, width = asks.shape

    def heads(values: Any, matrix: Any) -> Any:
        return (values @ matrix).reshape(tokens, HEADS, width // HEADS).transpose(1, 0, 2)

    queries, keys, values = heads(asks, weights[0]), heads(about, weights[1]), heads(about, weights[2])
    scores = queries @ keys.transpose(0, 2, 1) * np.float32((width / HEADS) ** -0.5)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    return (shares @ values).transpose(1, 0, 2).reshape(tokens, width) @ weights[3]


def _even(values: Any) -> Any:
    """Layer normalisation."""
    import numpy as np

    middle = values - values.mean(-1, keepdims=True)
    return middle / np.sqrt((middle * middle).mean(-1, keepdims=True) + np.float32(1e-5))


def spans(path: Path) -> tuple[int, list[tuple[int, int]]]:
    """Where the tensors of a file with a JSON head begin, and from where to where each lies behind that."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        head = bounded_json(file.read(length))
    return 8 + length, [tuple(value["data_offsets"]) for value in head.values()]


def touched(path: Path) -> int:
    """Every tensor of such a file through a memory map, each page used once."""
    import numpy as np

    begin, places = spans(path)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
        numbers = np.frombuffer(whole, np.uint8)
        number = sum(int(numbers[begin + first : begin + last : PAGE_BYTES].max()) for first, last in places)
        del numbers
    return number


def copied(path: Path) -> int:
    """Every tensor of such a file read into memory of its own."""
    begin, places = spans(path)
    with path.open("rb", buffering=0) as file:
        return sum(_filled(file, begin + first, size=last - first) for first, last in places)


def _filled(file: Any, at: int, *, size: int) -> int:
    file.seek(at)
    buffer = memoryview(bytearray(size))
    done = 0
    while done < size and (count := file.readinto(buffer[done:])):
        done += count
    return done


def pool(workers: int) -> Executor:
    """Processes that prepare batches; without workers the program does it between its steps."""
    if not workers:
        return ThreadPoolExecutor(1)
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"))


def batch(size: int) -> int:
    """One batch of pictures, decoded and prepared."""
    data = _picture()
    return len([prepared(data) for _ in range(size)])


@cache
def _picture() -> bytes:
    return packed(0)


def epochs(executor: Executor, *, batches: int, size: int, until: Callable[[], bool]) -> Iterator[float]:
    """Seconds a picture, an epoch at a time; the first, in which processes start, is not stated."""
    list(executor.map(batch, [size] * batches))
    number = 0
    while number < 2 or not until():
        began = time.perf_counter()
        items = sum(executor.map(batch, [size] * batches))
        number += 1
        yield (time.perf_counter() - began) / items
