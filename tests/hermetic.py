"""No test sees who runs it: a home of its own, plain English, no network but loopback.

Programs that tests start inherit the variables; connections are refused in this process alone.
"""

from __future__ import annotations

import atexit
import errno
import ipaddress
import os
import shutil
import socket
import tempfile
import time
from pathlib import Path

import pytest

KEPT = {"RIGRIGHT_LIVE", "RIGRIGHT_NIGHTLY", "RIGRIGHT_ENGINES", "RIGRIGHT_HYPOTHESIS"}  # how much is tested
FORGOTTEN = (
    *(
        "COLUMNS",
        "LINES",
        "NO_COLOR",
        "FORCE_COLOR",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "PAGER",
        "EDITOR",
        "VISUAL",
    ),
    *(
        "LANG",
        "LANGUAGE",
        "TZ",
        "PYTHONPATH",
        "PYTHONHOME",
        "PYTHONIOENCODING",
        "PYTHONUTF8",
        "PYTHONWARNINGS",
    ),
    *("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"),
    *("SLURM_JOB_ID", "KUBECONFIG", "RAY_ADDRESS", "LD_PRELOAD", "LD_LIBRARY_PATH", "SOURCE_DATE_EPOCH"),
    *("HF_TOKEN", "HF_ENDPOINT", "HUGGING_FACE_HUB_TOKEN", "OLLAMA_MODELS", "OLLAMA_HOST"),
)
STARTS = ("XDG_", "LC_", "RIG_", "RIGRIGHT_", "HF_", "GIT_", "CUDA_", "NCCL_", "OMP_", "MKL_")


def forget() -> None:
    """Take from the environment what answers could depend on, and put a home of our own in it."""
    for name in list(os.environ):
        if name in FORGOTTEN or (name.startswith(STARTS) and name not in KEPT):
            del os.environ[name]
    home = Path(tempfile.mkdtemp(prefix="rigright-home-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    (home / ".gitconfig").write_text("[safe]\n\tdirectory = *\n[user]\n\tname = x\n\temail = x@localhost\n")
    os.environ |= {
        "HOME": str(home),
        "USERPROFILE": str(home),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "HF_HUB_OFFLINE": "1",  # no test waits for a hub that may not be there
        "RIGRIGHT_PLUGINS": "0",  # what else is installed here changes no answer
        "RIGRIGHT_TODAY": "2026-11-24",  # prices are as old as on the day this was written
    }
    if hasattr(time, "tzset"):
        time.tzset()  # it was read when Python started


def is_near(address) -> bool:
    """Whether a socket's address is on this machine: a path, or of the loopback."""
    if not isinstance(address, tuple):
        return True
    host = str(address[0]).partition("%")[0]
    if host in {"", "localhost"}:
        return True
    try:
        return (found := ipaddress.ip_address(host)).is_loopback or found.is_unspecified
    except ValueError:
        return False


_connect, _connect_ex, _look_up = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo


def _refuse(address) -> None:
    if not is_near(address):
        raise OSError(errno.ENETUNREACH, f"no test leaves this machine (it asked for {address})")


def _connecting(self, address):
    _refuse(address)
    return _connect(self, address)


def _connecting_ex(self, address):
    return _connect_ex(self, address) if is_near(address) else errno.ENETUNREACH


def _looking_up(host, *words, **more):
    """Names are not looked up either: what answers for them differs from net to net."""
    name = host.decode() if isinstance(host, bytes) else host
    if name is not None and not is_near((name,)):
        try:
            ipaddress.ip_address(str(name).partition("%")[0])
        except ValueError:
            raise socket.gaierror(socket.EAI_NONAME, f"no test looks up {name}") from None
    return _look_up(host, *words, **more)


@pytest.hookimpl(tryfirst=True)
def pytest_configure():
    socket.socket.connect, socket.socket.connect_ex = _connecting, _connecting_ex
    socket.getaddrinfo = _looking_up


def pytest_unconfigure():
    socket.socket.connect, socket.socket.connect_ex = _connect, _connect_ex
    socket.getaddrinfo = _look_up


forget()
