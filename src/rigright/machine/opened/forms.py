"""The one table of what a text may be: a form, the mark it is known by, and what reads it.

A form whose answers come in pieces (`nvidia-smi -q`, `-L`, `topo -m`) reads all its sections together.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from rigright.machine import jetson_text
from rigright.machine.amd import agents, rocm_text, tables
from rigright.machine.amd import answers as amd
from rigright.machine.amd import text as amd_text
from rigright.machine.apple import answers as apple
from rigright.machine.dcgm import diag
from rigright.machine.intel import answers as intel
from rigright.machine.intel import gaudi_text
from rigright.machine.intel import table as intel_table
from rigright.machine.nvidia_smi import capture
from rigright.machine.opened import (
    bench_text,
    collect_env,
    fabric_log,
    fabric_text,
    host_text,
    journal,
    lshw_text,
    sensors_text,
)
from rigright.machine.opened.sections import Section
from rigright.machine.pci.lspci import read_lspci
from rigright.machine.record import Read
from rigright.machine.running.kernel_log import is_kernels, is_stamped, parsed
from rigright.machine.running.log_lines import events_of, is_worth_a_look

_LSPCI = re.compile(r"^(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] \S.*?: ", re.MULTILINE)
_LOG_COMMANDS = re.compile(
    r"(?:dmesg|journalctl)\b|/var/(?:log|lib/systemd/pstore)/(?:kern|syslog|messages|dmesg)"
)
_PANIC = re.compile(r"(?:Panic|Oops|Emergency|Shutdown|Unknown)#\d+ Part\d+")
_PASSED_ON = re.compile(
    r"^(\w{3} [ \d]\d [\d:.]{8,16} \S+|\d{4}-\d\d-\d\d[T ][\d:.,]{8,20}\S{0,6} \S+)"
    r" (?:containerd|dockerd?|podman|conmon|crio|kubelet|k8s_\S+|docker/\S+|[0-9a-f]{12})"
    r"(?:\[\d+\])?: (?=\[\s*\d+\.\d+\]|NVRM: )",
    re.MULTILINE,
)
_LOOKED_AT = 400  # lines, to tell what most of them are
_LEAST_SHARE = 0.3  # of them


@dataclass(frozen=True, slots=True, kw_only=True)
class PastedForm:
    """One form of text."""

    name: str  # as people call it
    matches: Callable[[Section], object]
    read: Callable[[Section], Read]
    together: str | None = None  # all its sections are one text, this command above those without one


def read_kernel_log(section: Section) -> Read:
    """The faults it tells of; of a text that is no log, those lines that are the kernel's."""
    text = _log_text(section)
    crashed = _PANIC.match(text.lstrip()) is not None  # kept by firmware over the start that came after
    if not _is_log(text):
        text = "\n".join(line for line in text.splitlines() if is_worth_a_look(line) and is_kernels(line))
    found = events_of(parsed(text, wanted=is_worth_a_look))
    events = tuple(replace(one, earlier=True) for one in found) if crashed else found
    return Read(fields={"events": events})


def _log_text(section: Section) -> str:
    """A log line by line: a journal's own forms, and what container engines pass on of the kernel's lines."""
    text = journal.journal_lines(section.text) or section.text
    return _PASSED_ON.sub(r"\1 kernel: ", textwrap.dedent(text) if text[:1] in {" ", "\t"} else text)


def _is_log(text: str) -> bool:
    """Whether most of its first lines bear the stamp of a log."""
    lines = [line for line in text[: _LOOKED_AT * 200].splitlines()[:_LOOKED_AT] if line.strip()]
    stamped = sum(is_stamped(line) or _PANIC.match(line) is not None for line in lines)
    return stamped > 0 and stamped >= _LEAST_SHARE * len(lines)


def _holds_log(section: Section) -> bool:
    """A log, what a command of logs printed, or a few lines of one among others."""
    if fabric_log.MARK.search(section.text[:2000]) or not section.text:
        return False
    if _LOG_COMMANDS.match(section.head) and "Operation not permitted" not in section.text[:400]:
        return True
    text = _log_text(section)
    return _is_log(text) or any(is_worth_a_look(line) and is_kernels(line) for line in text.splitlines())


