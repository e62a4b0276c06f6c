"""Commands that a text tells its reader to type: packages, flags, drivers, held against what is known. None is run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from rigright.base.errors import RigError
from rigright.base.loader import rows
from rigright.base.patterns import pattern
from rigright.base.words import Sentence, say
from rigright.facts.drivers import branch_of, branches
from rigright.facts.launching import flags, programs
from rigright.facts.software import (
    engine_needs,
    least_driver,
    packages_gone,
    slowing_variables,
    tensorflow_releases,
    torch_builds,
    torch_indexes,
    version_of,
    written,
)
from rigright.verbs.read.passages import Passage
from rigright.verbs.read.record import DATED, RIGHT, UNKNOWN, WRONG, GuideClaim, Verdict

MOST_WORDS = 60  # of a command
MOST_COMMANDS = 8  # of a passage
_SETUP = "rigright setup"
_PIP = pattern(r"\bpip3? install\b|\buv pip install\b|\bpython3? -m pip install\b")
_PACKAGE = pattern(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}(?:\[[A-Za-z0-9_,.-]{1,40}\])?(?:[=~<>!]=?=?[\w.*+]{1,20})?")
_INDEX = pattern(r"whl/(?:nightly/)?([a-z]{2,5}[0-9.]{1,6})")
_DRIVER = pattern(
    r"NVIDIA-Linux-x86_64-(\d{3})\.[\d.]{1,12}|nvidia-driver-(\d{3})|nvidia-utils-(\d{3})|(?:driver|驱动)[^\d\n]{0,12}(\d{3})(?:\.\d{1,3}){0,2}(?![\d.]|\s?(?:w|gb|mb|tflops))",
    re.IGNORECASE,
)
_CUDA = pattern(r"cuda[\s-]{0,3}(1[0-9]\.[0-9])", re.IGNORECASE)
_NEEDS = pattern(r"requires?|needs?|at least|minimum|or (?:newer|later|higher)|>=|≥|要求|需要|至少|以上|最低|及以上", re.IGNORECASE)
_DRIVER_VERSION = pattern(r"(?<![\d.])(\d{3})(\.\d{1,3}){0,2}(?![\d.])")
_ASSIGNED = pattern(r"\b([A-Z][A-Z0-9_]{5,40})=([\w.:/-]{1,40})")
_STARTERS = {  # words that start a program -> its table of flags
    "vllm serve": "vllm", "vllm.entrypoints.openai.api_server": "vllm", "sglang.launch_server": "sglang",
    "llama-server": "llama.cpp", "llama-cli": "llama.cpp", "torchrun": "torchrun", "accelerate launch": "accelerate",
    "deepspeed": "deepspeed", "trtllm-serve": "tensorrt-llm",
}  # fmt: skip
_VERSION = pattern(
    r"\b(pytorch|torch|tensorflow|vllm|sglang|transformers)\s?(?:版本|version)\s?[:=]?\s?(\d{1,3}\.\d{1,3}(?:\.\d{1,3})?)",
    re.IGNORECASE,
)
_FLAG = pattern(r"(?<!\S)(--[a-z0-9][a-z0-9_-]{1,50})(?:[= ]([^\s'\"]{1,60}))?", re.IGNORECASE)
_QUERY = pattern(r"--query-gpu[= ]([a-z_.,]{2,400})", re.IGNORECASE)
_END = pattern(r"\s(?:&&|\|\||;|\||#|>)\s?|#")


def commands_in(passage: Passage) -> Iterator[GuideClaim]:
    """Every command of a passage, judged where something is known of it."""
    found: list[GuideClaim] = []
    for reader in (_packages, _versions, _engine_flags, _queries, _drivers, _cuda_drivers, _variables):
        found += list(reader(passage))[:MOST_COMMANDS]
    yield from found
    if not found:
        yield from _known(passage)


def _claim(
    passage: Passage, at: int, verdict: Verdict, truth: Sentence | str, *, command: str = _SETUP, about: str | None = None
) -> GuideClaim:  # fmt: skip
    return GuideClaim(
        line=passage.line, says=passage.around(at), about=about, kind="command", verdict=verdict, truth=truth,
        command=command,
    )  # fmt: skip


def _packages(passage: Passage) -> Iterator[GuideClaim]:
    for pip in _PIP.finditer(passage.text):
        rest = passage.text[pip.end() : pip.end() + 600]
        stop = _END.search(rest)
        rest = rest[: stop.start()] if stop else rest
        index = _INDEX.search(rest)
        if index is not None:
            yield _index(passage, pip.start(), index[1])
        skip = False
        for word in rest.replace('"', " ").replace("'", " ").split()[:MOST_WORDS]:
            if skip or word.startswith("-"):
                skip = word in {"-f", "-i", "-r", "-c", "--index-url", "--extra-index-url", "--find-links", "-e"}
                continue
            if "/" in word or not _PACKAGE.fullmatch(word):
                break
            claim = _package(passage, pip.start(), word)
            if claim is not None:
                yield claim


def _index(passage: Passage, at: int, name: str) -> GuideClaim:
    """An index of PyTorch wheels."""
    known = torch_indexes()
    if name in known:
        return _claim(passage, at, RIGHT, say("the index {name} exists", name=name), about=name)
    kin = [one for one in known if one[:2] == name[:2]][:5]
    truth = say("there is no index {name}; there are {known}", name=name, known=", ".join(kin))
    return _claim(passage, at, WRONG, truth, about=name)


def _package(passage: Passage, at: int, word: str) -> GuideClaim | None:
    bare = re.split(r"[=~<>!\[]", word)[0].casefold().replace("_", "-")
    version = re.search(r"==([\d.]+)", word)
    gone = packages_gone().get(bare)
    if gone is not None:
        instead = gone.reason if not gone.instead else say("{why}; use {instead}", why=gone.reason, instead=gone.instead)
        return _claim(passage, at, WRONG if gone.harms else DATED, instead, about=bare)
    newest = _newest(bare)
    if newest is None:
        return _claim(passage, at, UNKNOWN, say("not checked: nothing here knows this package"), about=bare)
    if version is None:
        return _claim(passage, at, RIGHT, say("{name} {version} is the newest", name=bare, version=newest), about=bare)
    return _claim(passage, at, *_versioned(bare, version[1], newest=newest), about=f"{bare} {version[1]}")


@cache
def _newest(name: str) -> str | None:
    known = {"torch": torch_builds()[0].torch, "tensorflow": tensorflow_releases()[0].tensorflow}
    return known.get(name) or next((one.version for one in engine_needs() if one.name == name), None)


def _versioned(name: str, version: str, *, newest: str) -> tuple[Verdict, Sentence]:
    short = ".".join(version.split(".")[:2])
    if short == ".".join(newest.split(".")[:2]):
        return RIGHT, say("{name} {version} is the newest", name=name, version=newest)
    return DATED, say("the newest is {name} {version}", name=name, version=newest)


def _versions(passage: Passage) -> Iterator[GuideClaim]:
    """Versions that a text shows as installed."""
    for found in list(_VERSION.finditer(passage.text))[:MOST_COMMANDS]:
        name = {"pytorch": "torch"}.get(found[1].casefold(), found[1].casefold())
        newest = _newest(name)
        if newest is not None:
            verdict, truth = _versioned(name, found[2], newest=newest)
            yield _claim(passage, found.start(), verdict, truth, about=f"{name} {found[2]}")


def _engine_flags(passage: Passage) -> Iterator[GuideClaim]:
    for words, program in _STARTERS.items():
        at = passage.text.find(words)
        if at < 0:
            continue
        rest = passage.text[at + len(words) : at + 1000]
        stop = _END.search(rest)
        told = list(_FLAG.finditer(rest[: stop.start()] if stop else rest))[:MOST_WORDS]
        table, launcher = flags(program), programs()[program]
        wrong: list[Sentence] = []
        for flag in told:
            known = table.get(flag[1]) or table.get(flag[1].replace("_", "-")) or table.get(flag[1].replace("--no-", "--"))
            if known is None:
                wrong.append(say("{program} {version} has no flag {flag}", program=launcher.label, version=launcher.version, flag=flag[1]))
            elif known.choices and flag[2] and not flag[2].startswith("-") and flag[2] not in known.choices:
                wrong.append(say("{flag} takes {choices}", flag=flag[1], choices=", ".join(known.choices[:8])))
        command = f"rigright export {program} MODEL"
        for truth in wrong[:MOST_COMMANDS]:
            yield _claim(passage, at, WRONG, truth, command=command, about=launcher.label)
        if told and not wrong:
            truth = say("{program} {version} knows these flags", program=launcher.label, version=launcher.version)
            yield _claim(passage, at, RIGHT, truth, command=command, about=launcher.label)


@cache
def _query_fields() -> frozenset[str]:
    return frozenset(name for (cell,) in rows("nvidia_smi.csv", "query") for name in cell.split(";") if name)


def _queries(passage: Passage) -> Iterator[GuideClaim]:
    for query in _QUERY.finditer(passage.text):
        asked = [name for name in query[1].split(",") if name]
        strange = [name for name in asked if name not in _query_fields()]
        if not strange:
            yield _claim(passage, query.start(), RIGHT, say("nvidia-smi knows these fields"), command="rigright probe")
        elif not any("cuda_core" in name for name in strange):  # which the table of myths knows
            truth = say("not checked: {names}", names=", ".join(strange[:6]))
            yield _claim(passage, query.start(), UNKNOWN, truth, command="rigright probe")


def _drivers(passage: Passage) -> Iterator[GuideClaim]:
    """Branches of NVIDIA's driver."""
    for found in list(_DRIVER.finditer(passage.text))[:MOST_COMMANDS]:
        number = next(group for group in found.groups() if group)
        branch = branch_of(number)
        if branch is None or _CUDA.search(passage.text):
            continue
        newest = max(name for name, one in branches().items() if not one.ended)
        about = say("driver {branch}", branch=number)
        if branch.ended:
            when = say("{branch} gets no more fixes since {month}", branch=number, month=branch.ends) if branch.ends else say("{branch} gets no more fixes", branch=number)
            truth = say("{old}; {newest} is supported", old=when, newest=newest)
        else:
            truth = say("branch {branch} is supported", branch=number)
        yield _claim(passage, found.start(), DATED if branch.ended else RIGHT, truth, command="rigright setup", about=str(about))


