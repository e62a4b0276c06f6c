"""Debian packages for tests that run the real thing: Slurm, Prometheus, an SSH server.

Only `make test-live` installs them, only as root and only where the system refuses to start services by
itself (`/usr/sbin/policy-rc.d`, as container images have it): on anybody's own machine nothing is installed.
A test that cannot have what it needs is skipped, and says why.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

REFUSES_SERVICES = Path("/usr/sbin/policy-rc.d")
LOCK = Path(tempfile.gettempdir()) / "rigright-tests-debian.lock"
FRESH_S = 24 * 3600.0  # package lists no older than this are good enough
PATIENCE_S = 300.0


def needs(*packages: str) -> None:
    """Have these packages installed, or skip the test with the reason."""
    why = missing(packages)
    if why:
        pytest.skip(why)


@cache
def missing(packages: tuple[str, ...]) -> str:
    """Why the packages cannot be had; nothing where they are installed."""
    if not shutil.which("dpkg-query"):
        return "this is no Debian: its packages cannot be asked for"
    if not absent(packages):
        return ""
    if not os.environ.get("RIGRIGHT_LIVE"):
        return f"only make test-live installs {', '.join(absent(packages))}"
    if sys.platform != "linux" or os.geteuid() != 0:
        return f"only root may install {', '.join(absent(packages))}"
    if not os.access(REFUSES_SERVICES, os.X_OK):
        return f"{REFUSES_SERVICES} is not there: installing {', '.join(packages)} might start services"
    with alone():
        return install(absent(packages))


def absent(packages: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the packages that are not installed."""
    return tuple(one for one in packages if state(one) != "install ok installed")


def state(package: str) -> str:
    """What dpkg says of a package."""
    return run("dpkg-query", "-W", "-f=${Status}", package).stdout.strip()


def install(packages: tuple[str, ...]) -> str:
    """Install them; what went wrong, or nothing."""
    line = ("apt-get", "install", "-y", "--no-install-recommends", *packages)
    told = run(*line) if packages and known(packages) else None
    if packages and (told is None or told.returncode):  # lists that are old name files that are gone
        updated = run("apt-get", "update")
        if updated.returncode:
            return f"apt-get update failed: {last_line(updated)}"
        told = run(*line)
    if told is None:
        return ""
    return f"apt-get install {' '.join(packages)} failed: {last_line(told)}" if told.returncode else ""


def known(packages: tuple[str, ...]) -> bool:
    """Whether fresh package lists name all of them."""
    lists = Path("/var/lib/apt/lists")
    if not lists.is_dir() or time.time() - lists.stat().st_mtime > FRESH_S:
        return False
    return all("Candidate: (none)" not in policy(one) and policy(one) for one in packages)


def policy(package: str) -> str:
    return run("apt-cache", "policy", package).stdout


def run(*argv: str) -> subprocess.CompletedProcess[str]:
    settings = os.environ | {"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
    try:
        return subprocess.run(
            argv,
            env=settings,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return subprocess.CompletedProcess(argv, 1, "", str(error))


def last_line(told: subprocess.CompletedProcess[str]) -> str:
    return (told.stderr.strip() or told.stdout.strip()).rpartition("\n")[2]


@contextmanager
def alone():
    """One installation at a time, whatever test process asks for it."""
    import fcntl

    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
