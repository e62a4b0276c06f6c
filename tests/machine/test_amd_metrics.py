"""What holds a card of AMD back, as its firmware's table has it."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_other_vendors import amd_tree

from rigright.facts.faults import slowdowns
from rigright.machine.amd.metrics import slowed_by
from rigright.machine.sampling.drm import DrmReader
from rigright.machine.vendors import amd

ORDER = "<HBB6H3HHQQ7H7HIHHHHII4HQ3HHQ"  # gpu_metrics_v1_3 of the kernel's kgd_pp_interface.h
PPT0, TDC_GFX, HOTSPOT, PROCHOT_GFX, FIT = 0, 16, 36, 47, 57


def table(*bits, layout=(1, 3), status=None):
    """Such a table, in which these reasons hold."""
    names = struct.calcsize(ORDER)
    told = sum(1 << bit for bit in bits) if status is None else status
    fields = 1 + 1 + 1 + 6 + 3 + 1 + 1 + 1 + 7 + 7 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 4 + 1 + 3 + 1
    return struct.pack(ORDER, names, *layout, *[0] * (fields - 3), told)


@pytest.mark.parametrize(
    ("bits", "words"),
    [
        ((), ()),
        ((PPT0,), ("sw_power_cap",)),
        ((PPT0, TDC_GFX), ("sw_power_cap",)),
        ((HOTSPOT, PPT0), ("sw_power_cap", "sw_thermal")),
        ((PROCHOT_GFX,), ("hw_slowdown",)),
        ((FIT,), ("reliability",)),
    ],
)
def test_each_reason_has_its_word(bits, words):
    assert len(table()) == 120
    assert slowed_by(table(*bits)) == words
    assert set(words) <= set(slowdowns())


@pytest.mark.parametrize(
    "raw", [None, b"", table()[:119], table(layout=(1, 4)), table(layout=(2, 3)), table(status=2**64 - 1)]
)
def test_another_layout_tells_nothing(raw):
    assert slowed_by(raw) is None


@given(st.binary(max_size=300))
def test_any_bytes_are_no_crash(raw):
    found = slowed_by(raw)
    assert found is None or set(found) <= set(slowdowns())


def test_probe_and_sampler_see_it(tmp_path):
    world = amd_tree(tmp_path)
    (tmp_path / "sys/class/drm/card0/device/gpu_metrics").write_bytes(table(HOTSPOT))
    first, second = amd.read(world).fields["devices"]
    assert (first.slowed_by, second.slowed_by) == (("sw_thermal",), None)
    reader = DrmReader(world)
    assert [one.slowed_by for one in reader.read(0.0)] == [("sw_thermal",), None]
    reader.close()
