"""Disks and what is mounted: links, volumes over volumes, health, file systems that hang."""

from __future__ import annotations

import json
import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_trees import planted
from rigright.base.patience import NAME
from rigright.base.units import GIB, KIB, MEGA
from rigright.machine.host import Disk
from rigright.machine.mounts import entries, mounts_of
from rigright.machine.parts.disks import health_of, read
from rigright.machine.world import World, here


def disks_of(world):
    return {disk.name: disk for disk in dict(read(world).fields)["disks"]}


def mounts(world):
    return {mount.path: mount for mount in dict(read(world).fields)["mounts"]}


def test_a_desktop_with_a_fast_and_a_slow_disk(tmp_path):
    found = disks_of(planted(tmp_path, {"like": "desktop"}))
    fast, slow = found["nvme0n1"], found["sda"]
    assert (fast.kind, fast.pci, fast.gen, fast.lanes, fast.lanes_max) == ("nvme", "0000:61:00.0", 4, 4, 4)
    assert (fast.worn_share, fast.spare_share, fast.temperature_c, fast.warnings) == (0.03, 1.0, 38.0, ())
    assert (slow.kind, slow.sata_bytes_per_s, slow.scheduler) == ("hdd", 600 * MEGA, "mq-deadline")
    assert slow.size_bytes == 8001563222016


def test_space_and_the_disk_below(tmp_path):
    found = mounts(planted(tmp_path, {"like": "desktop"}))
    assert set(found) == {"/", "/backup"}
    assert (found["/"].disk, found["/backup"].disk) == ("nvme0n1", "sda")
    assert found["/"].size_bytes == 1.9e9 * KIB
    assert found["/"].files_free_share == pytest.approx(0.96)


def test_volumes_over_volumes_lead_to_the_disk(tmp_path):
    """Root on LVM on LUKS on a partition; data on an array of two; btrfs told by its source alone."""
    block = "/sys/block"
    links = {
        **{f"/sys/class/block/{name}": f"{block}/{name}" for name in ("dm-0", "dm-1", "md0")},
        "/sys/block/dm-1/slaves/dm-0": f"{block}/dm-0",
        "/sys/block/dm-0/slaves/nvme0n1p2": "/sys/class/block/nvme0n1p2",
        "/sys/block/md0/slaves/sda1": "/sys/class/block/sda1",
        "/sys/block/md0/slaves/sdb1": "/sys/class/block/sda1",
        "/sys/dev/block/253:1": f"{block}/dm-1",
        "/sys/dev/block/9:0": f"{block}/md0",
    }
    host = {
        "like": "desktop",
        "files": {
            "/sys/block/dm-0/dm/name": "crypt",
            "/sys/block/dm-1/dm/name": "vg-root",
            "/sys/block/md0/size": "1000",
            "/sys/block/md0/md/degraded": "1",
            "/sys/block/md0/md/level": "raid1",
        },
        "links": links,
        "mounts": {
            "/": {"source": "/dev/mapper/vg-root", "dev": "253:1"},
            "/data": {"source": "/dev/md0", "dev": "9:0", "kind": "xfs"},
            "/home": {"source": "/dev/mapper/vg-root", "dev": "0:41", "kind": "btrfs"},
            "/snap": {"source": "/dev/nvme0n1p1", "dev": "0:42", "kind": "btrfs"},
        },
    }
    world = planted(tmp_path, host)
    found = mounts(world)
    assert {path: found[path].disk for path in ("/", "/data", "/home", "/snap")} == {
        "/": "nvme0n1", "/data": "md0", "/home": "nvme0n1", "/snap": "nvme0n1",
    }  # fmt: skip
    array = disks_of(world)["md0"]
    assert (array.kind, array.model, array.warnings) == ("array", "raid1", ("degraded: 1 missing",))


