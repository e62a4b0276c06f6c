"""The right rig for your model, and your rig set right.

Each verb of the command line is a function here: `rigright.explain("llama-3.1-70b", "8x h100")`.
It lives in `verbs/<name>.py`, or in `verbs/<name>/frame.py` once it outgrew a file, and is loaded when used.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

__version__ = "0.1.0"
_ASKS = Path(__file__).parent / "faces" / "cli" / "asks"


class _Package(ModuleType):
    """The package: where a room bears the name of a verb (`doctor`, `export`), the name means the verb.

    Importing a room would put the room there.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        """All but such a room."""
        if not (isinstance(value, ModuleType) and (_ASKS / f"{name}.py").exists()):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __getattr__(name: str) -> Any:
    """A verb, on first use."""
    from importlib import import_module

    if name.startswith("_") or name not in __dir__():
        raise AttributeError(f"rigright has no {name!r}; it has {', '.join(__dir__())}")
    home = import_module(f"rigright.verbs.{name}")
    verb = getattr(home, name, None) or getattr(import_module(f"{home.__name__}.frame"), name)
    globals()[name] = verb
    return verb


def __dir__() -> list[str]:
    """The version and every verb."""
    from rigright.base import shelf

    return ["__version__", *shelf.names("rigright.faces.cli.asks")]
