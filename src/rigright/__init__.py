"""Plan, check and measure hardware for deep learning.

Each verb of the command line is a function here, loaded when used, and its options are named arguments:
`rigright.explain("llama-3.1-70b", on="8x h100")`. What it calls, with typed wishes instead of words, lives
in `verbs/<name>.py`, or in `verbs/<name>/verb.py` once it outgrew a file.
"""

from __future__ import annotations

import os  # not pathlib: the child that asks drivers shall be up at once
import sys
from types import ModuleType

TYPE_CHECKING = False  # `typing` takes 6 ms, and a Ctrl-C in them is not ours yet
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"
_ERRORS = ("RigError", "AskError", "DataError", "MissingError")  # the first is that of all
_ASKS = f"{__path__[0]}/faces/cli/asks"


class _Package(ModuleType):
    """The package: where a room bears the name of a verb (`doctor`, `export`), the name means the verb.

    Importing a room would put the room there.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        """All but such a room."""
        if not (isinstance(value, ModuleType) and os.access(f"{_ASKS}/{name}.py", os.F_OK)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    """A verb, on first use, or the class of an error."""
    if name in _ERRORS:
        from rigright.base import errors

        return getattr(errors, name)
    if name.startswith("_") or name not in __dir__():
        raise AttributeError(f"rigright has no {name!r}; it has {', '.join(__dir__())}")
    from rigright.faces.python import function

    verb: Any = function(name)
    if name == "watch":  # which does not answer, but goes on
        from rigright.verbs.watch.verb import watch as verb
    globals()[name] = verb
    return verb


def __dir__() -> list[str]:
    """The version, the errors and every verb."""
    from rigright.base import shelf

    return ["__version__", *_ERRORS, *shelf.names("rigright.faces.cli.asks")]