def test_volumes_that_lie_in_a_ring_end(tmp_path):
    links = {
        "/sys/class/block/dm-0": "/sys/block/dm-0",
        "/sys/class/block/dm-1": "/sys/block/dm-1",
        "/sys/block/dm-0/slaves/dm-1": "/sys/block/dm-1",
        "/sys/block/dm-1/slaves/dm-0": "/sys/block/dm-0",
        "/sys/dev/block/253:0": "/sys/block/dm-0",
    }
    host = {"links": links, "mounts": {"/": {"source": "/dev/dm-0", "dev": "253:0", "kind": "ext4"}}}
    (mount,) = mounts_of(planted(tmp_path, host)).mounts
    assert mount.disk is None


def test_an_nvme_disk_of_several_paths_finds_its_controller(tmp_path):
    virtual = "/sys/devices/virtual/nvme-subsystem/nvme-subsys3/nvme3n1"
    pci = "/sys/devices/pci0000:60/0000:60:02.1/0000:61:00.0"
    host = {
        "like": "desktop",
        "disks": {"nvme0n1": False},
        "files": {f"{virtual}/size": "2048", f"{virtual}/queue/rotational": "0"},
        "links": {
            "/sys/block/nvme3n1": virtual,
            "/sys/class/nvme-subsystem/nvme-subsys3/nvme5": f"{pci}/nvme/nvme5",
        },
    }
    world = planted(tmp_path, host)
    (world.root / f"{pci}/nvme/nvme5".lstrip("/")).mkdir(parents=True)
    assert disks_of(world)["nvme3n1"].pci == "0000:61:00.0"


@pytest.mark.parametrize(
    ("told", "warnings"),
    [
        ({"critical_warning": 0}, ()),
        ({"critical_warning": 5}, ("spare blocks below the threshold", "reliability degraded")),
        ({"critical_warning": {"value": 8, "ro": 1}}, ("read only",)),
        ({"critical_warning": "4"}, ("reliability degraded",)),
    ],
)
def test_what_an_nvme_disk_warns_of(tmp_path, told, warnings):
    world = planted(tmp_path, {"commands": {"nvme smart-log -o json /dev/nvme0n1": json.dumps(told)}})
    assert health_of(world, Disk(name="nvme0n1", kind="nvme"))["warnings"] == warnings


def test_smartctl_serves_where_nvme_is_not_there(tmp_path):
    log = {"critical_warning": 0, "percentage_used": 91, "available_spare": 7, "media_errors": 3}
    told = {
        "smart_status": {"passed": False},
        "nvme_smart_health_information_log": log,
        "temperature": {"current": 70},
    }
    said = {"code": 8, "out": json.dumps(told)}
    world = planted(tmp_path, {"commands": {"smartctl -j -a -n standby /dev/nvme0n1": said}})
    health = health_of(world, Disk(name="nvme0n1", kind="nvme"))
    assert (health["worn_share"], health["spare_share"], health["media_errors"]) == (0.91, 0.07, 3)
    assert (health["temperature_c"], health["warnings"]) == (70.0, ("overall health: failed",))


def test_sectors_that_a_sata_disk_gave_up(tmp_path):
    table = [
        {"id": 5, "raw": {"value": 24}},
        {"id": 197, "raw": {"value": 0}},
        {"id": 198, "raw": {"value": 2}},
        7,
    ]
    told = {"smart_status": {"passed": True}, "ata_smart_attributes": {"table": table}}
    world = planted(tmp_path, {"commands": {"smartctl -j -a -n standby /dev/sda": json.dumps(told)}})
    assert health_of(world, Disk(name="sda"))["warnings"] == (
        "reallocated sectors: 24",
        "unreadable sectors: 2",
    )


@given(
    st.recursive(
        st.none() | st.integers() | st.floats() | st.text(max_size=8),
        lambda x: (
            st.lists(x, max_size=4)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "critical_warning",
                        "temperature",
                        "smart_status",
                        "ata_smart_attributes",
                        "table",
                        "raw",
                        "value",
                        "id",
                        "percent_used",
                        "nvme_smart_health_information_log",
                        "current",
                    ]
                ),
                x,
                max_size=6,
            )
        ),
        max_leaves=12,
    )
)
def test_any_json_is_taken_for_health(tmp_path_factory, told):
    folder = tmp_path_factory.mktemp("smart")
    said = json.dumps(told)
    lines = {"nvme smart-log -o json /dev/nvme0n1": said, "smartctl -j -a -n standby /dev/nvme0n1": said}
    health_of(planted(folder, {"commands": lines}), Disk(name="nvme0n1", kind="nvme"))


