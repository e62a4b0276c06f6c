"""Chunks of arrays that stay in cache, shared out to two threads where there are many."""

from __future__ import annotations

from collections.abc import Callable

CHUNK = 16384  # layouts whose arrays stay in cache; with fewer, two threads wait for each other
THREADS = 2
FEW = 4  # chunks that no second thread is worth starting for


def each_chunk(size: int, task: Callable[[slice], None]) -> None:
    """Do a task for every chunk; each writes to places of its own, so their order does not matter."""
    chunks = [slice(start, start + CHUNK) for start in range(0, size, CHUNK)]
    if len(chunks) < FEW:
        for chunk in chunks:
            task(chunk)
        return
    from threading import Thread

    failed: list[BaseException] = []

    def work(mine: list[slice]) -> None:
        try:
            for chunk in mine:
                task(chunk)
        except BaseException as error:  # noqa: BLE001 - raised again where it can be heard
            failed.append(error)

    threads = [Thread(target=work, args=(chunks[one::THREADS],)) for one in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