def _cuda_drivers(passage: Passage) -> Iterator[GuideClaim]:
    """The least driver of a CUDA version."""
    cuda = _CUDA.search(passage.text)
    if cuda is None or not re.search(r"driver|驱动", passage.plain) or not _NEEDS.search(passage.text):
        return
    said = _DRIVER_VERSION.search(passage.text, cuda.end()) or _DRIVER_VERSION.search(passage.text[: cuda.start()])
    if said is None or int(said[1]) < 300:
        return
    try:
        least = least_driver(cuda[1])
        told = version_of(said[0])
    except RigError:
        return
    own = {least[0]} | {one for one in (525, 450, 580) if one == least[0]}
    holds = told[0] in own or abs(told[0] - least[0]) <= 0
    truth = say("CUDA {cuda} runs from driver {driver}", cuda=cuda[1], driver=written(least))
    yield _claim(passage, cuda.start(), RIGHT if holds else WRONG, truth, about=f"CUDA {cuda[1]}")


def _variables(passage: Passage) -> Iterator[GuideClaim]:
    known = {(one.name, one.value): one for one in slowing_variables()}
    for found in _ASSIGNED.finditer(passage.text):
        slow = known.get((found[1], found[2]))
        if slow is not None:
            truth = say("slows the program: {why}", why=slow.why)
            yield _claim(passage, found.start(), UNKNOWN, truth, command="rigright doctor", about=found[1])


@cache
def _commands() -> tuple[tuple[str, str], ...]:
    return tuple((starts, instead) for starts, instead in rows("claim_commands.csv", "starts", "instead"))


def _known(passage: Passage) -> Iterator[GuideClaim]:
    """A command of which nothing is to judge: it is said that it was not run."""
    for starts, instead in _commands():
        found = re.search(rf"(?<![\w./-]){re.escape(starts.strip())}(?![\w.-])", passage.text)
        worded = found is not None and (passage.is_code or re.search(r"[-./|=]|\d", passage.text[found.end() : found.end() + 40]))
        bare = found is not None and len(passage.text) - (found.end() - found.start()) <= 24 and passage.text.isascii()
        if found is not None and (worded or bare) and (starts.strip() not in {"echo", "watch", "free", "df", "python", "python3"} or found.start() < 4):
            yield _claim(passage, found.start(), UNKNOWN, say("not run; this shows the same"), command=instead, about=starts.strip())
            return
