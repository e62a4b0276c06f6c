"""DCGM's diagnosis as a form of --from: its tables and its JSON, of versions 3 and 4."""

# ruff: noqa: E501 - the tables are as wide as the program prints them
from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.errors import RigError
from rigright.doctor.examine import case_of, examine
from rigright.machine.opened import read_machine
from rigright.machine.stored import plain, restored

TABLE = """\
Successfully ran diagnostic for group.
+---------------------------+------------------------------------------------+
| Diagnostic                | Result                                         |
+===========================+================================================+
|-----  Metadata  ----------+------------------------------------------------|
| DCGM Version              | 3.3.9                                          |
| Driver Version Detected   | 570.86.15                                      |
| GPU Device IDs Detected   | 2330,2330,2330,2330                            |
|-----  Deployment  --------+------------------------------------------------|
| Denylist                  | Pass                                           |
| Persistence Mode          | Fail                                           |
| Error                     | Persistence mode for GPU 2 is off. The test w  |
|                           | ants it on.                                    |
+-----  Integration  -------+------------------------------------------------+
| PCIe                      | Pass - All                                     |
| Info                      | GPU 0 GPU to Host bandwidth:  52.33 GB/s, GPU  |
|                           |  0 Host to GPU bandwidth:  53.15 GB/s          |
+-----  Hardware  ----------+------------------------------------------------+
| GPU Memory                | Pass - GPUs: 0, 2, 3                           |
|                           | Fail - GPU: 1                                  |
| Warning                   | GPU 1 Thermal violations of 13.3 seconds star  |
|                           | ted 9.7 seconds into the test for GPU 1 Look   |
|                           | at the fans.                                   |
| Diagnostic                | Skip - All                                     |
+---------------------------+------------------------------------------------+
"""
NEWER = """\
| Diagnostic                | Result                                         |
| memory                    | Fail                                           |
|                           | GPU0: Pass                                     |
|                           | GPU1: Fail                                     |
| Warning: GPU1             | A row waits to be replaced.                    |
"""


def answer(status="Fail", grave=2, entity=1, test="memory", root="DCGM Diagnostic", **more):
    result = {
        "entity_group": "GPU",
        "entity_id": entity,
        "status": status,
        "warnings": [{"warning": "An error was seen", "error_id": 8, "error_severity": grave}],
        **more,
    }
    tests = [{"name": test, "results": [result], "test_summary": {"status": status}}]
    return {
        root: {"test_categories": [{"category": "Hardware", "tests": tests}]},
        "entity_groups": [{"entity_group": "GPU", "entities": [{"entity_id": 1, "device_id": "2330"}]}],
        "metadata": {"Driver Version Detected": "580.82.09", "version": "4.2.3"},
    }


def machine_of(text):
    return read_machine((text if isinstance(text, str) else json.dumps(text)).encode(), name="diag")


def findings(text):
    told = examine(case_of(machine_of(text)), ("dcgm_diagnosis",))
    return {(one.severity, one.about) for _, one in told.findings}


def test_a_table_to_its_last_row():
    machine = machine_of(TABLE)
    told = {(one.test, one.card): one for one in machine.software.diagnosed}
    assert machine.software.driver == "570.86.15"
    assert [(card.index, card.pci_id) for card in machine.devices] == [(at, "10de:2330") for at in range(4)]
    assert told["persistence mode", 2].outcome == "fail"
    assert told["gpu memory", 1].says == (
        "GPU 1 Thermal violations of 13.3 seconds started 9.7 seconds into the test for GPU 1 Look at the fans.",
    )
    assert told["gpu memory", 3].outcome == told["pcie", None].outcome == "pass"
    assert told["pcie", None].says == ()
    assert told["diagnostic", None].outcome == "skip"
    assert findings(TABLE) == {("warning", "gpu 2"), ("fault", "gpu 1")}


def test_rows_of_cards_below_their_test():
    told = {(one.test, one.card): one for one in machine_of(NEWER).software.diagnosed}
    assert set(told) == {("memory", 0), ("memory", 1)}
    assert told["memory", 1].says == ("A row waits to be replaced.",)
    assert findings(NEWER) == {("fault", "gpu 1")}


@pytest.mark.parametrize("root", ["DCGM Diagnostic", "DCGM GPU Diagnostic"])
@pytest.mark.parametrize(
    ("status", "grave", "found"),
    [
        ("Fail", 2, {("fault", "gpu 1")}),
        ("Fail", 5, {("warning", "gpu 1")}),
        ("Fail", 1, {("warning", "gpu 1")}),
        ("WARN", 4, {("warning", "gpu 1")}),
        ("Pass", 0, set()),
        ("Skip", 0, set()),
    ],
)
def test_the_json_as_it_weighs_its_errors(root, status, grave, found):
    machine = machine_of(answer(status, grave, root=root))
    assert machine.software.driver == "580.82.09"
    assert machine.devices[0].pci_id == "10de:2330"
    assert machine.software.diagnosed[0].code == 8
    assert findings(answer(status, grave, root=root)) == found


def test_the_older_json_names_cards_in_one_word_and_stands_behind_a_banner():
    found = answer(root="DCGM GPU Diagnostic", entity=None, gpu_ids="0,3", warnings=["slow"])
    text = "Successfully ran diagnostic for group.\n" + json.dumps(found)
    assert {(one.card, one.says) for one in machine_of(text).software.diagnosed} == {
        (0, ("slow",)),
        (3, ("slow",)),
    }


def test_what_was_not_run_is_no_pass():
    for status in ("Skip", "Not Run", "", "Inconclusive"):
        (checked,) = examine(case_of(machine_of(answer(status))), ("dcgm_diagnosis",)).checks
        assert [type(one).__name__ for one in checked.verdicts] == ["NotSeen"]


def test_a_diagnosis_can_be_stored():
    machine = machine_of(TABLE)
    assert restored(type(machine), json.loads(json.dumps(plain(machine))), where="test") == machine


@given(st.data())
def test_no_torn_table_or_json_brings_it_down(data):
    whole = data.draw(st.sampled_from([TABLE, NEWER, json.dumps(answer())]))
    start, end = sorted((data.draw(st.integers(0, len(whole))), data.draw(st.integers(0, len(whole)))))
    text = whole[:start] + data.draw(st.text(max_size=20)) + whole[end:]
    try:
        machine = machine_of(text)
    except RigError:
        return
    examine(case_of(machine), ("dcgm_diagnosis",))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["tests", "test_categories", "results", "name", "status", "warnings", "gpu_ids", "entity_id"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(_JSON)
def test_any_json_under_its_name_is_read_or_refused(inner):
    try:
        machine = machine_of({"DCGM Diagnostic": inner})
    except RigError:
        return
    examine(case_of(machine), ("dcgm_diagnosis",))
