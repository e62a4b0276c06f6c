"""The table of messages: each example is its row's, in any wrapping, and its finding can be said in full."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.words import tell
from rigright.doctor.advice import advise
from rigright.doctor.binding.judgement import conclude
from rigright.doctor.examine import case_of, examine
from rigright.machine.opened import read_machine
from rigright.machine.running.messages import FIELD, TEXT, fit, message_patterns, possible, values_of

OOM = (
    "CUDA out of memory. Tried to allocate 2.50 GiB. GPU 1 has a total capacity of 23.64 GiB of which "
    "1.12 GiB is free."
)
ROWS = [*message_patterns(TEXT), *message_patterns(FIELD)]
OF_TEXT = message_patterns(TEXT)
CHECKS = {"messages", "secondary_errors"}
AROUND = (
    *("{}", "node07: {}", "> {}", "- {}", "| {} |", "`{}`", "报错：{}", "[rank0]: {}"),
    "\x1b[31m{}\x1b[0m", "{}\r",
    "<p>{}<br></p>", "^[[31m{}^[[0m", "+{}", "[1,3]<stderr>:{}", "(Worker pid=8, ip=10.0.0.7) {}",
    "2026-01-02 10:20:30 ERROR {}", "dmesg.log:17:{}", "Nov  3 10:20:30 host app[12]: {}",
)  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.example[:40])
def test_an_example_is_of_its_row_and_its_finding_names_all(row):
    found = fit(row.example, possible(row.example, TEXT, FIELD))
    assert found is not None
    assert found[0] is row
    finding = advise(row.finding, values_of(*found))
    for language in ("en", "zh"):
        assert "{" not in tell(finding.title, language)
        assert all("{" not in tell(step.says, language) for step in finding.fix)


@given(st.sampled_from(OF_TEXT), st.sampled_from(AROUND))
def test_whatever_stands_around_a_message_it_is_found(row, around):
    machine = read_machine((around.format(row.example.strip()) + "\n").encode(), name="x")
    found = {check for check, _ in examine(case_of(machine), ("messages", "secondary_errors")).findings}
    assert found & CHECKS == {"secondary_errors" if row.follows else "messages"}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.example[:40])
def test_a_message_alone_leads_the_page(row):
    examined = examine(case_of(read_machine(f"{row.example}\n".encode(), name="x")))
    judged = conclude(examined)
    assert judged.first is not None
    assert (
        judged.first.severity == advise(row.finding, values_of(row, row.pattern.search(row.example))).severity
    )
    assert examined.exit_code > 0


def test_a_heading_says_what_its_lines_are_of():
    text = "| GPU 5 |\n| Link 3 | CRC FLIT Error | 48211 |\n| GPU 6 |\n| Link 0 | Replay Error | 7 |\n"
    examined = examine(case_of(read_machine(text.encode(), name="x")))
    assert [finding.about for _, finding in examined.findings] == ["gpu 5", "gpu 6"]


def test_an_indented_heading_holds_for_all_that_stands_below_it():
    text = "GPU: 1\n    ECC_BLOCKS:\n        UMC:\n            UNCORRECTABLE_COUNT: 3\n"
    ((_, finding),) = examine(case_of(read_machine(text.encode(), name="x"))).findings
    assert (finding.about, finding.severity) == ("gpu 1", "fault")


def test_the_heading_of_a_document_says_what_it_is_of():
    body = {"Link 3": {"children": {"CRC Data Error": {"value": "12"}}}}
    for indent in (None, 4):
        text = json.dumps({"body": body, "header": ["NVLINK Error Counts", "GPU 4"]}, indent=indent)
        ((_, finding),) = examine(case_of(read_machine(text.encode(), name="x"))).findings
        assert finding.about == "gpu 4"


@pytest.mark.parametrize(
    ("cause", "effect"),
    [
        (
            f"torch.OutOfMemoryError: {OOM}",
            "[Rank 5] Watchdog caught collective operation timeout: OpType=ALLREDUCE",
        ),
        (
            "NVRM: Xid (PCI:0000:9b:00): 79, pid=1, name=x, GPU has fallen off the bus.",
            "CUDA error: unknown error",
        ),
        ("mlx5_core 0000:86:00.0 ens6f0np0: Link down", "NCCL WARN NET/IB : Got async event : port error"),
        ("Memory cgroup out of memory: Killed process 3 (python) total-vm", "died with <Signals.SIGKILL: 9>"),
        (f"ValueError: {OOM}", "RuntimeError: Engine core initialization failed. See root cause above."),
    ],
)
def test_a_cause_leads_what_follows_from_it_wherever_it_stands(cause, effect):
    for lines in ((cause, effect), (effect, cause)):
        judged = conclude(examine(case_of(read_machine("\n".join(lines).encode(), name="x"))))
        assert judged.first.check != "secondary_errors"
        assert [check for check, _ in judged.first.consequences] == ["secondary_errors"]


def test_messages_under_a_file_and_at_a_prompt_of_windows_are_read():
    text = f"$ cat /proc/1/cgroup\n0::/docker/abc\n{OOM}\n"
    assert examine(case_of(read_machine(text.encode(), name="x")), ("messages",)).exit_code > 0
    smi = "C:\\> nvidia-smi\nNVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
    ((_, finding),) = examine(case_of(read_machine(smi.encode(), name="x")), ("gpu_driver",)).findings
    commands = {step.command for step in finding.fix} | {finding.verify}
    assert not [command for command in commands if command and "modprobe" in command]


def test_information_of_nccl_is_no_failure():
    text = "n1:1:1 [0] NCCL INFO NCCL_IB_TIMEOUT set by environment to 22.\n"
    assert read_machine(text.encode(), name="x").events == ()


def test_a_line_that_nobody_knows_is_counted_and_gives_no_tick():
    machine = read_machine(b"2026-03-01 10:00:00 frobnicator: ERROR: flux capacitor failed\n", name="x")
    ((check, finding),) = examine(case_of(machine)).findings
    assert (check, finding.severity) == ("unknown_lines", "note")


def test_a_root_cause_that_a_line_names_leads():
    text = "kernel: NVRM: Xid (PCI:0000:dc:00): 45, pid=1, name=python3, Ch 1 caused by previous Xid 149\n"
    (event,) = read_machine(text.encode(), name="x").events
    assert event.code == 149


def test_quiet_lines_of_programs_are_no_errors():
    text = (
        "INFO 03-02 10:01:30 [gpu_worker.py:227] Available KV cache memory: 52.33 GiB\n"
        "INFO 03-02 10:01:31 errors: 0, failed: none\n"
    )
    assert read_machine(text.encode(), name="x").events == ()
