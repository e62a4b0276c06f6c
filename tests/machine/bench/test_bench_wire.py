"""Two rigrights on one wire, and visitors that are none."""

from __future__ import annotations

import socket
import struct
from contextlib import suppress
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refusals import refused
from rigright.base.errors import AskError, DataError, MissingError
from rigright.machine.bench.parts import network
from rigright.machine.bench.record import BenchRequest


@pytest.fixture(scope="module")
def place():
    with network.listener("127.0.0.1", 0) as waiting:
        network.attended(waiting)
        yield waiting.getsockname()


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("node7", ("node7", network.PORT)),
        ("node7:80", ("node7", 80)),
        ("127.0.0.1:0", ("127.0.0.1", 0)),
        ("[::1]:90", ("::1", 90)),
        ("fe80::1", ("fe80::1", network.PORT)),
    ],
)
def test_addresses_are_read_with_and_without_a_port(text, address):
    assert network.address_of(text) == address


@pytest.mark.parametrize("text", ["", ":80", "host:port", "host:70000", "host:-1"])
def test_what_is_no_address_is_told(text):
    with refused(AskError, f'"{text}"'):
        network.address_of(text)


def test_both_ways_carry_bytes(place):
    for way in (network.SEND, network.FETCH):
        assert network.throughput(*place, way=way, streams=2, spare_s=0.05) > 0
    assert all(time_s > 0 for time_s in network.round_trips(*place, spare_s=0.02))


@pytest.fixture
def short(monkeypatch):
    """Rounds that last no longer than it takes to count their bytes."""
    monkeypatch.setattr(network, "QUICK_ROUND_S", 0.05)


@pytest.mark.usefixtures("short")
def test_the_part_measures_the_peer_that_is_named(place):
    found = list(network.network(BenchRequest(part="network", quick=True, peer=f"127.0.0.1:{place[1]}")))
    assert [one.what for one in found] == ["there and back", "send, 1 connections", "fetch, 1 connections"]
    assert {one.on for one in found} == {f"127.0.0.1:{place[1]}"}


@pytest.mark.usefixtures("short")
def test_without_a_peer_it_is_this_machines_own_loop():
    found = list(network.network(BenchRequest(part="network", quick=True)))
    assert {one.on for one in found} == {"loopback"}
    assert all(one.low <= one.value <= one.high for one in found)


def test_nobody_at_the_other_end_is_told_with_what_to_do():
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    with refused(MissingError, port, "`rigright bench --listen`"):
        network.throughput("127.0.0.1", port, way=network.SEND, streams=1, spare_s=0.1)


def test_something_else_at_the_other_end_is_told():
    with network.listener("127.0.0.1", 0) as waiting:

        def greet():
            visitor, _ = waiting.accept()
            with visitor:
                visitor.recv(100)
                visitor.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = Thread(target=greet)
        thread.start()
        port = waiting.getsockname()[1]
        with refused(DataError, f"127.0.0.1:{port}"):
            network.visit("127.0.0.1", port, way=network.SEND, spare_s=0.1)
        thread.join()


def test_a_port_in_use_is_told(place):
    with refused(MissingError, place[1]), network.listener(*place):
        pass


@given(st.binary(max_size=60), st.booleans())
def test_no_visitor_stops_the_listener(place, said, greets):
    # it hangs up on whom it does not understand
    with socket.create_connection(place, timeout=60) as line, suppress(OSError):
        line.sendall((network.GREETING if greets else b"") + said)
        line.shutdown(socket.SHUT_WR)
    # more time where the machine is busy with other things
    assert any(network.round_trips(*place, spare_s=spare_s) for spare_s in (0.01, 0.5, 60.0))


def test_nobody_keeps_the_listener_for_ever(place, monkeypatch):
    monkeypatch.setattr(network, "LONGEST_S", 0.2)
    with socket.create_connection(place, timeout=60) as line:
        line.sendall(network.GREETING + network.HEAD.pack(network.FETCH, 1e300))
        assert line.recv(len(network.GREETING)) == network.GREETING
        count = 0
        while more := len(line.recv(network.CHUNK)):
            count += more
        assert count > 0  # and it ended by itself
    with socket.create_connection(place, timeout=60) as line:
        line.sendall(network.GREETING + struct.pack("!cd", b"?", 1.0))
        assert line.recv(100) == network.GREETING
        assert line.recv(100) == b""


# ---- the port that a way begins at


def test_the_way_to_this_machine_itself_begins_at_its_loop():
    psutil = pytest.importorskip("psutil")
    told = dict(network.port_to("127.0.0.1", 9))
    names = {
        name
        for name, found in psutil.net_if_addrs().items()
        if any(one.address == "127.0.0.1" for one in found)
    }
    assert told["port"] in names


@pytest.mark.parametrize("host", ["no such host", "256.1.1.1", "x" * 300])
def test_a_way_that_nobody_knows_begins_nowhere(host):
    assert network.port_to(host, 9) == ()


def test_figures_to_a_peer_name_the_port_and_those_of_the_loop_too(monkeypatch):
    monkeypatch.setattr(network, "QUICK_ROUND_S", 0.05)
    monkeypatch.setattr(network, "SHORTEST_S", 0.02)
    with network.listener("127.0.0.1", 0) as waiting:
        network.attended(waiting)
        port = waiting.getsockname()[1]
        found = list(
            network.network(BenchRequest(part="network", quick=True, peer=f"127.0.0.1:{port}", spare_s=0.5))
        )
    carried = [dict(one.settings) for one in found if one.unit == "bytes_per_s"]
    assert {one["protocol"] for one in carried} == {"TCP"}
    assert {one.get("port") for one in carried} == {dict(network.port_to("127.0.0.1", port)).get("port")}


def test_a_peer_by_name_is_found_as_by_number():
    assert network.port_to(socket.gethostbyname("localhost"), 9) == network.port_to("127.0.0.1", 9)
