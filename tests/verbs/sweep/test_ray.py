"""A real Ray cluster of two nodes on loopback answers a grid as this process does."""

from __future__ import annotations

import pytest

from ray_nodes import two_nodes
from rigright.verbs.sweep import verb

pytestmark = pytest.mark.live

GRID = (
    "model,on,prompt,output,users\nllama-3.1-8b | qwen2.5-7b,1x h100 | 1x rtx 4090,1024,256,1 | 2 | 4 | 8\n"
)


@pytest.fixture(scope="module")
def cluster():
    with two_nodes() as address:
        yield address


def test_two_nodes_answer_what_this_process_answers(cluster, tmp_path):
    grid = tmp_path / "grid.csv"
    grid.write_text(GRID, encoding="utf-8")
    here = verb.sweep(str(grid), workers=1)
    there = verb.sweep(str(grid), on_ray=cluster)
    assert there.cells == here.cells
    assert len(there.places) == 2, "both nodes worked"
    assert sum(there.places.values()) == 16
