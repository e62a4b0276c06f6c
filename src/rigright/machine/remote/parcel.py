"""What is sent to a far node: the landing, what is asked, and the rooms that need no numpy, packed once.

A node without a new Python is read by one shell script, filled in with what our readers ask for. Its answer
is no form of its own: files, folders, links and commands as they were, for the readers of a live machine
(`opened/collected.py`). So whatever they learn to see, they see there too.
"""

from __future__ import annotations

import importlib.util
import io
import json
import re
import shlex
import zipfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from rigright.base.tables import DATA
from rigright.machine.bench.record import BenchWish, Meeting
from rigright.machine.parts.surroundings import BEGIN, NAMED
from rigright.machine.running.services import MATTER

_BENCH = "bench"
_PACKAGE = DATA.parent  # this very program
_ROOMS = ("*.py", "base/**/*.py", "machine/**/*")  # enough to read a machine and to measure it
_NOT_SENT = (
    "bundle",
    "history",
    "exporter",
    "opened",
    "sampling",
    "demand",
    "traits",
    "plugin",
    "telling",
    "parcel",
    "talk",
)  # beginnings of names
_READINGS = "pynvml"  # NVIDIA's own module of readings goes along where it is here: one file, no dependencies
NO_PYTHON = "rigright-no-python"
STARTER = (
    "import sys;sys.path[:]=[p for p in sys.path if p];i=sys.stdin.buffer;exec(i.read(int(i.readline())))"
)
_AS_ROOT = "sudo -n "
_PYTHONS = (  # without a login shell the path is short
    *("python3", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10"),
    *("/opt/conda/bin/python3", "/opt/venv/bin/python3", "/usr/local/bin/python3"),
)
OLDEST = (3, 10)  # what is sent runs there: Ubuntu 22.04 has no newer one
_NEW_ENOUGH = f"import sys;sys.exit(sys.version_info<{OLDEST})"
MARK = "rigright-collect"  # begins the lines with which the script tells what follows
_SCRIPT = "fleet/collect.sh"
_DATA = ("*.csv", "*.toml")
_EPOCH = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What a node is asked to measure."""

    wish: BenchWish
    parts: tuple[str, ...] = ()  # none: all of them


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteRequest:
    """What a node is asked to do."""

    patience_s: float
    bench: Bench | None = None  # to be measured there, after the probe
    meeting: Meeting | None = None  # with which other nodes


def parcel(ask: RemoteRequest, *, lifeline: bool = True) -> bytes:
    """All that goes to a node's standard input."""
    landing = (Path(__file__).parent / "landing.py").read_bytes()
    packed = program(with_bench=ask.bench is not None)
    head = {
        "size_bytes": len(packed),
        "lifeline": lifeline,
        "patience_s": ask.patience_s,
        "ask": asdict(ask),
    }
    return b"%d\n%s%s\n%s" % (len(landing), landing, json.dumps(head).encode(), packed)


@cache
def program(*, with_bench: bool = False) -> bytes:
    """The program, packed; the same bytes for the same files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in _files(() if with_bench else (_BENCH,)):
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _files(not_sent: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    code = _words()
    tables = {path for ending in _DATA for path in DATA.glob(ending) if f'"{path.name}"' in code}  # it names
    for path in sorted(tables.union(_sent(not_sent))):
        if path.is_file() and "__pycache__" not in path.parts:
            yield str(Path("rigright") / path.relative_to(_PACKAGE)), path.read_bytes()
    spec = importlib.util.find_spec(_READINGS)
    if spec is not None and spec.origin and spec.origin.endswith(f"{_READINGS}.py"):
        yield f"{_READINGS}.py", Path(spec.origin).read_bytes()


def _sent(without: tuple[str, ...] = ()) -> Iterator[Path]:
    """What lies in the rooms, but for what begins with these names."""
    for path in {path for room in _ROOMS for path in _PACKAGE.glob(room)}:
        if not any(part.startswith((*_NOT_SENT, *without)) for part in path.relative_to(_PACKAGE).parts):
            yield path


@cache
def _words() -> str:
    """The code of whatever may be sent."""
    return "".join(path.read_text(encoding="utf-8") for path in _sent() if path.suffix == ".py")


def start_line(*, python: str | None = None, as_root: bool = False) -> str:
    """One line for any login shell of a node: find a Python that is new enough, and start it.

    It holds no word of the user's but the path of a Python, quoted; the rest travels on standard input.
    """
    pythons = " ".join(shlex.quote(text) for text in ([python] if python else _PYTHONS))
    root = _AS_ROOT if as_root else ""
    script = (
        f'for p in {pythons}; do "$p" -c "{_NEW_ENOUGH}" 2>/dev/null && '
        f'exec {root}"$p" -c "{STARTER}"; done; '
        f'echo {NO_PYTHON} "$(python3 -V 2>&1)"; exit 3'
    )
    return f"sh -c {shlex.quote(script)}"


def start_shell(*, as_root: bool = False) -> str:
    """The line that runs a script which comes on standard input."""
    return f"{_AS_ROOT if as_root else ''}sh -s"


def script(mark: str = MARK) -> str:
    """The whole script; `mark` begins the lines that tell what follows, so that no file can play one."""
    names = "|".join(map(re.escape, (*sorted(NAMED), "HOME", "container", *BEGIN)))
    text = (DATA / _SCRIPT).read_text(encoding="utf-8")
    filled = text.replace("@SERVICES@", " ".join(MATTER)).replace("@VARIABLES@", names)
    return filled.replace(f"\nMARK={MARK}\n", f"\nMARK={re.sub('[^a-z0-9-]', '', mark)}\n", 1)
