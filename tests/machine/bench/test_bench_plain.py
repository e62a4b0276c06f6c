"""Without PyTorch the same work runs with NumPy, and what PyTorch alone can do is named."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from rigright.base.units import MIB
from rigright.machine.bench.accelerator import BY_NUMPY
from rigright.machine.bench.parts import files, pictures, transformer
from rigright.machine.bench.record import BenchRequest, Result
from rigright.machine.bench.storage import ScratchFolder
from rigright.machine.bench.table import NO_TORCH


@pytest.fixture(autouse=True)
def _without_torch(monkeypatch):
    for part in (files, pictures, transformer):
        monkeypatch.setattr(part, "has_pytorch", lambda: False)


def parted(measured):
    found = list(measured)
    results = [one for one in found if isinstance(one, Result)]
    return results, [one for one in found if not isinstance(one, Result)]


def test_a_transformer_runs_on_the_processor(monkeypatch):
    monkeypatch.setattr(transformer, "TOKENS", 8)
    monkeypatch.setattr(transformer, "WIDTH", 16)
    results, left = parted(transformer.transformer(BenchRequest(part="transformer", spare_s=0.01)))
    assert [one.what for one in results] == ["forward"]
    assert BY_NUMPY in results[0].settings
    assert NO_TORCH in dict(left[0].why.values).values()


def test_every_row_of_its_output_is_normalised():
    out = transformer.numpy_transformer(8, 16)()
    assert out.shape == (8, 16)
    assert out.dtype == np.float32
    assert np.allclose(out.mean(-1), 0, atol=1e-5)
    assert np.allclose(out.std(-1), 1, atol=1e-3)


def test_attention_to_equal_values_returns_them():
    same = np.ones((5, 16), np.float32)
    weights = [np.eye(16, dtype=np.float32)] * 4
    assert np.allclose(transformer._attended(same, same, weights=weights), same)


def test_a_checkpoint_is_read_like_safetensors_and_gone_after(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "QUICK_SIZE", 2 * MIB)
    monkeypatch.setattr(files, "TENSOR", MIB)
    monkeypatch.setattr(
        files, "place_of", lambda folder: ScratchFolder(folder=folder, kind="ext4", free_bytes=1e12)
    )
    monkeypatch.setattr(files, "room", lambda _place, wanted, **_: wanted)
    ask = BenchRequest(part="checkpoint", quick=True, folder=str(tmp_path), spare_s=30)
    results, left = parted(files.checkpoint(ask))
    assert [one.what for one in results] == ["like safetensors", "like safetensors, mapped"]
    assert len(left) == 1
    assert not list(tmp_path.iterdir())


def test_the_file_says_where_its_tensors_lie(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "TENSOR", 4096)
    file = tmp_path / "flat"
    files._write(None, file, count=3)
    begin, places = files.spans(file)
    assert [last - first for first, last in places] == [4096] * 3
    assert begin + places[-1][1] == file.stat().st_size
    assert files.copied(file) == begin + 3 * 4096
    assert files.touched(file) >= 0


def test_the_best_number_of_processes_is_one_that_was_tried(monkeypatch):
    monkeypatch.setattr(pictures, "QUICK_EPOCHS_S", 0.0)
    monkeypatch.setattr(pictures, "BATCH", 1)
    monkeypatch.setattr(pictures, "pool", lambda _: ThreadPoolExecutor(1))
    results, left = parted(pictures.data_loader(BenchRequest(part="data_loader", quick=True, cpus=2)))
    *tried, best = results
    assert [one.what for one in tried] == ["0 workers", "1 workers", "2 workers"]
    assert best.what == "best"
    assert best.value in {one.value for one in tried}
    assert best.value * pictures.ENOUGH >= max(one.value for one in tried)
    assert left
