"""Joins a Ray cluster that is there already; one that is not is told of at once."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from rigright.base.errors import AskError, MissingError
from rigright.base.words import Sentence, say

ANY = "auto"  # the cluster that Ray itself finds
REACH_S = 5.0  # a cluster that answers no call within this is not there
KEEP_DEVICES = {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}  # a task of no card hides none


def joined(address: str, *, absent: Sentence, sends: Mapping[str, Any]) -> Any:
    """The ray module, joined; `absent` is told without the extra, `sends` goes to each worker."""
    try:
        ray = import_module("ray")
    except ImportError:
        raise MissingError(absent) from None
    _reach(address)
    os.environ.update(KEEP_DEVICES)
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR", runtime_env=dict(sends))
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise MissingError(
            say(
                "cannot join the Ray cluster at {address}: {why}",
                address=address,
                why=str(error).strip().partition("\n")[0],
            )
        ) from None
    return ray


def _reach(address: str) -> None:
    """Ray waits minutes for a cluster that is not there; a plain call tells at once."""
    if address == ANY:
        return
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit():
        raise AskError(say('"{address}" is not the address of a Ray cluster; use host:port', address=address))
    try:
        socket.create_connection((host, int(port)), timeout=REACH_S).close()
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise MissingError(say("no answer from {address}: {why}", address=address, why=why)) from None
