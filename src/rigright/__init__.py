"""The right rig for your model, and your rig set right.

Each verb of the command line is a function here: `rigright.explain("llama-3.1-70b", "8x h100")`.
It lives in `verbs/<name>.py`, or in `verbs/<name>/frame.py` once it outgrew a file, and is loaded when used.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"


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
