"""Every reader of foreign text and bytes: it reads on, or refuses in a sentence, and soon."""

from __future__ import annotations

import io
import json
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pasted_tools as pasted
from desk import fill, quiet, result, ticks
from fake_dmi import tables
from rigright.base.errors import RigError
from rigright.base.units import GIB, MIB
from rigright.machine import lspci, meminfo, mounts, pci, smbios
from rigright.machine.bench import logs
from rigright.machine.bench.parts import disk, endpoint
from rigright.machine.cpuinfo import read_cpuinfo
from rigright.machine.exporter.server import read_place, read_token
from rigright.machine.nvidia_smi import text as smi_text
from rigright.machine.opened import read_machine
from rigright.machine.parts import sensors
from rigright.machine.record import Machine
from rigright.machine.remote.envelope import heard, lines
from rigright.machine.running import kernel_log
from rigright.machine.stored import plain
from rigright.machine.world import World
from rigright.verbs.bench.record import read_results
from rigright.verbs.fleet.hosts import hosts_of, read_hosts
from rigright.verbs.measure.saved import hold, run_row
from rigright.verbs.measure.ticks import Measured
from rigright.verbs.runs.planned import read_plan

PLAN = {
    "model": "m", "wish": {"work": "serve"},
    "plans": [
        {
            "chip": "rtx-4090", "n_chips": 1, "layout": {"tp": 1},
            "rank_bytes": {"value": 2e10, "low": 1.9e10, "high": 2.1e10},
            "work": {"engine": "vllm 0.21", "weights": "bf16", "context_tok": 1280, "batch": 4},
            "memory": [{"weights": 1e10, "unused": 5e9}],
            "figures": {"output_tok_per_s": {"value": 1, "low": 1, "high": 2}},
        }
    ],
}  # fmt: skip
TOOK = Measured(
    command=("x",), exit_code=0, by_signal=None, at_s=0.0, lasted_s=1.0, samples=1, every_s=0.2, courses=(),
    gpu_peak_bytes=((0, 2e10),), host_peak_bytes=None, cpu_s=None, read_bytes=None, written_bytes=None,
    energy_j=(), slowed_s=(), chips=("NVIDIA GeForce RTX 4090",), tokens=10.0,
)  # fmt: skip
FIGURES = {
    "rigright_bench": 1,
    "quick": True,
    "seconds": 1.0,
    "machine": plain(Machine()),
    "results": [plain(result(7e14))],
    "skipped": [{"part": "p2p", "why": "one card"}],
}
DMI = (
    "# dmidecode 3.3\nHandle 0x0011, DMI type 17, 92 bytes\nMemory Device\n"
    "\tSize: 32 GB\n\tLocator: DIMM_A1\n"
    "\tType: DDR5\n\tSpeed: 4800 MT/s\n\tConfigured Memory Speed: 4400 MT/s\n\n"
    "Handle 0x0021, DMI type 9, 24 bytes\nSystem Slot Information\n\tDesignation: PCIE_1\n"
    "\tType: x16 PCI Express 5 x16\n\tCurrent Usage: In Use\n\tBus Address: 0000:19:00.0\n"
)
SLOT = {"name": "PCIE_1", "gen": 5, "lanes": 16, "in_use": True, "address": "0000:19:00.0", "long": True}
MODULE = {"slot": "DIMM_A1", "size": 32 * GIB, "kind": "DDR5", "rated": 4800, "set": 4400, "ecc": True}
TABLE = tables(modules=[MODULE], slots=[SLOT])[1]
LSPCI = (
    "01:00.0 3D controller [0302]: NVIDIA Corporation GA102GL [A10] [10de:2236] (rev a1)\n"
    "\tLnkCap:\tPort #0, Speed 16GT/s, Width x16\n"
    "\tLnkSta:\tSpeed 8GT/s (downgraded), Width x8 (downgraded)\n"
    "\tACSCtl:\tSrcValid+ ReqRedir+\n\tKernel driver in use: nvidia\n"
)
CPUINFO = (
    "processor\t: 0\ncpu MHz\t: 1\nmodel name\t: AMD EPYC 9354\nphysical id\t: 0\ncore id\t\t: 0\n"
    "flags\t\t: avx2 avx512f\n\n"
)
MOUNTS = "36 35 259:2 / /data rw,noatime shared:1 - ext4 /dev/nvme0n1p2 rw,discard\n"
XID = "[   12.345678] NVRM: Xid (PCI:0000:9b:00): 79, pid=1, name=python, GPU has fallen off the bus.\n"
NCCL = "  17179869184    4294967296     float     sum      -1  65000.0  264.31  462.54      0\n"
SENSORS = "12V              | 12.096     | Volts      | ok    | na  | 10.8  | 11.1 | 12.9 | 13.2 | na\n"
SDR = "Inlet Temp | 24 degrees C | ok\n12V | 11.10 Volts | cr\nPSU2 Status | 0x09 | ok\n"
TOPO = "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV12\t0-3\nGPU1\tNV12\t X \t0-3\n"
FIO = json.dumps(
    {"jobs": [{"read": {"bw_bytes": 1, "iops": 2.0, "clat_ns": {"percentile": {"99.000000": 5}}}}]}
)
SSE = b'data: {"choices": [{"delta": {"content": "a"}}], "usage": null}\n\ndata: [DONE]\n\n'
BANDWIDTH = (
    "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n           0         1\n 0     55.63     55.64\n"
)


