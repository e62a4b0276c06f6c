"""A driver that is played: builds our own libnvidia-ml.so.1 once, and tells it what to play.

A scenario's `[driver]` table says it:

    [driver]
    like = "healthy_8xh100"      # begin with another scenario's driver
    version = "550.54.15"        # any other plain key is of the system: cuda, count, init, path, p2p ...
    absent = ["nvmlDeviceGetMemoryInfo_v2"]   # symbols that this driver does not have
    [driver.each]                # what each device answers; "{i}" becomes its index
    [driver.spread]              # the same, a list with one value for each device
    [driver.only.3]              # of one device
    [[driver.later]]             # from some moment on: after_s or after_calls, device, and keys

Tables inside are joined with dots (`memory.total`), lists are numbered (`fan.0`). A value may be "-" (not
supported), "!15" (that error), "!hang", "!abort", "@0.02 5" (takes its time), "100 +5" (grows by 5 a second).
`all = "!15"` makes every call of a device fail.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SOURCES = HERE / "fake_nvml"
SCENARIOS = HERE / "scenarios"
LIBRARY = "libnvidia-ml.so.1"
WAY = "RIGRIGHT_FAKE_NVML"  # where the library finds what it plays
TABLES = {"like", "absent", "each", "spread", "only", "later"}


def driver_env(scenario) -> dict[str, str]:
    """Variables that make any program load the played driver: of a scenario's name, or its [driver] table."""
    return Driver.play(scenario, _folder()).env


@dataclass(kw_only=True)
class Driver:
    """A driver that plays, and whose play can be changed while programs look."""

    table: dict
    file: Path
    start_s: float = field(default_factory=time.time)

    @classmethod
    def play(cls, scenario, folder: Path) -> Driver:
        table = driver_table(scenario)
        handle, name = tempfile.mkstemp(".driver", dir=folder)
        os.close(handle)
        driver = cls(table=table, file=Path(name))
        driver.write()
        return driver

    @property
    def env(self) -> dict[str, str]:
        library = built(tuple(sorted(self.table.get("absent", ()))))
        return {"LD_LIBRARY_PATH": str(library.parent), WAY: str(self.file)}

    def change(self, device: int | None = None, **keys) -> None:
        """From now on a device (or all of them, or with -1 the system) answers so; "__" stands for a dot."""
        named = {key.replace("__", "."): value for key, value in keys.items()}
        devices = range(self.table["count"]) if device is None else [device]
        self.table.setdefault("later", [])
        self.table["later"] += [{"device": one, "after_s": -1, **named} for one in devices]
        self.write()

    def write(self) -> None:
        lines = "\n".join("\t".join(line) for line in flat(self.table, self.start_s))
        fresh = self.file.with_suffix(".new")
        fresh.write_text(lines + "\n", encoding="utf-8")
        fresh.replace(self.file)


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="rigright-played-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def driver_table(scenario) -> dict:
    """A scenario's [driver] table, laid over the one it is like."""
    if isinstance(scenario, str):
        scenario = tomllib.loads((SCENARIOS / f"{scenario}.toml").read_text(encoding="utf-8"))["driver"]
    below = driver_table(scenario["like"]) if "like" in scenario else {}
    return laid_over(below, {key: value for key, value in scenario.items() if key != "like"})


def laid_over(below, above):
    if isinstance(below, dict) and isinstance(above, dict):
        return {
            **below,
            **{key: laid_over(below[key], one) if key in below else one for key, one in above.items()},
        }
    return above


def flat(table: dict, start_s: float):
    """The lines that the library reads: condition, device, key, value."""
    count = table.setdefault("count", max([1, *(len(one) for one in table.get("spread", {}).values())]))
    system = {key: value for key, value in table.items() if key not in TABLES}
    for key, value in joined({**system, "start": start_s}):
        yield "-", "-1", key, value
    for device in range(count):
        own = dict(joined(table.get("each", {})))
        own |= {key: str(values[device]) for key, values in table.get("spread", {}).items()}
        own |= dict(joined(table.get("only", {}).get(str(device), {})))
        for key, value in own.items():
            yield "-", str(device), key, value.replace("{i}", str(device))
    for later in table.get("later", []):
        when = f"c{later['after_calls']}" if "after_calls" in later else f"s{later['after_s']}"
        keys = {key: value for key, value in later.items() if key not in {"after_calls", "after_s", "device"}}
        for key, value in joined(keys):
            yield when, str(later.get("device", -1)), key, value


def joined(table, before: str = ""):
    """Each value of a nested table under its dotted key."""
    pairs = table.items() if isinstance(table, dict) else enumerate(table)
    for key, value in pairs:
        name = f"{before}{key}"
        if isinstance(value, dict | list):
            yield from joined(value, f"{name}.")
        else:
            yield name, str(int(value)) if isinstance(value, bool) else str(value)


@cache
def built(absent: tuple[str, ...] = ()) -> Path:
    """The library without some symbols; built once for all test processes."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("the played driver needs Linux and a C compiler")
    sources = sorted(SOURCES.glob("*.[ch]"))
    content = b"".join(path.read_bytes() for path in sources) + repr(absent).encode()
    place = Path(tempfile.gettempdir()) / f"rigright-fake-nvml-{os.getuid()}"
    place.mkdir(mode=0o700, exist_ok=True)
    if place.stat().st_uid != os.getuid():
        pytest.skip(f"{place} belongs to somebody else")
    library = place / hashlib.sha256(content).hexdigest()[:24] / LIBRARY
    if not library.exists():
        compiled(compiler, library, absent)
    return library


def compiled(compiler: str, library: Path, absent: tuple[str, ...]) -> None:
    """Compile beside its place, then move it there whole: two processes may do so at once."""
    library.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=library.parent) as folder:
        shown = Path(folder) / "shown"
        hidden = "".join(f" {name};" for name in absent)
        shown.write_text(f"{{ global: nvml*; local:{hidden} *; }};")
        fresh = Path(folder) / LIBRARY
        subprocess.run(
            [compiler, "-shared", "-fPIC", "-O1", "-w", "-fvisibility=hidden",
             f"-Wl,-soname,{LIBRARY}", f"-Wl,--version-script={shown}", "-o", str(fresh),
             *map(str, sorted(SOURCES.glob("*.c"))), "-lpthread", "-lm"],
            check=True,
        )  # fmt: skip
        fresh.replace(library)
