"""A server that runs, held against its plan flag by flag; and what of a plan its files do not hold."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

from rigright.base.errors import AskError, MissingError, RigError
from rigright.base.record import dataclass
from rigright.base.units import MIB
from rigright.base.words import say
from rigright.cost.training.setup import METHODS, OFFLOADS, RECOMPUTES, SCHEDULES, SHARDINGS
from rigright.cost.training.states import dividing
from rigright.demand import Layout, Serving, Training
from rigright.export.commands import command_of
from rigright.export.launch import Launch
from rigright.export.text import Variable, flat
from rigright.facts.launching import FlagCheck, Launcher, flags, switches
from rigright.facts.training import find_precision, optimizers, precisions

PLACES = {
    "--host",
    "--port",
    "--alias",
    "--metrics",
    "--node-rank",
    "--master-addr",
    "--dist-init-addr",
    "--disaggregation-bootstrap-port",
}
_MOST_BYTES = int(MIB)


def running_words(text: str) -> list[str]:
    """The words of a command, or of the process with that id."""
    if not text.isdecimal():
        try:
            return shlex.split(text)
        except ValueError:
            raise AskError(say('"{told}": unclosed quote', told=text)) from None
    from rigright.machine.world import here

    raw = here().raw(f"/proc/{text}/cmdline", most=_MOST_BYTES)
    if not raw:
        raise MissingError(say("no process with PID {told}", told=text))
    return raw.decode(errors="replace").rstrip("\0").split("\0")


def compare_flags(launch: Launch, words: Sequence[str]) -> tuple[FlagCheck, ...]:
    """Each flag of the plan beside that of the server; a flag is known under every name it has.

    Of workers apart the server is the one that it is most like.
    """
    if not flags(launch.program.id):
        raise AskError(say("no flag table for {engine}", engine=launch.program.label))
    alike = {worker.stage: worker for worker in launch.workers}.values() or (launch,)
    return min(
        (_compare_flags(item, words) for item in alike), key=lambda rows: sum(not row.kept for row in rows)
    )


def _compare_flags(launch: Launch, words: Sequence[str]) -> tuple[FlagCheck, ...]:
    planned = _given(launch, [word for word in flat(command_of(launch)) if not isinstance(word, Variable)])
    running = _given(launch, words)
    model = FlagCheck(flag="model", planned=launch.model, running=_model(words, running))
    rows = (
        FlagCheck(flag=flag, planned=value, running=running.get(flag))
        for flag, value in planned.items()
        if flag not in PLACES and value != launch.model
    )
    more = (
        FlagCheck(flag=flag, planned=None, running=running[flag])
        for flag in switches()
        if flag in running and flag not in planned
    )
    # a file that was downloaded or made bears any name
    any_name = launch.making or (launch.weights_folder is None and (model.running or "").endswith(".gguf"))
    return (*([] if any_name else [model]), *rows, *more)


def servers_of(launch: Launch) -> Iterator[tuple[int, tuple[FlagCheck, ...]]]:
    """Each server of the program that runs here: its process id, and its flags beside the plan's."""
    from rigright.machine.world import here

    pattern = launch.program.process
    for name in here().names("/proc") if pattern else ():
        raw = here().raw(f"/proc/{name}/cmdline", most=_MOST_BYTES) if name.isdecimal() else None
        words = (raw or b"").decode(errors="replace").rstrip("\0").split("\0")
        if words[0] and any(
            re.search(pattern, " ".join(words[place : place + 3])) for place in range(min(len(words), 3))
        ):
            yield int(name), compare_flags(launch, words)


def _model(words: Sequence[str], given: dict[str, str]) -> str | None:
    """What a server loads: by its flag, or right behind the word that starts it."""
    for flag in ("--model", "--model-path", "--hf-repo"):
        if flag in given:
            return given[flag]
    starts = (
        place for place, word in enumerate(words) if word.rpartition("/")[2] in {"serve", "trtllm-serve"}
    )
    return next((words[place + 1] for place in starts if place + 1 < len(words)), None)


def _given(launch: Launch, words: Sequence[str]) -> dict[str, str]:
    """Flags by their first name -> what they are given; a flag alone: yes."""
    table = flags(launch.program.id)
    fields: dict[str, str] = {}
    place = 0
    while place < len(words):
        name, equals, value = words[place].partition("=")
        name = name.replace("_", "-") if name not in table and name.startswith("--") else name
        place += 1
        flag = table.get(name)
        if flag is None:
            continue
        if not equals:
            value = "no" if name.startswith("--no-") and not flag.flag.startswith("--no-") else "yes"
            if flag.takes != "0" and place < len(words) and words[place] not in table:
                value, place = words[place], place + 1
        fields[flag.flag] = value
    return fields


Files = Mapping[str, str]
COUNTED = frozenset({"dp"})  # every file has it in its number of GPUs
SENT = frozenset({"prompt_tok"})  # by the client that sends the planned load
TOLD = frozenset({"engine"})  # the head of every file names its version
_WORDS: Mapping[str, Callable[[Launcher], Iterable[str]]] = {  # all that a choice may be, by its field
    "trainer": lambda program: program.runs,
    "method": lambda _: METHODS,
    "optimizer": lambda _: optimizers(),
    "precision": lambda _: precisions(),
    "recompute": lambda _: RECOMPUTES,
    "sharding": lambda _: SHARDINGS,
    "schedule": lambda _: SCHEDULES,
    "offload": lambda _: OFFLOADS,
    "targets": lambda _: ("all", "attn", "ffn"),
    "base": lambda _: ("nf4", "int8"),
    "kv": lambda program: program.kv,
    "weights": lambda program: ("bf16", "fp16", *program.converts),
}
_DIVIDED = frozenset({"sharding", "offload"})  # of which hangs whether it fits
_MANY = 1000  # times a number, which no default reaches


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """One choice of a plan that its files do not hold."""

    name: str  # as the option has it: "micro-batch"
    value: Any
    cuts: bool  # it says how the model is spread: without it another plan is started

    @property
    def shown(self) -> str:
        """The choice in a few words."""
        if isinstance(self.value, Mapping):
            text = ", ".join(f"{key} {value}" for key, value in self.value.items() if value)
            return f"{self.name} {text}"
        if isinstance(self.value, bool):
            return self.name if self.value else f"no {self.name}"
        return f"{self.name} {self.value}"


