"""`python -m rigright`: a Ctrl-C is quiet while the program is loaded, while it works and at its end."""

import _thread
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import Any

EXIT_INTERRUPT = 130


def main() -> int:
    """Answer the command line."""
    hears = callable(signal.getsignal(signal.SIGINT))  # who started us may have made us deaf to it
    if hears:
        signal.signal(signal.SIGINT, _leave)  # nothing is begun yet that would have to be ended
    try:
        from rigright.faces.cli.main import main as answer

        sys.unraisablehook = _again
        if hears:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        code = answer()
    except KeyboardInterrupt:
        code = EXIT_INTERRUPT
    if hears:
        signal.signal(signal.SIGINT, _leave)
    others = threading.enumerate()[1:]
    if others and all(thread.daemon for thread in others):
        # they still read the machine, or wait for a driver that hangs: to take the interpreter apart
        # beneath them can end in a crash
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    return code


def _leave(*_: object) -> None:
    os._exit(EXIT_INTERRUPT)


def _repeat() -> None:
    time.sleep(0.01)  # until that code is left
    os.kill(os.getpid(), signal.SIGINT)


def _again(unraisable: Any) -> None:
    """Hear a Ctrl-C once more that met code of which Python drops every error."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        _thread.start_new_thread(_repeat, ())
    else:
        sys.__unraisablehook__(unraisable)


if __name__ == "__main__":
    sys.exit(main())
