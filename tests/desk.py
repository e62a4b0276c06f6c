"""A desk at a played machine: the program is asked in this process, with that machine's driver and files."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import scenes
from fake_driver import _folder
from rigright.base.units import GIB, GIGA, MEGA
from rigright.faces.cli.main import main
from rigright.machine.bench.record import Result
from rigright.machine.device import Program
from rigright.machine.history.store import open_history
from rigright.machine.probe import probe
from rigright.machine.tick import DeviceTick, HostTick, Tick

UNSET = (
    "LANG", "LC_ALL", "LC_MESSAGES", "LANGUAGE", "RIGRIGHT_LANG", "NO_COLOR", "COLUMNS", "RIGRIGHT_ROOT",
    "LD_LIBRARY_PATH", "RIGRIGHT_FAKE_NVML", "CUDA_VISIBLE_DEVICES", "PYTHONPATH",
)  # fmt: skip
WORKING = {
    "busy_share": 0.98, "mem_busy_share": 0.35, "power_w": 620.0, "power_limit_w": 700.0, "gpu_c": 60.0,
    "slowed_by": (), "programs": (Program(pid=1, name="python", mem_bytes=8.0 * GIB),), "pcie_gen": 5,
    "pcie_lanes": 16, "pcie_rx_bytes_per_s": 1.0 * GIGA, "pcie_tx_bytes_per_s": 1.0 * GIGA,
    "mem_used_bytes": 40.0 * GIB, "mem_total_bytes": 80.0 * GIB, "name": "NVIDIA H100 80GB HBM3",
}  # fmt: skip
AROUND = {
    "cpu_share": 0.2, "busiest_core_share": 0.5, "disk_busy_share": 0.05, "disk_read_bytes_per_s": 1.0 * MEGA,
    "disk_write_bytes_per_s": 0.0, "net_rx_bytes_per_s": 1.0 * MEGA, "net_tx_bytes_per_s": 1.0 * MEGA,
    "swap_bytes_per_s": 0.0, "mem_pressure": 0.0, "io_pressure": 0.0, "cpu_pressure": 0.0,
}  # fmt: skip
STARVED = {"busy_share": 0.2, "mem_busy_share": 0.05, "power_w": 150.0}


@dataclass(frozen=True, slots=True)
class Said:
    """What came back."""

    code: int
    out: str
    err: str

    @property
    def data(self):
        return json.loads(self.out)

    @property
    def rows(self):
        return list(csv.DictReader(io.StringIO(self.out)))

    @property
    def flat(self):
        """All of it as one line, as if no screen had broken it."""
        return " ".join(self.out.split())


@cache
def machine(name: str):
    """The played machine of a scenario; its tree is grown once."""
    folder = _folder() / name
    folder.mkdir()
    return scenes.scene(name, folder)


class Desk:
    """Sits at one machine after another, and asks."""

    def __init__(self, monkeypatch, capture, folder: Path) -> None:
        self._patch, self._capture, self.folder = monkeypatch, capture, folder
        self.leave()

    def leave(self) -> None:
        """The real machine, as far as it has no accelerator."""
        for name in UNSET:
            self._patch.delenv(name, raising=False)
        self._patch.setenv("RIGRIGHT_HOME", str(self.folder / "home"))
        self._patch.setenv("LD_LIBRARY_PATH", str(self.folder))

    def sit(self, name: str) -> Desk:
        """From now on this scenario's machine is `here`."""
        for key, value in machine(name).env.items():
            if os.environ.get(key) != value:
                self._patch.setenv(key, value)
        self._patch.setenv("RIGRIGHT_HOME", str(self.folder / "home"))
        return self

    def ask(self, line: str, **values) -> Said:
        """`rigright LINE`; no traceback and no bug whatever is asked."""
        words = [word.format(folder=self.folder, **values) for word in shlex.split(line)]
        self._capture.readouterr()
        code = main(words)
        out, err = self._capture.readouterr()
        assert "Traceback" not in out + err, (line, err)
        assert "bug in rigright" not in err, (line, err)
        return Said(code=code, out=out, err=err)

    def saved(self, name: str) -> Path:
        """The machine of a scenario as `probe --save` writes it."""
        file = self.folder / f"{name}.json"
        if not file.exists():
            file.write_text(kept(name), encoding="utf-8")
        return file


@cache
def kept(name: str) -> str:
    """A scenario's machine as JSON."""
    from rigright.machine.stored import plain

    return json.dumps(plain(probed(name)))


@cache
def probed(name: str):
    """A scenario's machine as a record."""
    return probe(machine(name))


def ticks(card=None, host=None, *, cards=2, count=30, until_s: float, step_s: float = 2.0):
    """Moments in which something works, the last of them at `until_s`."""
    for n in range(count):
        at_s = until_s - (count - 1 - n) * step_s
        devices = tuple(
            DeviceTick(index=index, uuid=f"GPU-{index}", **WORKING | (card or {})) for index in range(cards)
        )
        yield Tick(at_s=at_s, clock_s=at_s, devices=devices, host=HostTick(**AROUND | (host or {})))


def fill(path: Path, moments=(), *, results=(), events=(), on=None) -> Path:
    """A history with these moments, benchmarks and events."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_history(path) as history:
        for moment in moments:
            history.add_tick(moment)
        history.add_events(events)
        if on is not None:
            history.add_machine(on)
            history.add_results(results, on)
    return path


def result(value: float, **more) -> Result:
    """One figure of a benchmark."""
    told = {"part": "gemm", "what": "bf16 square", "on": "gpu 0", "unit": "flops_per_s", "repeats": 5}
    return Result(**{**told, "value": value, "low": value, "high": value, **more})


def quiet(words) -> Said:
    """`rigright WORDS` where no fixture catches what it says."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([str(word) for word in words])
    assert "Traceback" not in err.getvalue(), words
    assert "bug in rigright" not in err.getvalue(), (words, err.getvalue())
    return Said(code=code, out=out.getvalue(), err=err.getvalue())
