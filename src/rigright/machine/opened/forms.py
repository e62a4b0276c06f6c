"""The one table of what a text may be: a form, the mark it is known by, and what reads it.

A form whose answers come in pieces (`nvidia-smi -q`, `-L`, `topo -m`) reads all its sections together.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from rigright.machine import intel, jetson
from rigright.machine.amd import answers as amd
from rigright.machine.amd import text as amd_text
from rigright.machine.lspci import read_lspci
from rigright.machine.nvidia_smi import capture, dcgm
from rigright.machine.opened import (
    bench_text,
    collect_env,
    fabric_log,
    fabric_text,
    host_text,
    journal,
    lshw_text,
    message_lines,
    named_text,
    sensors_text,
)
from rigright.machine.opened.sections import Section
from rigright.machine.record import Read
from rigright.machine.running.kernel_log import is_kernels, is_stamped, parsed
from rigright.machine.running.log_lines import events_of, is_worth_a_look
from rigright.machine.vendors import apple

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
_Parsed = TypeVar("_Parsed")
_LOOKED_AT = 400  # lines, to tell what most of them are
_LEAST_SHARE = 0.3  # of them


@dataclass(frozen=True, slots=True, kw_only=True)
class PastedForm:
    """One form of text."""

    name: str  # as people call it
    matches: Callable[[Section], object]
    read: Callable[[Section], Read]
    together: str | None = None  # all its sections are one text, this command above those without one
    rest: bool = False  # of what no other form reads, logs aside


def _marked(name: str, is_one: Callable[[str], object], *, read: Callable[[str], Read]) -> PastedForm:
    """Known by a mark in its text."""
    return PastedForm(
        name=name, matches=lambda section: is_one(section.text), read=lambda section: read(section.text)
    )


def _parsed(name: str, parse: Callable[[str], _Parsed], *, read: Callable[[_Parsed], Read]) -> PastedForm:
    """Known by what a parser finds in it; nothing found is no such form."""
    return PastedForm(
        name=name, matches=lambda section: parse(section.text), read=lambda section: read(parse(section.text))
    )


def read_kernel_log(section: Section) -> Read:
    """The faults it tells of; of a text that is no log, those lines that are the kernel's."""
    text = _log_text(section)
    crashed = _PANIC.match(text.lstrip()) is not None  # kept by firmware over the start that came after
    if not _is_log(text):
        text = "\n".join(line for line in text.splitlines() if is_worth_a_look(line) and is_kernels(line))
    result = events_of(parsed(text, wanted=is_worth_a_look))
    events = tuple(replace(event, earlier=True) for event in result) if crashed else result
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
        matches=lambda section: capture.is_capture(
            section.whole if section.head[:10] == "nvidia-smi" else section.text
        ),
        read=lambda section: capture.read_capture(section.text),
        together="nvidia-smi",
    ),
    _marked("PyTorch collect_env", collect_env.matches, read=collect_env.read),
    PastedForm(name="kernel log", matches=_holds_log, read=read_kernel_log),
    _marked("lspci", _LSPCI.search, read=lambda text: Read(fields={"pci": read_lspci(text)})),
    _parsed("amd-smi", amd.smi_documents, read=lambda values: amd.read_answers(*values)),
    replace(_marked("amd-smi", amd_text.is_printed, read=amd_text.read_printed), together="amd-smi"),
    _parsed("rocm-smi", amd.rocm_document, read=amd.read_rocm),
    _parsed("rocm-smi", amd_text.told_by_rocm, read=amd.read_rocm),
    _marked("rocminfo", amd_text.is_rocminfo, read=amd_text.read_agents),
    _marked("dcgmi diag", dcgm.is_diag, read=dcgm.read_diag),
    _marked("fabric manager log", fabric_log.MARK.search, read=fabric_log.read_log),
    replace(
        _marked("InfiniBand tools", fabric_text.is_fabric, read=fabric_text.read_fabric), together="ibstat"
    ),
    _marked("dmidecode", host_text.is_dmidecode, read=host_text.read_dmidecode),
    _marked("lscpu", host_text.is_lscpu, read=host_text.read_lscpu),
    PastedForm(
        name="free",
        matches=lambda section: host_text.FREE_HEAD.search(section.text),
        read=lambda section: host_text.read_free(section.text, section.head),
    ),
    _marked("uname", host_text.UNAME.search, read=host_text.read_uname),
    PastedForm(
        name="df",
        matches=lambda section: (
            host_text.DF_HEAD.search(section.text) and "inode" not in section.text.lower()
        ),
        read=lambda section: host_text.read_df(section.text, section.head),
    ),
    _marked("hostnamectl", host_text.HOSTNAMECTL.search, read=host_text.read_hostnamectl),
    _marked("lsblk", host_text.is_lsblk, read=host_text.read_lsblk),
    PastedForm(
        name="smartctl",
        matches=lambda section: host_text.is_smart(section.text),
        read=lambda section: host_text.read_smart(section.text, section.head),
    ),
    _parsed("xpu-smi", intel.document_of, read=intel.read_list),
    _parsed("xpu-smi", intel.table_document, read=intel.read_list),
    _marked("hl-smi", intel.is_hl_smi, read=intel.read_hl_smi),
    _marked("lshw", lshw_text.is_lshw, read=lshw_text.read_lshw),
    _marked("sensors", sensors_text.is_sensors, read=sensors_text.read_text),
    _parsed("system_profiler", apple.parsed, read=apple.read_profile),
    _marked("tegrastats", jetson.is_tegrastats, read=jetson.read_tegrastats),
    _marked("jetson_release", jetson.is_release, read=jetson.read_release),
    _marked("benchmark log", bench_text.is_benchmark, read=bench_text.read_benchmark),
    PastedForm(name="messages", matches=message_lines.holds_messages, read=message_lines.read_messages),
    _marked("env", named_text.is_environment, read=named_text.read_environment),
    _marked("uname", named_text.is_release, read=named_text.read_release),
    *(
        replace(_marked(name, named_text.is_named(name), read=named_text.read_nothing), rest=True)
        for name in named_text.NAMED
    ),
    PastedForm(name="text", matches=message_lines.holds_fields, read=message_lines.read_fields, rest=True),
)
_LOGS = frozenset({"kernel log", "messages"})


def forms_of(section: Section) -> Iterator[PastedForm]:
    """Every form that a section holds some of."""
    pasted_forms = [form for form in FORMS if not form.rest and form.matches(section)]
    rest = all(form.name in _LOGS for form in pasted_forms)
    yield from pasted_forms
    yield from (form for form in FORMS if form.rest and rest and form.matches(section))
