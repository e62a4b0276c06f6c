"""Over ssh, with the keys and the configuration that the user has: nothing has to be installed there."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from threading import Event
from typing import Any

from rigright.base.errors import MissingError
from rigright.base.words import say
from rigright.machine.far.envelope import Ear
from rigright.machine.far.parcel import parcel, start_line
from rigright.machine.far.talk import talk
from rigright.verbs.fleet.came import Came, Way
from rigright.verbs.fleet.hosts import hosts_of
from rigright.verbs.fleet.troubles import is_word, trouble

NAME = "ssh"
CONNECT_S = 10
REACH_S = 15.0  # beside the node's own time: to connect, to send, to come to an end
MANNER = (
    "-T",
    *("-o", "BatchMode=yes"),  # a question nobody answers is an error at once
    *("-o", f"ConnectTimeout={CONNECT_S}"),
    *("-o", "ControlMaster=no"),
    *("-o", "ServerAliveInterval=10"),
    *("-o", "ServerAliveCountMax=3"),
    *("-o", "ClearAllForwardings=yes"),
    *("-o", "ForwardAgent=no"),
    *("-o", "LogLevel=ERROR"),
)


def run(way: Way) -> Iterator[Came]:
    """Every host, so many at once."""
    hosts = hosts_of(way.where)
    ssh = shutil.which("ssh")
    if ssh is None:
        raise MissingError(say("there is no command ssh here; install an OpenSSH client"))
    yield from (Came(node=host) for host in hosts)
    said = parcel(way.ask)
    line = start_line(python=way.python, as_root=way.as_root)
    stop = Event()
    pool = ThreadPoolExecutor(max(1, min(way.parallel, len(hosts))))
    try:
        asked: list[Future[Came]] = [
            pool.submit(
                _one, host, argv=(ssh, *MANNER, *way.options, "--", host, line), said=said, way=way, stop=stop
            )
            for host in hosts
        ]
        for done in as_completed(asked):
            yield done.result()
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _one(host: str, *, argv: Sequence[str], said: bytes, way: Way, stop: Event) -> Came:
    ear = Ear()
    told: list[dict[str, Any]] = []
    words: list[bytes] = []

    def heard(text: bytes) -> None:
        found = ear.hear(text)
        if found is not None:
            told.append(found)
        elif is_word(text):
            words.append(text)

    talked = talk(argv, said=said, heard=heard, patience_s=way.ask.patience_s + REACH_S, stop=stop)
    if told:
        return Came(node=host, told=told[-1])
    return Came(node=host, trouble=trouble(talked, words))
