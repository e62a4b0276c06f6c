"""Fixtures for fleets."""

from __future__ import annotations

import os

import pytest
from far_nodes import FarNodes


@pytest.fixture
def far(tmp_path, monkeypatch):
    """Played nodes, with their `ssh` first on PATH."""
    nodes = FarNodes(tmp_path / "far")
    monkeypatch.setenv("PATH", f"{nodes.bin}{os.pathsep}{os.environ['PATH']}")
    return nodes
