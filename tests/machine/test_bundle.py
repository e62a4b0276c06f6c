"""Bundles: they read as the machine did, they keep private what is private, and hostile ones are refused."""

from __future__ import annotations

import gzip
import json
import os
import re
import tarfile
import threading
import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archives import tar_of, zip_of
from examples import THOROUGH
from fake_trees import planted
from rigright.base import files
from rigright.base.errors import DataError, RigError
from rigright.base.units import MIB
from rigright.machine.bundle import write_bundle
from rigright.machine.bundle.recording import Replay, recorder
from rigright.machine.bundle.redaction import Redaction, name_rules, redaction_of, rules
from rigright.machine.opened import open_machine, read_machine
from rigright.machine.opened.archive import most_unpacked, unpacked
from rigright.machine.parts.surroundings import HIDDEN
from rigright.machine.probe import probe
from rigright.machine.running import pythons
from rigright.machine.stored import plain
from scenes import scene

PRIVATE = {
    "/proc/sys/kernel/hostname": "secretbox7\n",
    "/etc/machine-id": "0123456789abcdef0123456789abcdef\n",
    "/sys/class/dmi/id/product_serial": "SRV-99421\n",
    "/proc/mounts": "nas.corp.example:/vol /data nfs4 rw,addr=10.20.30.40 0 0\n/dev/sda1 / ext4 rw 0 0\n",
}
LOG = (
    "[    1.000000] NVRM: Xid (PCI:0000:9b:00): 79, pid=7, name=python, GPU has fallen off the bus.\n"
    "[    2.000000] NVRM: GPU Board Serial Number: 1650124014249\n"
    "[    3.000000] mlx5_core 0000:1a:00.0: MAC aa:bb:cc:12:34:56 of secretbox7, peer 10.1.2.3\n"
)


@pytest.fixture
def bundled(tmp_path):
    """What a world is kept as: its machine, and every byte of the bundle."""

    def make(world, name="box.tar.gz"):
        file = tmp_path / name
        told = write_bundle(world, file, version="1.2.3")
        return told, file

    return make


def insides(file):
    """Every byte that somebody who opens it could see."""
    with tarfile.open(file) as tar:
        return {one.name: tar.extractfile(one).read() for one in tar if one.isreg()}


@pytest.mark.parametrize("name", ["healthy_2x4090", "mig", "gb10"])
def test_a_bundle_reads_as_the_machine_did(name, tmp_path, bundled):
    """All but private names: driver, tree and commands were asked once, and answer again."""
    told, file = bundled(scene(name, tmp_path))
    again = open_machine(file)
    assert plain(nameless(again)) == plain(nameless(told.machine))


def test_every_variable_that_matters_is_kept_and_none_that_is_private(tmp_path, bundled):
    env = {
        "HOME": "/home/alice_w",
        "HF_HUB_OFFLINE": "1",
        "HF_HOME": "/home/alice_w/hf",
        "HF_TOKEN": "hf_verysecret",
        "VLLM_USE_V1": "1",
        "SGLANG_PORT": "30000",
        "PYTHONPATH": "/opt/site",
        "SLURM_GPUS_ON_NODE": "8",
        "SLURM_JOB_USER": "alice_w",
        "EDITOR": "vi",
    }
    world = planted(tmp_path, {"like": "desktop"}, env)
    told, file = bundled(world)
    again, seen = dict(open_machine(file).environment), dict(told.machine.environment)
    assert set(again) == set(seen) == set(env) - {"HOME", "SLURM_JOB_USER", "EDITOR"}
    assert again["HF_TOKEN"] == seen["HF_TOKEN"] == HIDDEN
    assert {name for name in seen if again[name] != seen[name]} == {"HF_HOME"}
    assert b"alice" not in b"".join(insides(file).values())


