"""Checks of AMD's and Intel's cards and their software: the same four."""

from __future__ import annotations

from dataclasses import replace

from ledger import Row
from rows_software import OFFICE, TORCH, VENV, env

from rigright.base.units import GIB
from rigright.doctor.record import Wanted
from rigright.machine.device import Ecc, Retired, Slice

AMD = {"on": "amd"}
OVERRIDE = "HSA_OVERRIDE_GFX_VERSION"


def cards(isa, **more):
    """Both cards of one instruction set."""
    return AMD | {"every": {"isa": isa, **more}}


def halo(lent, **more):
    """Graphics inside a processor, to which so many GiB are lent of 125."""
    shared = {"name": "AMD Radeon 8060S", "pci_id": "1002:1586", "unified_memory": True}
    total = None if lent is None else lent * GIB
    told = cards("gfx1151", mem_total_bytes=total, **shared)
    return told | {"memory__total_bytes": 125 * GIB, "count": 1} | more


def wheel(*archs, build="rocm6.4"):
    """A ROCm PyTorch with kernels for these; none: it does not tell."""
    torch = replace(TORCH, build=build, cuda=None, archs=archs or None)
    return {"software__pythons": (replace(VENV, frameworks=(torch,)),)}


def files(*there, closed=()):
    """Files below /dev, and those of them that are closed to the user."""
    return {"software__device_files": there, "software__closed_files": closed}


def cut(mode, *, each=24 * GIB, **more):
    """Cards in eight parts of so many bytes."""
    parts = tuple(Slice(gpu_instance=part, profile=mode, mem_total_bytes=each) for part in range(8))
    return AMD | {"every": {"slices": parts}} | more


def pages(bad, *, waiting=0, stuck=0, most=None):
    """One card with so many bad pages; the other has none."""
    clean = Retired(pages_bad=0, pages_waiting=0, pages_stuck=0)
    worn = Retired(pages_bad=bad, pages_waiting=waiting, pages_stuck=stuck, pages_most=most)
    return AMD | {"every": {"retired": clean}, "cards": {0: {"retired": worn}}}


PLANNED = Wanted(chips=("mi100",) * 2)
OFFICIAL = wheel("gfx1030", "gfx1100", "gfx908")
FIRST = f"{VENV.path}, amd gpu 0"
ROWS = {
    "amd_iommu": Row(
        finds=(
            (AMD | {"system__iommu": "on", "system__os_id": "ubuntu"}, "warning", None),
            (AMD | {"system__iommu": "on", "system__os_id": "fedora"}, "warning", None),
        ),
        fine=AMD | {"system__iommu": "passthrough"},
        unseen=AMD | {"system__iommu": None},
        apart=AMD | {"system__iommu": "on", "count": 1},
    ),
    "amd_override": Row(
        finds=(
            (cards("gfx908") | env(**{OVERRIDE: "10.3.0"}), "fault", "amd gpu 1"),
            (cards("gfx1100") | env(**{OVERRIDE: "11"}), "fault", OVERRIDE),
            (cards("gfx1100") | OFFICIAL | env(**{OVERRIDE: "11.0.1"}), "warning", "amd gpu 0"),
            (halo(96) | env(**{OVERRIDE: "11.0.0"}), "warning", "amd gpu 0"),
        ),
        fine=cards("gfx1031") | OFFICIAL | env(**{OVERRIDE: "10.3.0"}),
        unseen=cards(None) | env(**{OVERRIDE: "10.3.0"}),
        apart=cards("gfx1031") | env(),
    ),
    "gpu_files": Row(
        finds=(
            (AMD | files() | OFFICIAL, "fault", None),
            (AMD | files("kfd", closed=("kfd", "dri/renderD128")) | OFFICIAL, "fault", None),
            (AMD | files("kfd", closed=("kfd",)), "note", None),
            (AMD | files() | OFFICIAL | {"system__container": "docker"}, "fault", None),
            (AMD | {"every": {"vendor": "intel"}} | files(closed=("dri/renderD128",)), "note", None),
        ),
        fine=AMD | files("kfd"),
        unseen=AMD | {"software__closed_files": None},
        apart=OFFICE | files(closed=("dri/renderD128",)),
    ),
    "memory_lent": Row(
        finds=(
            (halo(62.5, system__os_id="ubuntu"), "note", "amd gpu 0"),
            (halo(62.5, system__os_id="arch"), "note", "amd gpu 0"),
        ),
        fine=halo(96),
        unseen=halo(None),
        apart=AMD,
    ),
    "gpu_partitions": Row(
        finds=(
            (cut("CPX/NPS4", wanted=PLANNED), "warning", "amd gpu 1"),
            (cut("CPX/NPS4", cards={0: {"slices": ()}}), "note", "amd gpu 1"),
        ),
        fine=cut("CPX/NPS1"),
        unseen=cut("CPX/NPS1", each=None),
        apart=AMD,
    ),
    "pages_bad": Row(
        finds=(
            (pages(64, stuck=1), "fault", "amd gpu 0"),
            (pages(256, most=256), "fault", "amd gpu 0"),
            (pages(231, most=256), "warning", "amd gpu 0"),
            (pages(16, waiting=16), "warning", "amd gpu 0"),
            (pages(16, most=256), "note", "amd gpu 0"),
        ),
        fine=pages(0),
        unseen=AMD | {"every": {"ecc": Ecc(on=True), "retired": None}},
        apart=AMD | {"every": {"ecc": None, "retired": None}},
    ),
    "torch_rocm": Row(
        finds=(
            (cards("gfx1032") | OFFICIAL, "fault", FIRST),
            (cards("gfx1201") | OFFICIAL, "fault", FIRST),
            (cards("gfx1100") | OFFICIAL | env(**{OVERRIDE: "11.0.2"}), "fault", FIRST),
        ),
        fine=cards("gfx1032") | OFFICIAL | env(**{OVERRIDE: "10.3.0"}),
        unseen=cards("gfx1100") | wheel(),
        apart=cards("gfx1100") | wheel("sm_90", build="cu128"),
    ),
}
