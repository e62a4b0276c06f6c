"""Breaking off: Ctrl-C, or the polite end that a scheduler sends, stops the measuring and loses no figure."""

from __future__ import annotations

import signal
import threading
from typing import Any, Self


class Stop:
    """The first signal interrupts, unless figures are being kept; those after it wait until all is done."""

    def __init__(self) -> None:
        self.waits = False  # figures are being kept: nothing may interrupt
        self._heard = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        """Listen, where signals can be listened to; one that is ignored (nohup) stays ignored."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._stop)
        return self

    def __exit__(self, *error: object) -> None:
        """As it was before."""
        for number, before in self._before.items():
            signal.signal(number, before)

    def _stop(self, _number: int, _frame: object) -> None:
        first, self._heard = not self._heard, True
        if first and not self.waits:
            raise KeyboardInterrupt
