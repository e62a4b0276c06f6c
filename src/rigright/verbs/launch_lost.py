"""What of a plan its files do not hold: a choice that can be taken back and no file changes is not there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

from rigright.base.errors import AskError, RigError
from rigright.base.record import dataclass
from rigright.base.words import say
from rigright.cost.training.setup import METHODS, OFFLOADS, RECOMPUTES, SCHEDULES, SHARDINGS
from rigright.cost.training.states import dividing
from rigright.demand import Layout, Serving, Training
from rigright.export.launch import Launch
from rigright.facts.launching import Launcher
from rigright.facts.training import find_precision, optimizers, precisions

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