LONG, SOON_CPU_S = 60_000, 3.0  # letters; twenty times what the slowest reader takes


def of_text(read):
    return lambda raw: read(raw.decode("utf-8", "replace"))


def of_file(read):
    def reading(raw):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "given"
            path.write_bytes(raw)
            return read(str(path))

    return reading


def of_tree(place, read):
    """A file of /proc, read through the world's door."""

    def reading(raw):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / place
            path.parent.mkdir(parents=True)
            path.write_bytes(raw)
            return read(World(root=Path(folder)))

    return reading


def held(file):
    """What is held against a plan, and the run that a table keeps of it."""
    planned = read_plan(file)
    return [*hold(TOOK, planned), run_row(TOOK, planned)]


READERS = {
    "smbios modules": (TABLE, smbios.modules_of),
    "smbios slots": (TABLE, smbios.slots_of),
    "dmidecode modules": (DMI.encode(), of_text(smbios.read_modules)),
    "dmidecode slots": (DMI.encode(), of_text(smbios.read_slots)),
    "lspci": (LSPCI.encode(), of_text(lspci.read_lspci)),
    "config space": (bytes(range(256)) * 16, pci.extended),
    "topology": (TOPO.encode(), of_text(smi_text.paths_of)),
    "nvlink": (b"GPU 0: NVIDIA A100 (UUID: GPU-1)\n\t Link 0: 25 GB/s\n", of_text(smi_text.links_of)),
    "sensors": (SENSORS.encode(), of_text(sensors.read_sensors)),
    "sdr": (SDR.encode(), of_text(sensors.read_sdr)),
    "kernel log": (XID.encode(), of_text(lambda text: list(kernel_log.parsed(text)))),
    "cpuinfo": (CPUINFO.encode(), of_tree("proc/cpuinfo", read_cpuinfo)),
    "meminfo": (b"MemTotal:  131072 kB\nHugePages_Total: 2\n", of_tree("proc/meminfo", meminfo.meminfo)),
    "mountinfo": (MOUNTS.encode(), of_tree("proc/self/mountinfo", mounts.entries)),
    "nccl log": (NCCL.encode(), of_text(logs.nccl_tests)),
    "nvbandwidth log": (BANDWIDTH.encode(), of_text(logs.nvbandwidth)),
    "fio": (FIO.encode(), of_text(lambda text: disk.fio_result(text, "read"))),
    "bench file": (json.dumps(FIGURES).encode(), of_file(read_results)),
    "answers of a model": (SSE, lambda raw: list(endpoint.events(io.BytesIO(raw)))),
    "envelope": ("".join(lines({"node": "n1", "machine": plain(Machine())})).encode(), heard),
    "hosts": (b"node[01-08],gpu9\n# comment\nuser@host:22\n", of_file(lambda file: read_hosts(Path(file)))),
    "host words": (b"node[01-08,10],gpu9", of_text(hosts_of)),
    "place": (b"[::1]:9477", of_text(read_place)),
    "token": (b"abcdefghijklmnop\n", of_text(read_token)),
    "plan": (json.dumps(PLAN).encode(), of_file(held)),
    "saved machine": (json.dumps(plain(Machine())).encode(), lambda raw: read_machine(raw, name="given")),
}
TOOLS = {  # a paste of each other tool, through the front door
    "hl-smi": pasted.HL_SMI,
    "lshw": pasted.LSHW,
    "lshw -json": json.dumps(pasted.LSHW_JSON),
    "lm-sensors": pasted.SENSORS,
    "lm-sensors -j": json.dumps(pasted.CORES),
    "topo -p2p": pasted.P2P.format(what="r"),
    "query without heads": pasted.ROWS,
}
READERS |= {
    name: (text.encode(), lambda raw: read_machine(raw, name="given")) for name, text in TOOLS.items()
}
READERS["nccl json"] = (json.dumps(pasted.NCCL).encode(), of_file(read_results))
TEXTS = sorted(set(READERS) - {"smbios modules", "smbios slots", "config space"})
ODD = [
    b"",
    b"-1",
    b"1e999",
    b"NaN",
    b"9" * 400,
    b"\x00",
    b"\xff\xfe",
    "٣".encode(),
    b"[",
    b"{}",
    b"null",
    b"%s",
    b"\n",
]


