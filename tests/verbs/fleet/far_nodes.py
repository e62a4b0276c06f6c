"""Played nodes: each is a scenario's machine, reached by an `ssh` that goes no further than this host."""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

from rigright.machine.remote.envelope import lines
from scenes import scene

GROWN: dict[str, dict[str, str]] = {}  # scenario -> the variables of its machine, grown once

SH = shutil.which("sh") or "/bin/sh"
TOOLS = "sh head ls env grep sed awk od uname date id printf timeout sleep"  # of a bare node
REAL = f"{Path(sys.executable).parent}:/usr/bin:/bin"  # behind a scene's own programs

SSH = """\
#!{sh}
# The last word is the command, the one before it the host, after options and "--".
if [ "$1" = -G ]; then
  echo "hostname 127.0.0.1"
  exit
fi
while [ "$#" -gt 2 ]; do
  [ "$1" = -- ] || echo "$1" >> {folder}/options
  shift
done
echo "$1" >> {folder}/asked
if ! [ -e {folder}/"$1".sh ]; then
  echo "ssh: Could not resolve hostname $1: Name or service not known" >&2
  exit 255
fi
. {folder}/"$1".sh
exec {sh} -c "$2"
"""


class FarNodes:
    """A folder with an `ssh` in it, and a file of settings a node."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "bin"
        self.bin.mkdir(parents=True)
        self.program("ssh", SSH.format(sh=SH, folder=folder))

    def settings(self, node: str, name: str) -> dict[str, str]:
        """Variables with which a program sees the machine of a scenario."""
        env = grown(name)
        root = self.folder / node / "root"
        shutil.copytree(env["RIGRIGHT_ROOT"], root, symlinks=True, copy_function=linked)
        host = root / "proc/sys/kernel/hostname"
        host.parent.mkdir(parents=True, exist_ok=True)
        host.unlink(missing_ok=True)
        host.write_text(f"{node}\n", encoding="utf-8")
        env |= {"RIGRIGHT_ROOT": str(root)}
        named = ("PATH", "LD_LIBRARY_PATH", "RIGRIGHT_ROOT", "RIGRIGHT_FAKE_NVML")
        found = {key: env[key] for key in named if key in env}
        return found | {"PATH": f"{found['PATH']}:{REAL}"}

    def play(self, node: str, name: str) -> None:
        """A node that is the machine of a scenario."""
        told = self.settings(node, name)
        self.script(node, "\n".join(f"export {key}={shlex.quote(value)}" for key, value in told.items()))

    def script(self, node: str, text: str) -> None:
        """A node that does whatever a shell script does before it is asked."""
        (self.folder / f"{node}.sh").write_text(text + "\n", encoding="utf-8")

    def answer(self, node: str, told: dict) -> None:
        """A node that says this, whatever it is asked."""
        file = self.folder / f"{node}.told"
        file.write_text("".join(lines(told)), encoding="utf-8")
        self.script(node, f"cat {file}; exit 0")

    def without_python(self, node: str, name: str, *, also: str = "", less: str = "") -> None:
        """A node that is the machine of a scenario, with a handful of tools and no Python at all."""
        told = self.settings(node, name)
        bare = self.folder / f"{node}-bare"
        bare.mkdir()
        for tool in set(f"{TOOLS} {also}".split()) - set(less.split()):
            where = shutil.which(tool)
            if where is not None:
                (bare / tool).symlink_to(where)
        played = told["PATH"].partition(":")[0]
        self.script(node, f"export PATH={played}:{bare} RIGRIGHT_ROOT={told['RIGRIGHT_ROOT']}")

    def program(self, name: str, text: str) -> None:
        """A program on PATH, beside `ssh`."""
        place = self.bin / name
        place.write_text(text, encoding="utf-8")
        place.chmod(0o755)

    def lines(self, name: str) -> list[str]:
        """What `ssh` was given."""
        file = self.folder / name
        return file.read_text(encoding="utf-8").splitlines() if file.exists() else []


def linked(source: str, place: str) -> None:
    """A file in a second place; a copy where that is on another file system."""
    try:
        os.link(source, place)
    except OSError:
        shutil.copy2(source, place)


@cache
def place() -> Path:
    """Where machines are grown, of each process its own."""
    folder = Path(tempfile.mkdtemp(prefix="far-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    folder.chmod(0o755)
    return folder


def grown(name: str) -> dict[str, str]:
    """A scenario's machine; nodes of it share its files, each with a name of its own."""
    if name not in GROWN:
        home = place() / name
        home.mkdir()
        GROWN[name] = dict(scene(name, home).env)
    return dict(GROWN[name])


def left_behind(temporary: Path) -> list[Path]:
    """Folders of ours in a temporary one."""
    return list(temporary.glob("rigright-????????"))
