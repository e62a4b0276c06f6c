"""`python -m rigright`: a Ctrl-C while the program is being loaded is quiet too."""

import os
import sys
import threading
from contextlib import suppress


def main() -> int:
    """Answer the command line."""
    try:
        from rigright.faces.cli.main import main as answer

        code = answer()
    except KeyboardInterrupt:
        code = 130
    others = threading.enumerate()[1:]
    if others and all(one.daemon for one in others):
        # they still read the machine, or wait for a driver that hangs: to take the interpreter apart
        # beneath them can end in a crash
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