def test_files_of_a_home_are_found_again(tmp_path):
    """Their paths bear a made-up name, and so does the home that they are looked for in."""
    told = {"/home/alice_w/.config/pip/pip.conf": "[global]\nindex-url = https://mirror.example/simple\n"}
    world = recorder(planted(tmp_path, {"like": "desktop", "files": told}, {"HOME": "/home/alice_w"}))
    seen = pythons.index(world, "/x/bin/python")
    kept = redaction_of(probe(world), world.kept).recording(world.kept)
    assert "/home/alice_w" not in kept.env.values()
    assert pythons.index(Replay(kept=kept, env=kept.env), "/x/bin/python") == seen
    assert "mirror.example" in seen


def nameless(machine):
    """The machine without what a bundle renames."""
    devices = tuple(replace(one, uuid=None, serial=None) for one in machine.devices)
    slices = tuple(
        replace(one, slices=tuple(replace(part, uuid=None) for part in one.slices)) for one in devices
    )
    system = replace(machine.system, host=None, now_s=None, up_s=None)
    return replace(machine, devices=slices, origin="", system=system)


def test_without_the_stored_machine_the_files_alone_tell_the_host(tmp_path):
    """What readers asked for is enough for them: nothing of the host hangs on the stored record."""
    world = scene("healthy_2x4090", tmp_path)
    heard = recorder(world)
    live = probe(heard)
    again = probe(Replay(kept=heard.kept, env=heard.kept.env))
    for part in ("cpu", "memory", "disks", "mounts", "ports", "pci", "slots", "sensors", "software"):
        if part == "software":
            assert again.software.toolkits == live.software.toolkits
        else:
            assert getattr(again, part) == getattr(live, part), part


def test_nothing_private_is_in_it(tmp_path, bundled):
    """Host, users, serials, addresses and tokens of a whole machine, looked for in every byte."""
    env = {
        "USER": "alice_w",
        "CUDA_VISIBLE_DEVICES": "0",
        "HF_TOKEN": "hf_verysecret",
        "PIP_INDEX_URL": "https://bob:pa55word@pypi.corp.example/simple",
        "VIRTUAL_ENV": "/home/alice_w/projects/moonshot/venv",
    }
    world = planted(tmp_path, {"like": "desktop", "files": PRIVATE, "commands": {"dmesg": LOG}}, env)
    _, file = bundled(world)
    everything = b"\n".join([*insides(file).values(), *(name.encode() for name in insides(file))])
    for secret in (
        *("secretbox7", "alice_w", "hf_verysecret", "pa55word", "moonshot", "SRV-99421", "1650124014249"),
        *(
            "aa:bb:cc:12:34:56",
            "10.1.2.3",
            "10.20.30.40",
            "nas.corp.example",
            "0123456789abcdef0123456789abcdef",
        ),
    ):
        assert secret.encode() not in everything, secret
    assert b"Xid (PCI:0000:9b:00): 79, pid=7" in everything  # what it is for


def test_equal_stays_equal_and_two_bundles_cannot_be_joined():
    card = "GPU-5a0c1e00-0000-4000-8000-000000000001"
    line = f"{card} and {card} at aa:bb:cc:00:00:01"
    one, other = (Redaction().text(line) for _ in range(2))
    left, _, right = one.partition(" and ")
    assert left == right.partition(" at ")[0]
    assert one != other
    assert one.startswith("GPU-")
    assert len(one) == len(line)


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.kind)
def test_each_rule_hides_and_keeps_what_its_row_says(rule):
    """By itself, and as one of all: what is private goes, what stands around it stays."""
    for example in rule.hides:
        plain_text = re.sub("[<>]", "", example)
        around = ".{1,200}?".join(map(re.escape, re.split("<.*?>", example)))
        assert rule.pattern.search(plain_text), example
        told = Redaction().text(plain_text)
        assert not any(private in told for private in re.findall("<(.*?)>", example)), told
        assert re.fullmatch(around if rule.text != "" else around.replace(".{1,200}?", ""), told), told
    for kept in rule.keeps:
        assert Redaction().text(kept) == kept
    assert rule.hides
    assert rule.keeps


