"""The parts that need PyTorch, on the processor, where PyTorch is installed; small, but for real."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from refusals import refused
from rigright.base.errors import MissingError
from rigright.base.units import MIB
from rigright.machine.bench.accelerator import CPU, Accelerator, accelerators, seen
from rigright.machine.bench.child import BenchChild
from rigright.machine.bench.parts import device_memory, files, kernels, pictures, training, transformer
from rigright.machine.bench.parts.pictures import prepared as picture
from rigright.machine.bench.parts.training import resnet50
from rigright.machine.bench.record import BenchRequest, Result
from rigright.machine.bench.storage import ScratchFolder
from rigright.machine.bench.tasks import is_sticky, rate

torch = pytest.importorskip("torch", reason="PyTorch is an extra")
pytestmark = pytest.mark.skipif(
    torch.cuda.is_available(), reason="here the parts measure the cards themselves, not their small copies"
)

ASK = BenchRequest(part="x", spare_s=0.3, quick=True, cpus=1)
PLAYED = replace(CPU, on="gpu 0", name="played")


@pytest.fixture(autouse=True)
def _one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_it_is_the_published_resnet_50():
    """25,557,032 parameters, and 4.09 billion multiply-adds at 224 pixels (torchvision's own figures)."""
    network = resnet50().eval()
    assert sum(one.numel() for one in network.parameters()) == 25_557_032
    from torch.utils.flop_counter import FlopCounterMode

    counter = FlopCounterMode(display=False)
    with torch.device("meta"):
        there = resnet50().eval()
        with counter:
            assert there(torch.empty(1, 3, 224, 224)).shape == (1, 1000)
    assert counter.get_total_flops() / 2 == pytest.approx(4.09e9, rel=0.005)


@pytest.mark.parametrize("name", ["bf16", "fp16", "fp32", "tf32", "int8", "fp8"])
def test_each_format_multiplies_what_it_says(name):
    found = kernels.multiplication(name, "cpu", sizes=(32, 64, 48))()
    assert tuple(found.shape) == (32, 64)
    assert float(found.float().abs().sum()) > 0


def test_matrices_memory_and_kernels_are_measured_on_a_played_card(monkeypatch):
    for part in (kernels, device_memory):
        monkeypatch.setattr(part, "accelerators", lambda _ask: (PLAYED,))
    monkeypatch.setattr(kernels, "FORMATS", ("fp32", "bf16"))
    monkeypatch.setattr(kernels, "SQUARES", (128, 64))
    monkeypatch.setattr(device_memory, "LARGEST", 4 * MIB)
    monkeypatch.setattr(device_memory, "SMALLEST", MIB)
    assert [one.what for one in kernels.gemm(ASK)] == ["fp32 square", "bf16 square"]
    assert [one.what for one in device_memory.device_memory(ASK)] == ["copy", "triad", "read", "write"]
    assert [one.what for one in kernels.launch(ASK)] == ["hand over", "hand over and wait"]


def test_nothing_of_one_format_stays_for_the_next(monkeypatch):
    before = torch.backends.cuda.matmul.allow_tf32
    monkeypatch.setattr(kernels, "SQUARES", (64,))
    list(kernels.measure_product(0.01, name="tf32", card=PLAYED, shape="square"))
    assert torch.backends.cuda.matmul.allow_tf32 == before


@pytest.mark.parametrize("free", [None, 100 * MIB, 80e9])
def test_buffers_leave_room(free):
    size = device_memory.buffer_bytes(PLAYED, free=free, smallest=MIB)
    assert MIB <= size <= (free or 80e9) / 4


def test_a_full_card_is_told():
    with refused(MissingError, "gpu 0"):
        device_memory.buffer_bytes(PLAYED, free=100 * MIB, smallest=64 * MIB)


def test_every_way_of_training_takes_a_step(monkeypatch):
    monkeypatch.setattr(training, "SIDE", 64)
    monkeypatch.setattr(training, "WIDTH", 64)
    monkeypatch.setattr(training, "WORDS", 100)
    for way in ("fp32", "amp", "amp recompute"):
        training.step(training.StepTask(network="transformer", way=way, card=CPU))()
    for way in ("fp32", "amp channels_last"):
        training.step(training.StepTask(network="resnet50", way=way, card=CPU))()


def test_training_learns():
    """The step is a real one: the loss of the same batch falls."""
    torch.manual_seed(0)
    task = training.StepTask(network="transformer", way="fp32", card=CPU)
    network, sample, goal = training._text(task)
    losses = []
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
    for _ in range(3):
        loss = torch.nn.functional.cross_entropy(network(sample).flatten(0, -2), goal.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(loss.detach()))
    assert losses[2] < losses[0]


def test_recomputation_changes_nothing_but_memory():
    torch.manual_seed(0)
    plain = training._blocks(1, recompute=False)
    again = training._blocks(1, recompute=True)
    again.load_state_dict(plain.state_dict())
    words = torch.randint(0, training.WORDS, (1, 4))
    assert torch.allclose(plain(words), again(words), atol=1e-5)


def test_a_forward_pass_is_timed_on_the_processor():
    going, found = transformer.transformer(ASK), []
    with refused(MissingError, "no GPU"):
        found.extend(going)
    assert (found[0].what, found[0].on) == ("forward", "cpu")
    assert dict(found[0].settings)["threads"] == "1"


def test_a_checkpoint_is_loaded_in_three_ways_and_gone_after(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "QUICK_SIZE", 2 * MIB)
    monkeypatch.setattr(files, "TENSOR", MIB)
    monkeypatch.setattr(
        files, "place_of", lambda folder: ScratchFolder(folder=folder, kind="ext4", free_bytes=1e12)
    )
    monkeypatch.setattr(files, "room", lambda _place, wanted, **_: wanted)
    found = list(files.checkpoint(replace(ASK, folder=str(tmp_path), spare_s=30)))
    assert [one.what for one in found] == ["torch.load", "torch.load, mapped", "like safetensors, mapped"]
    assert list(tmp_path.iterdir()) == []


def test_a_flat_file_holds_the_same_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "TENSOR", 4096)
    own, plain = tmp_path / "a.pt", tmp_path / "a.flat"
    files._write(own, plain, count=3)
    first = list(torch.load(own, weights_only=True, mmap=True).values())
    second = files.flat(plain)
    assert len(first) == len(second) == 3
    assert files._torch_load(own, mapped=True) == own.stat().st_size
    for a, b in zip(first, second, strict=True):
        assert torch.equal(a.view(torch.uint8).flatten(), b)