def lost_of(
    plan: Mapping[str, Any], render: Callable[[Mapping[str, Any]], Files], *, program: Launcher
) -> Iterator[Lost]:
    """Each choice of a plan that is not in its files; `render` writes them without a comment."""
    written = render(plan)
    for group, name, value, default in _choices(plan):
        if name in program.implies or value == program.runs[0]:
            continue
        words = _words(plan, name, value=value, program=program)
        others = (default, *_numbers(value)) if words is None else words
        moved = (_written(render, _with(plan, group, name=name, value=other)) != written for other in others)
        if not (any(moved) if words is None else all(moved)):  # each word says another thing
            of = "prefill " if group == "prefill" else ""
            shown = of + name.removesuffix("_tok").replace("_", "-")
            cuts = group != "work" or (program.shards and name in _DIVIDED)
            yield Lost(name=shown, value=value, cuts=cuts)


def check_cut(lost: tuple[Lost, ...], program: Launcher) -> None:
    """Refuse a plan that the files would start as another one."""
    cut = ", ".join(item.shown for item in lost if item.cuts)
    if cut:
        raise program.refuses(cut)


def check_apart(launch: Launch, target: str) -> None:
    """Refuse workers that take prompts alone where a target, or a program on such cards, starts none."""
    program, apart = launch.program, "prefill workers"
    able = launch.vendor in program.apart
    if launch.prefill is None or (able and target == program.id and launch.nodes == 1):
        return
    if able and launch.nodes == 1:
        raise AskError(
            say("{target} starts no prefill workers of their own", target=target),
            hint=say("export {fitting}", fitting=program.id),
        )
    if able:
        apart += f" on {launch.nodes} nodes"
    raise program.refuses(apart)


def note_of(lost: tuple[Lost, ...]) -> tuple[str, ...]:
    """The comment of what is left to the reader."""
    text = ", ".join(item.shown for item in lost if not item.cuts)
    return (f"planned, and not set by these files: {text}",) if text else ()


def _choices(plan: Mapping[str, Any]) -> Iterator[tuple[str, str, Any, Any]]:
    """Group, name, value and what is usual of all that was chosen beside what is usual."""
    work = plan["work"]
    kinds: tuple[tuple[str, type], ...] = (
        ("layout", Layout),
        ("work", Training if "trainer" in work else Serving),
        *((("prefill", Layout),) if plan.get("prefill") else ()),
    )
    for group, kind in kinds:
        for field in fields(kind):
            value = plan[group].get(field.name, field.default)
            if (
                value == field.default
                or field.name in COUNTED | SENT | TOLD
                or not _matters(plan, group, name=field.name)
            ):
                continue
            yield group, field.name, value, field.default
    drafted = (plan.get("drafts") or {}).get("drafted_tok")
    if drafted:
        yield "drafts", "drafted_tok", drafted, 0


def _matters(plan: Mapping[str, Any], group: str, *, name: str) -> bool:
    """Whether a choice has anything to choose: adapters of a method without any have no rank."""
    work, layout = plan["work"], plan["prefill" if group == "prefill" else "layout"]
    if name in {"rank", "targets", "base"}:
        return str(work["method"]) == "qlora" if name == "base" else str(work["method"]) != "full"
    if name == "dropout":  # a program drops nothing unless it is asked to
        return bool(work["dropout"])
    if name in {"schedule", "virtual_stages"}:
        return int(layout["pp"]) > 1
    return not (name == "sequence_parallel" and int(layout["tp"]) == 1)


def _words(plan: Mapping[str, Any], name: str, *, value: Any, program: Launcher) -> tuple[str, ...] | None:
    """Every word that says another thing; None: it is not one of a list of words."""
    if name not in _WORDS or not isinstance(value, str):
        return None
    own = _meaning(plan, name, value=value, program=program)
    words = (
        word for word in _WORDS[name](program) if _meaning(plan, name, value=word, program=program) != own
    )
    return tuple(words)


def _numbers(value: Any) -> Iterator[Any]:
    """A number that no default reaches."""
    if isinstance(value, int) and not isinstance(value, bool) and value:
        yield value * _MANY
    elif isinstance(value, float) and value:
        yield value / 2


def _meaning(plan: Mapping[str, Any], name: str, *, value: str, program: Launcher) -> str:
    """What a word comes to: some are two names of one thing."""
    if name == "optimizer":
        return program.optimizers.get(value, value)
    if name == "precision":
        return find_precision(value).id
    if name == "sharding":
        layout = plan["layout"]
        ranks = int(layout["dp"]) * int(layout["cp"])
        whole = {"zero3", "fsdp", *(("hsdp",) if dividing(ranks, "hsdp") == ranks else ())}
        return "none" if ranks == 1 else "fsdp" if value in whole else value
    return value


def _with(plan: Mapping[str, Any], group: str, *, name: str, value: Any) -> Mapping[str, Any]:
    return {**plan, group: {**plan[group], name: value}}


def _written(render: Callable[[Mapping[str, Any]], Files], plan: Mapping[str, Any]) -> Files | None:
    """The files; None where there are none of such a plan, which is a difference too."""
    try:
        return render(plan)
    except RigError:
        return None