def survives(name, raw):
    """It reads, or says in a sentence why not."""
    _, read = READERS[name]
    try:
        return read(raw)
    except RigError as error:
        return None if str(error.sentence) else error


@pytest.mark.parametrize("name", READERS)
def test_what_is_sound_is_read(name):
    seed, _ = READERS[name]
    assert survives(name, seed)


@pytest.mark.parametrize("name", READERS)
@given(data=st.data())
def test_bytes_may_be_changed_anywhere(name, data):
    seed, _ = READERS[name]
    raw = seed
    for _ in range(data.draw(st.integers(1, 4))):
        at, span = data.draw(st.integers(0, len(raw))), data.draw(st.integers(0, 12))
        raw = raw[:at] + data.draw(st.sampled_from(ODD) | st.binary(max_size=8)) + raw[at + span :]
    survives(name, raw)


@pytest.mark.parametrize("name", READERS)
def test_bytes_may_end_anywhere(name):
    seed, _ = READERS[name]
    for end in range(0, len(seed), max(1, len(seed) // 40)):
        survives(name, seed[:end])


@pytest.mark.parametrize("name", TEXTS)
def test_a_line_said_a_thousand_times_and_a_line_without_end_are_no_burden(name):
    """A reader whose work grew with the square of the length would compute for a minute."""
    seed, _ = READERS[name]
    times = LONG // len(seed)
    for raw in (seed * times, seed.replace(b"\n", b" ") * times, b"[" * LONG, b"a" * LONG):
        began_s = time.process_time()
        survives(name, raw)
        assert time.process_time() - began_s < SOON_CPU_S, raw[:40]


@pytest.mark.parametrize(
    "words",
    ["a[1-4096][1-4096][1-4096]", "a" + "[1]" * 5000, f"a[{'1,' * 90_000}1]b[1-4096]", "a" * 300_000],
)
def test_few_words_that_mean_many_hosts_are_refused_before_they_are_written_out(words, tmp_path):
    """Two dozen letters can mean more hosts than there is memory for."""
    with pytest.raises(RigError):
        hosts_of(words)
    (tmp_path / "hosts").write_text(words)
    with pytest.raises(RigError):
        read_hosts(tmp_path / "hosts")


def leaves(value, path=()):
    """Every place in a JSON value."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from leaves(one, (*path, key))


def put(value, path, other):
    if not path:
        return other
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = put(value[path[0]], path[1:], other)
    return copy


JSONS = {
    "plan": PLAN,
    "plan of training": {**PLAN, "wish": {"work": "finetune"}},
    "bench file": FIGURES,
    "saved machine": plain(Machine()),
    "fio": json.loads(FIO),
}
THINGS = st.sampled_from(
    [None, True, -1, 0, 10**400, 1e308, float("nan"), "", "x" * 300, [], {}, [[]], {"a": {}}, ["x"]]
)


@pytest.mark.parametrize("name", JSONS)
@given(data=st.data())
def test_any_value_of_a_file_of_ours_may_be_any_other(name, data):
    told = JSONS[name]
    for path in data.draw(st.lists(st.sampled_from(sorted(leaves(told), key=str)), min_size=1, max_size=3)):
        try:
            told = put(told, path, data.draw(THINGS))
        except (KeyError, IndexError, TypeError):
            continue
    survives(name.split(" of ")[0], json.dumps(told).encode())


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """A history as `watch` leaves it."""
    file = tmp_path_factory.mktemp("history") / "history.db"
    machine = Machine()
    fill(file, ticks(until_s=1e9, count=80), results=[result(7e14, at_s=1e9)], on=machine)
    return file


@given(
    pieces=st.lists(
        st.tuples(st.integers(0, 1000), st.binary(min_size=1, max_size=200)), min_size=1, max_size=5
    ),
    cut=st.sampled_from([None, 0, 100, 5000]),
)
def test_a_history_may_be_damaged_anywhere(history, pieces, cut):
    """SQLite's own pages, our packed columns, the JSON inside: a sentence, or what is still whole."""
    raw = bytearray(history.read_bytes())
    for share, piece in pieces:
        at = share * (len(raw) - len(piece)) // 1000
        raw[at : at + len(piece)] = piece
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "h.db"
        file.write_bytes(bytes(raw[:cut]))
        for line in (
            "history --since all",
            "history --since all --of bench",
            "history --since all --of machines",
        ):
            said = quiet([*line.split(), "--file", str(file)])
            assert said.code in {0, 3, 4, 5}, said.err
            assert said.err.count("\n") <= 1


def test_a_moment_that_is_damaged_is_a_gap_and_the_others_are_told(tmp_path):
    import sqlite3

    file = fill(tmp_path / "h.db", ticks(until_s=1e9, count=6))
    with sqlite3.connect(file) as connection:
        for n, damage in enumerate(
            ['{"at":', "[1]", '{"at":"x"}', "\udcff".encode("utf-8", "surrogatepass")], 1
        ):
            connection.execute("UPDATE tick SET row = ? WHERE n = ?", (damage, n))
    connection.close()
    said = quiet(["history", "--since", "all", "--file", file, "--json"])
    assert said.code == 0
    assert said.data["span"]["n_moments"] == 2


def test_a_history_that_unpacks_to_a_flood_is_bounded(tmp_path):
    """A block of zeros packs a thousand to one: what is unpacked has its bound."""
    import sqlite3
    import zlib

    file = fill(tmp_path / "h.db", ticks(until_s=1e9, count=3), results=[], on=Machine())
    flood = zlib.compress(bytes(40 * MIB), 9)
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE machine SET told = ?", (flood,))
    connection.close()
    said = quiet(["history", "--since", "all", "--of", "machines", "--file", str(file)])
    assert said.code == 3
    assert str(file) in said.err