def test_the_best_setting_of_a_data_loader_is_one_that_was_tried(monkeypatch):
    monkeypatch.setattr(pictures, "QUICK_EPOCHS_S", 0.01)
    monkeypatch.setattr(pictures, "worker_counts", lambda _: [1])
    monkeypatch.setattr(pictures, "ENOUGH", 0.0)  # the last one tried always wins
    found = [one for one in pictures.data_loader(replace(ASK, spare_s=60)) if isinstance(one, Result)]
    tried = ("0 workers", "1 workers", "1 workers, persistent", "1 workers, persistent, prefetch 4")
    assert [one.what for one in found] == [*tried, "best"]
    assert found[-1].value in {one.value for one in found[:-1]}
    assert dict(found[-1].settings)["persistent_workers"] == "True"


@pytest.mark.parametrize("rates", [{}, {0: 100.0}, {1: 100.0}, {2: 100.0}])
def test_every_setting_of_a_data_loader_is_tried_once(monkeypatch, rates):
    """Where the finer settings win nothing, they were once tried again and again until time ran out."""

    def played(_spare_s, *, setting, **_):
        value = 1.0 if setting.lasting else rates.get(setting.workers, 10.0 + setting.workers)
        yield rate(work=value, times_s=[1.0], unit="items_per_s")

    monkeypatch.setattr(pictures, "_loader_rate", played)
    *tried, best = pictures.data_loader(replace(ASK, cpus=2, spare_s=60))
    assert len({one.what for one in tried}) == len(tried) == (3 if rates.get(0) else 5)
    assert best.value == max(one.value for one in tried)
    assert best.what == "best"


def test_the_rate_of_a_loader_is_pictures_by_seconds(monkeypatch):
    """Held against a count of our own: every epoch prepares each picture once, and takes one second here."""
    prepared, ticks = [], iter(range(1000))
    monkeypatch.setattr(pictures, "prepared", lambda data: prepared.append(1) or picture(data))
    monkeypatch.setattr(pictures, "time", SimpleNamespace(perf_counter=lambda: float(next(ticks))))
    monkeypatch.setattr(pictures, "QUICK_EPOCHS_S", 0.0)
    setting = pictures.LoaderSetting(workers=0, prefetch=None)
    (found,) = pictures._loader_rate(0.0, setting=setting, quick=True, device=None)
    epochs = found.repeats + 1  # the first warms up
    assert found.value == len(prepared) / epochs == pictures.BATCH * pictures.QUICK_BATCHES


def test_workers_of_a_loader_live_beside_the_thread_that_listens(tmp_path):
    """A forked worker closes standard input: it must not wait for who reads it."""
    child = BenchChild(sys.executable, dict(os.environ))
    try:
        ask = BenchRequest(part="data_loader", spare_s=30, quick=True, cpus=1, folder=str(tmp_path))
        found = [one for one in child.run(ask) if isinstance(one, Result)]
    finally:
        child.close()
    assert "1 workers" in {one.what for one in found}
    assert found[-1].what == "best"


def test_two_processes_exchange_over_gloo(tmp_path):
    child = BenchChild(sys.executable, dict(os.environ))
    try:
        ask = BenchRequest(part="collectives", spare_s=60, cpus=2, folder=str(tmp_path))
        found = list(child.run(ask))
    finally:
        child.close()
    assert [one.what for one in found] == ["all_reduce 16 MiB", "all_gather 16 MiB"]
    assert {(dict(one.settings)["ranks"], dict(one.settings)["backend"]) for one in found} == {("2", "gloo")}


def test_without_cards_there_are_none():
    assert seen() == ("cpu", 0) or seen()[0] in {"mps", "xpu"}
    assert accelerators(ASK) == () or seen()[1] > 0


def test_times_are_never_none_however_slow_a_run_is():
    assert len(CPU.times(lambda: None, 0.0)) >= 1
    assert len(CPU.times(lambda: None, 0.05)) >= 2


def test_the_processor_is_an_accelerator_that_needs_no_waiting():
    assert (CPU.device, CPU.free_bytes(), CPU.peak_bytes(), CPU.capability()) == ("cpu", None, None, (0, 0))
    assert Accelerator(kind="cuda", index=2, on="gpu 2").device == "cuda:2"


@pytest.mark.parametrize(
    ("error", "sticky"),
    [
        (RuntimeError("CUDA error: device-side assert triggered"), True),
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), False),
        (ValueError("shape"), False),
    ],
)
def test_a_failed_card_is_told_from_a_failed_part(error, sticky):
    assert is_sticky(error) == sticky
