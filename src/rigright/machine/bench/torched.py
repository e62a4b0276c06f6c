"""PyTorch, loaded by name: an extra that only a child process ever loads."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any


def pytorch(part: str = "") -> Any:
    """PyTorch, or a part of it: "distributed"."""
    return import_module(f"torch.{part}" if part else "torch")


def has_pytorch() -> bool:
    """Whether this Python has it."""
    return find_spec("torch") is not None
