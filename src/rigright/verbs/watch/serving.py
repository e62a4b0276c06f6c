"""Serves the metrics of a watch: the server, and its unit for systemd, for this machine and these options."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from string import Template

from rigright.base.errors import AskError
from rigright.base.files import read_bounded
from rigright.base.tables import DATA
from rigright.base.units import KIB
from rigright.base.words import say
from rigright.machine.exporter.page import Pages
from rigright.machine.exporter.server import (
    PORT,
    ListenAddress,
    MetricsServer,
    guard,
    is_own_name,
    read_place,
    read_token,
)
from rigright.machine.exporter.tally import MetricsTally

__all__ = ["door", "is_own_name", "serve", "unit"]
_MOST_TOKEN = 4 * KIB  # letters of a token's file that are read
TEMPLATE = "watch.service"
GROUPS = ("systemd-journal", "video", "render", "ipmi")  # kernel's log, AMD's and Intel's cards, node watts
CREDENTIAL = "token"


def serve(tally: MetricsTally, place: str, *, token_file: str | None, dcgm_names: bool) -> MetricsServer:
    """A server that runs until it is closed."""
    where, token = door(place, token_file=token_file)
    pages = Pages(tally, dcgm=dcgm_names)
    return MetricsServer(where, pages.page, token=token, is_up=lambda: tally.is_up)


def door(place: str, *, token_file: str | None) -> tuple[ListenAddress, str | None]:
    """Where to listen, and the token in a file, which is needed beyond this machine."""
    where, token = read_place(place), None
    if token_file is not None:
        if os.name == "posix" and Path(token_file).exists() and Path(token_file).stat().st_mode & 0o007:
            raise AskError(
                say("everybody on this machine may read the token in {path}", path=token_file),
                hint=say("chmod 600 {path}", path=shlex.quote(token_file)),
            )
        token = read_token(read_bounded(token_file, _MOST_TOKEN).decode("utf-8", "replace"))
    guard(where, token)
    return where, token


def unit(*, serve: str | None, token_file: str | None, every: str, dcgm_names: bool) -> str:
    """The unit; whoever asked writes it where it belongs."""
    address = serve or str(PORT)
    words = [sys.executable, "-P", "-m", "rigright", "watch", "--serve", address, "--every", every]
    asked = [*(["--serve", address] if serve else []), *(["--every", every] if every != "1s" else [])]
    credential = "# no token: only this machine reads the metrics"
    if token_file is not None:
        file = Path(token_file).absolute()
        words += ["--token", f"%d/{CREDENTIAL}"]
        asked += ["--token", str(file)]
        credential = f"LoadCredential={CREDENTIAL}:{escaped(str(file))}"
    words += ["--dcgm-names"] if dcgm_names else []
    asked += ["--dcgm-names"] if dcgm_names else []
    return Template((DATA / TEMPLATE).read_text(encoding="utf-8")).substitute(
        command=" ".join(word if word.startswith("%d/") else quoted(word) for word in words),
        credential=credential,
        groups=" ".join(groups()),
        address=address if ":" in address else f"127.0.0.1:{address}",
        asked=shlex.join(asked),
    )


def groups() -> tuple[str, ...]:
    """Those that this machine has: a unit that names another does not start."""
    try:
        import grp
    except ImportError:  # not on Windows, where there is no systemd either
        return ()
    known = {row.gr_name for row in grp.getgrall()}
    return tuple(name for name in GROUPS if name in known)


def escaped(text: str) -> str:
    """A text in which systemd replaces nothing."""
    if any(not letter.isprintable() for letter in text):
        raise AskError(say("{path} contains a character not allowed in a systemd unit", path=ascii(text)))
    return text.replace("%", "%%")


def quoted(word: str) -> str:
    """One word of a command line, as systemd reads it."""
    plain = escaped(word).replace("$", "$$")
    if plain and all(letter.isalnum() or letter in "._-/:@%+=," for letter in plain):
        return plain
    inside = plain.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{inside}"'
