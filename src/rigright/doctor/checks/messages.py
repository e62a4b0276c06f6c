"""Messages of frameworks, services and tools in a text that was handed over."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from rigright.base.units import GIB
from rigright.base.words import say
from rigright.doctor.advice import advise, label
from rigright.doctor.gpus import device_at
from rigright.doctor.kernel_log import events
from rigright.doctor.record import CheckInput, Evidence, Finding, Verdict, check
from rigright.facts.find import size_of
from rigright.machine.running.messages import FIELD, MESSAGE, TEXT, UNKNOWN, fit, possible, values_of
from rigright.machine.system import Event

LINE_CHARS = 300
MOST_LINES = 3
_SHOWS = "nvidia-smi"  # the state of cards, where a finding names no command of its own
LOGGED = "journalctl -p err --no-pager -n 100"


@check(say("messages of programs and tools"))
def messages(case: CheckInput) -> Iterator[Verdict]:
    """Errors that frameworks, services, management controllers and tools print.

    PyTorch, vLLM, SGLang, TensorFlow, JAX, llama.cpp and NCCL say what went wrong in words of their own: out
    of memory, no driver, a build without kernels for this GPU, a lost peer. So do container engines,
    systemd, IPMI and Redfish. The table of messages says what each means and what mends it.

    Fault where a program could not go on or a part is broken; warning where it runs slower. Lines that look
    like errors and are not known are counted and shown as a note. Source: data/advice/messages.toml.
    """
    yield from _known(case, follows=False)


@check(say("messages that mostly follow from another fault"))
def secondary_errors(case: CheckInput) -> Iterator[Verdict]:
    """Errors of programs that mostly follow from another fault.

    Of a card, of a driver, or of a rank that failed first: a collective that times out waits for a rank that
    is gone, and a server that says "see root cause above" names none. Beside a finding that tells the cause
    they are listed under it; alone they count as any other message.

    Fault where a program could not go on. Source: data/advice/messages.toml.
    """
    yield from _known(case, follows=True)


def _known(case: CheckInput, *, follows: bool) -> Iterator[Finding]:
    """Messages that the table knows, as findings: of causes, or of what follows from others."""
    given, subject = events(case, MESSAGE) or [], _subject(case)
    groups: dict[tuple[str, str | None], list[tuple[Event, dict[str, str]]]] = {}
    for event in given:
        pair = fit(event.text, possible(event.text, TEXT, FIELD))
        if pair is not None and pair[0].follows == follows:
            values = values_of(*pair)
            size = re.match(r"([\d.]+)(?: ?GiB)?\Z", values.get("total", ""))
            values |= {"on": (size and size_of(float(size[1]) * GIB)) or values["on"]} | subject
            place = _place(case, event, values=values)
            groups.setdefault((pair[0].finding, place), []).append((event, values))
    for (finding, about), same in groups.items():
        event, values = same[-1]
        lines = dict.fromkeys(": ".join(entry.text[:LINE_CHARS].split("\n")).strip() for entry, _ in same)
        shown = tuple(Evidence(shows=line) for line in list(lines)[:MOST_LINES])
        item = advise(finding, values, about=about)
        commands = (
            item.evidence[0].command,
            *(step.command for step in item.fix if not (step.disturbs or step.as_root)),
        )
        see = next(filter(None, commands), _SHOWS)
        yield replace(item, evidence=(replace(shown[0], command=see), *shown[1:]), verify=item.verify or see)


def _subject(case: CheckInput) -> dict[str, str]:
    """The model and the card that the text names, for the commands of its messages."""
    names = {device.name for device in case.machine.devices if device.name}
    named = {event.kind: event.text for event in events(case, "model", "card") or ()}
    card = names.pop() if len(names) == 1 else named.get("card")
    return {key: value for key, value in (("model", named.get("model")), ("on", card)) if value}


def _place(case: CheckInput, event: Event, *, values: Mapping[str, str]) -> str | None:
    """The part a message is about, as findings call it."""
    if event.pci is not None:
        device = device_at(case, event.pci)
        return event.pci if device is None else label(device)
    if "gpu" in values:
        return f"gpu {values['gpu']}"
    return values.get("name", "").strip() or None


@check(say("lines that look like errors"))
def unknown_lines(case: CheckInput) -> Iterator[Verdict]:
    """Lines that look like errors and fit no row of the table of messages.

    A text of a new driver, engine or tool may tell of a fault in words that nobody has put down yet. Whether
    such lines are faults is not known: they are counted and shown, and the first line gives no tick.

    Note. Source: lines that name an error, a failure or a time-out, less those that data/messages.csv knows.
    """
    result = events(case, UNKNOWN) or []
    if result:
        lines = dict.fromkeys(event.text[:LINE_CHARS] for event in result)
        finding = advise("messages.unknown", count=len(result))
        shown = tuple(Evidence(shows=line, command=LOGGED) for line in list(lines)[:MOST_LINES])
        yield replace(finding, evidence=shown)