@pytest.mark.parametrize(
    "kept",
    ["0000:19:00.0", "NVIDIA H100 80GB HBM3", "5.15.0-185-generic", "GPU 0: 81559 MiB", "root", "the gpu"],
)
def test_what_is_not_private_stays(kept):
    names = (*name_rules("host", ["gpu", "box-17", None]), *name_rules("user", ["root", "alice"]))
    assert Redaction(names=names).text(kept) == kept


def test_versions_of_four_numbers_are_no_addresses_where_packages_stand():
    version = "nvidia-curand-cu12 10.3.5.147"
    assert Redaction().text(version, has_versions=True) == version
    assert Redaction().file("/var/lib/dpkg/status", version.encode()) == version.encode()
    assert b"10.3.5.147" not in Redaction().file("/var/log/syslog", version.encode())


@given(st.text(max_size=200))
def test_hiding_twice_is_hiding_once(text):
    redaction = Redaction(names=(*name_rules("host", ["box-17"]), *name_rules("user", ["alice"])))
    once = redaction.text(text)
    assert redaction.text(once) == once


def test_serials_in_the_firmwares_table_are_renamed_in_place():
    """A hand-made structure of the system, type 1: strings maker and serial, and a UUID."""
    body = bytes([1, 27, 0, 0, 1, 0, 0, 2]) + bytes(range(16)) + b"\x06\0\0" + b"Dell Inc.\0ABC1234\0\0"
    raw = body + bytes([127, 4, 1, 0]) + b"\0\0"
    redaction = Redaction()
    hidden = redaction.firmware(raw)
    assert len(hidden) == len(raw)
    assert b"ABC1234" not in hidden
    assert b"Dell Inc." in hidden
    assert hidden[8:24] != raw[8:24]
    assert dict(redaction.counts) == {"serial": 1, "guid": 1}


def test_what_a_firmwares_table_holds_behind_its_last_whole_structure_is_blank():
    raw = bytes([1, 8, 0, 0, 0, 0, 0, 1]) + b"ABC1234\0"  # cut off before its end
    assert not any(Redaction().firmware(raw))
    behind = bytes([127, 4, 1, 0]) + b"\0\0" + b"ABC1234"
    assert b"ABC1234" not in Redaction().firmware(behind)


@given(st.binary(max_size=600))
def test_tables_of_any_bytes_keep_their_length(raw):
    assert len(Redaction().firmware(raw)) == len(raw)
    assert len(Redaction().config_space(raw)) == len(raw)


def test_the_record_in_it_bears_the_same_made_up_names_as_the_files(tmp_path):
    recorded = recorder(scene("healthy_2x4090", tmp_path))
    machine = probe(recorded)
    redaction = redaction_of(machine, recorded.kept)
    public = redaction.machine(machine)
    assert public.devices[1].uuid in redaction.text(f"uuid {machine.devices[1].uuid}")
    assert public.devices[1].uuid != machine.devices[1].uuid


MACHINE = json.dumps({"schema": 1, "devices": []}).encode()
WHOLE = (("machine.json", MACHINE), ("index.json", b"{}"))