FORMS: tuple[PastedForm, ...] = (
    PastedForm(
        name="nvidia-smi",
        matches=lambda one: capture.is_capture(one.whole if one.head[:10] == "nvidia-smi" else one.text),
        read=lambda one: capture.read_capture(one.text),
        together="nvidia-smi",
    ),
    PastedForm(
        name="PyTorch collect_env",
        matches=lambda one: collect_env.matches(one.text),
        read=lambda one: collect_env.read(one.text),
    ),
    PastedForm(name="kernel log", matches=_holds_log, read=read_kernel_log),
    PastedForm(
        name="lspci",
        matches=lambda one: _LSPCI.search(one.text),
        read=lambda one: Read(fields={"pci": read_lspci(one.text)}),
    ),
    PastedForm(
        name="amd-smi",
        matches=lambda one: any(amd.cards_of(each) for each in amd.documents(one.text)),
        read=lambda one: amd.read_answers(*amd.documents(one.text)),
    ),
    PastedForm(
        name="amd-smi",
        matches=lambda one: amd.cards_of(amd_text.cards_in(one.text)) or tables.is_table(one.text),
        read=lambda one: tables.laid_over(amd.read_answers(amd_text.cards_in(one.text)), one.text),
        together="amd-smi",
    ),
    PastedForm(
        name="rocm-smi",
        matches=lambda one: any(map(amd.is_rocm, amd.documents(one.text))),
        read=lambda one: amd.read_rocm(next(filter(amd.is_rocm, amd.documents(one.text)))),
    ),
    PastedForm(
        name="rocm-smi",
        matches=lambda one: rocm_text.told_by_rocm(one.text),
        read=lambda one: amd.read_rocm(rocm_text.told_by_rocm(one.text)),
    ),
    PastedForm(
        name="rocminfo",
        matches=lambda one: agents.is_rocminfo(one.text),
        read=lambda one: agents.read_agents(one.text),
    ),
    PastedForm(
        name="dcgmi diag", matches=lambda one: diag.matches(one.text), read=lambda one: diag.read(one.text)
    ),
    PastedForm(
        name="fabric manager log",
        matches=lambda one: fabric_log.MARK.search(one.text),
        read=lambda one: fabric_log.read_log(one.text),
    ),
    PastedForm(
        name="InfiniBand tools",
        matches=lambda one: fabric_text.is_fabric(one.text),
        read=lambda one: fabric_text.read_fabric(one.text),
        together="ibstat",
    ),
    PastedForm(
        name="dmidecode",
        matches=lambda one: "Handle 0x" in one.text and "DMI type" in one.text,
        read=lambda one: host_text.read_dmidecode(one.text),
    ),
    PastedForm(
        name="lscpu",
        matches=lambda one: host_text.LSCPU.search(one.text) or "lscpu" in host_text.json_of(one.text),
        read=lambda one: host_text.read_lscpu(one.text),
    ),
    PastedForm(
        name="free",
        matches=lambda one: host_text.FREE_HEAD.search(one.text),
        read=lambda one: host_text.read_free(one.text, one.head),
    ),
    PastedForm(
        name="uname",
        matches=lambda one: host_text.UNAME.search(one.text),
        read=lambda one: host_text.read_uname(one.text),
    ),
    PastedForm(
        name="df",
        matches=lambda one: host_text.DF_HEAD.search(one.text) and "inode" not in one.text.lower(),
        read=lambda one: host_text.read_df(one.text, one.head),
    ),
    PastedForm(
        name="hostnamectl",
        matches=lambda one: host_text.HOSTNAMECTL.search(one.text),
        read=lambda one: host_text.read_hostnamectl(one.text),
    ),
    PastedForm(
        name="lsblk",
        matches=lambda one: (
            host_text.LSBLK_ROW.search(one.text) or "blockdevices" in host_text.json_of(one.text)
        ),
        read=lambda one: host_text.read_lsblk(one.text),
    ),
    PastedForm(
        name="smartctl",
        matches=lambda one: host_text.SMART.search(one.text) or "smartctl" in host_text.json_of(one.text),
        read=lambda one: host_text.read_smart(one.text, one.head),
    ),
    PastedForm(
        name="xpu-smi",
        matches=lambda one: one.text.lstrip()[:1] == "{" and intel.listed(intel.parsed(one.text)),
        read=lambda one: intel.read_list(intel.parsed(one.text)),
    ),
    PastedForm(
        name="xpu-smi",
        matches=lambda one: (
            "PCI BDF Address:" in one.text and intel.listed(intel_table.document_of(one.text))
        ),
        read=lambda one: intel.read_list(intel_table.document_of(one.text)),
    ),
    PastedForm(
        name="hl-smi",
        matches=lambda one: gaudi_text.is_hl_smi(one.text),
        read=lambda one: gaudi_text.read_hl_smi(one.text),
    ),
    PastedForm(
        name="lshw",
        matches=lambda one: lshw_text.is_lshw(one.text),
        read=lambda one: lshw_text.read_lshw(one.text),
    ),
    PastedForm(
        name="sensors",
        matches=lambda one: sensors_text.is_sensors(one.text),
        read=lambda one: sensors_text.read_text(one.text),
    ),
    PastedForm(
        name="system_profiler",
        matches=lambda one: one.text.lstrip()[:1] == "{" and apple.parsed(one.text) is not None,
        read=lambda one: apple.read_profile(apple.parsed(one.text) or {}),
    ),
    PastedForm(
        name="tegrastats",
        matches=lambda one: jetson_text.is_tegrastats(one.text),
        read=lambda one: jetson_text.read_tegrastats(one.text),
    ),
    PastedForm(
        name="jetson_release",
        matches=lambda one: jetson_text.is_release(one.text),
        read=lambda one: jetson_text.read_release(one.text),
    ),
    PastedForm(
        name="benchmark log",
        matches=lambda one: bench_text.is_benchmark(one.text),
        read=lambda one: bench_text.read_benchmark(one.text),
    ),
)


def forms_of(section: Section) -> Iterator[PastedForm]:
    """Every form that a section holds some of."""
    return (form for form in FORMS if form.matches(section))