def test_health_that_nobody_tells_is_not_observed(tmp_path):
    host = {
        "like": "desktop",
        "commands": {
            "nvme smart-log -o json /dev/nvme0n1": "not json",
            "smartctl -j -a -n standby /dev/sda": False,
        },
    }
    told = read(planted(tmp_path, host))
    (unseen,) = [one for one in told.unseen if one.what == "disks.health"]
    assert "nvme0n1, sda" in str(unseen.why)
    assert unseen.see == "sudo smartctl -a /dev/nvme0n1"


def test_what_the_system_mounts_for_itself_is_left_out(tmp_path):
    small = {"source": "x", "kind": "tmpfs"}
    host = {
        "like": "desktop",
        "mounts": {
            "/run": small, "/run/user/1000": small, "/proc": {"source": "proc", "kind": "proc"},
            "/etc/hosts": {"source": "/dev/nvme0n1p2", "kind": "ext4", "dev": "259:2"},
            "/var/lib/docker/overlay2/x/merged": {"source": "overlay", "kind": "overlay"},
            "/srv": {"source": "/dev/nvme0n1p2", "kind": "ext4", "dev": "259:2"},
            "/snap/core/1": {"source": "/dev/loop0", "kind": "squashfs"},
            "/scratch": {"source": "tmpfs", "kind": "tmpfs", "super": "rw,size=64g"},
            "/mnt/with blank": {"source": "srv:/x", "kind": "nfs4", "super": "rw,soft,addr=10.0.0.1"},
        },
    }  # fmt: skip
    host["mounts"]["/mnt/with\\040blank"] = host["mounts"].pop("/mnt/with blank")
    found = {mount.path: mount for mount in mounts_of(planted(tmp_path, host)).mounts}
    assert set(found) == {"/", "/backup", "/scratch", "/mnt/with blank"}
    assert "soft" in found["/mnt/with blank"].options


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a shell and /proc")
def test_a_network_mount_that_hangs_costs_its_time_and_only_itself(tmp_path):
    """df never comes back about the share; all others are told, and the share is not observed."""
    host = {
        "like": "desktop",
        "mounts": {"/backup": False, "/share": {"source": "srv:/x", "kind": "nfs4", "super": "rw,hard"}},
    }
    root = planted(tmp_path, host).root
    lines = 'echo head; shift; for at; do echo "/dev/x 100 40 60 40% $at"; done'
    (tmp_path / "df").write_text(f'#!/bin/sh\ncase "$*" in *share*) exec sleep 60;; esac\n{lines}\n')
    (tmp_path / "df").chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", NAME: "0.5"}
    told = mounts_of(World(root=root, env=env, is_live=True))
    assert [one.what for one in told.unseen] == ["mounts./share"]
    sizes = {mount.path: mount.size_bytes for mount in told.mounts}
    assert sizes == {"/": 100 * KIB, "/share": None}


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_this_machine_as_psutil_sees_it():
    psutil = pytest.importorskip("psutil")
    found = {mount.path: mount for mount in mounts_of(here()).mounts}
    usage = psutil.disk_usage("/")
    assert found["/"].size_bytes == pytest.approx(usage.total, rel=0.1)
    assert found["/"].free_bytes == pytest.approx(usage.free, abs=4 * GIB)


@given(st.binary(max_size=300))
def test_any_list_of_mounts_is_taken(tmp_path_factory, raw):
    folder = tmp_path_factory.mktemp("mounts")
    (folder / "proc/self").mkdir(parents=True)
    (folder / "proc/self/mountinfo").write_bytes(b"20 1 259:2 / / rw shared:1 - ext4 /dev/sda1 rw\n" + raw)
    assert entries(World(root=folder))[0].path == "/"