def special(name, kind, to=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, to
    return info


def test_a_small_whole_one_opens():
    assert read_machine(tar_of(*WHOLE), name="x").origin == "x"
    assert read_machine(tar_of(*WHOLE, mode="w"), name="x").devices == ()


def test_paths_links_and_devices_in_it_reach_nothing(tmp_path, monkeypatch):
    """Nothing is ever unpacked: such members are keys that nobody asks for."""
    monkeypatch.chdir(tmp_path)
    raw = tar_of(
        *WHOLE,
        ("../../outside", b"x"),
        ("/etc/cron.d/evil", b"x"),
        (special("files/proc/meminfo", tarfile.SYMTYPE, "/etc/passwd"), b""),
        (special("files/sys/x", tarfile.LNKTYPE, "/etc/shadow"), b""),
        (special("files/dev/sda", tarfile.BLKTYPE), b""),
        (special("files/fifo", tarfile.FIFOTYPE), b""),
    )
    machine = read_machine(raw, name="x")
    assert machine.memory.total_bytes is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("raw", "names"),  # and what the sentence names
    [
        (lambda: gzip.compress(b"\0" * (40 * MIB), mtime=0), "file"),
        (gzip.compress(b"x" * 1000, mtime=0)[:-20], "file why"),
        (b"\x1f\x8bnot gzip at all", "file why"),
        (tar_of(*WHOLE, ("files/x", os.urandom(9000)))[:-3000], "file why"),
        (tar_of(("machine.json", b"[]")), "file supported"),
        (tar_of(("machine.json", b"{" * 50_000), ("index.json", b"{}")), "file why machine.json"),
        (tar_of(("machine.json", MACHINE[:-1])), "file supported"),
        (tar_of(("machine.json", MACHINE), ("index.json", b'{"commands": 7}')), "file why"),
        (tar_of(("machine.json", MACHINE), ("index.json", b'{"folders": [1]}')), "file why"),
        (tar_of(("machine.json", b'{"schema": 1, "devices": 5}'), ("index.json", b"{}")), "where text kind"),
    ],
)
def test_a_hostile_one_is_refused_in_a_sentence(raw, names):
    with pytest.raises(DataError, match="given") as refused:
        read_machine(raw if isinstance(raw, bytes) else raw(), name="given")
    told = refused.value.sentence.values
    assert [name for name, _ in told] == [name for name in names.split() if "." not in name]
    assert "machine.json" not in names or "machine.json" in str(refused.value)


def test_one_may_end_anywhere():
    raw = tar_of(*WHOLE, mode="w")
    for end in range(0, len(raw), 37 if THOROUGH else 211):
        try:
            read_machine(raw[:end], name="cut")
        except RigError:
            continue


@given(st.data())
def test_one_may_be_changed_anywhere(data):
    raw = bytearray(tar_of(*WHOLE, mode="w"))
    for _ in range(data.draw(st.integers(1, 6))):
        raw[data.draw(st.integers(0, 1535))] = data.draw(st.integers(0, 255))
    try:
        read_machine(bytes(raw), name="changed")
    except RigError:
        return


def test_a_gzip_of_a_text_is_the_text():
    log = b"<nvidia_smi_log><attached_gpus>0</attached_gpus></nvidia_smi_log>"
    assert read_machine(gzip.compress(log, mtime=0), name="x").devices == ()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_a_pipe_is_read_and_one_without_a_writer_is_waited_for_in_vain(tmp_path, monkeypatch):
    """So that a shell can hand over what a command prints: --from <(dmesg)."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(LOG,))
    writer.start()
    assert [event.code for event in open_machine(pipe).events] == [79]
    writer.join()
    monkeypatch.setattr(files, "NO_WRITER_S", 0.1)
    with pytest.raises(DataError, match=str(pipe)):
        open_machine(pipe)
    with pytest.raises(RigError, match=r"absent\.json"):
        open_machine(tmp_path / "absent.json")


@pytest.mark.parametrize("pack", ["gz", "tar.gz", "zip"])
def test_what_unpacks_to_a_flood_is_read_up_to_its_bound_and_said_to_be_cut(pack):
    """A log packs thirty to one, a flood a thousand to one: a hundred KB of it never take a hundred MB."""
    text = LOG.encode() + b"# nothing more is said here\n" * (20 * MIB // 28)
    packed = {
        "gz": gzip.compress,
        "tar.gz": lambda whole: tar_of(("f.txt", whole)),
        "zip": lambda whole: zip_of(("f.txt", whole)),
    }
    raw = packed[pack](text)
    assert len(raw) < MIB
    tracemalloc.start()
    try:
        members = unpacked(raw, name="given")
        assert tracemalloc.get_traced_memory()[1] < 100 * MIB
    finally:
        tracemalloc.stop()
    assert [one.is_cut for one in members if one.raw] == [True]
    assert max(len(one.raw) for one in members) <= most_unpacked(len(raw))
    assert members[-1].raw.startswith(LOG.encode())
