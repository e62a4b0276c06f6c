"""Commands that a text tells its reader to type: packages, flags, drivers. None is run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice

from rigright.base.errors import RigError
from rigright.base.loader import rows
from rigright.base.patterns import pattern
from rigright.base.record import replace
from rigright.base.words import Sentence, say
from rigright.facts.drivers import branch_of, branches
from rigright.facts.launching import flags, programs
from rigright.facts.software import (
    cuda_releases,
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
from rigright.verbs.read.claims import claim_of
from rigright.verbs.read.passages import Passage
from rigright.verbs.read.record import DATED, RIGHT, UNKNOWN, WRONG, ClaimVerdict, GuideClaim

_JudgedCommand = tuple[int, str | None, ClaimVerdict]  # its place, what it is about
_MOST_WORDS = 60  # of a command
MOST_COMMANDS = 8  # of a passage
_OLDEST_DRIVER = 300  # smaller numbers are none of a driver
_WITH_VALUE = frozenset({"-f", "-i", "-r", "-c", "--index-url", "--extra-index-url", "--find-links", "-e"})
_PLAIN_WORDS = frozenset({"watch", "free", "df", "python", "python3"})  # that stand in sentences, too
_PIP = pattern(r"\bpip3? install\b|\buv pip install\b|\bpython3? -m pip install\b")
_PACKAGE = pattern(
    r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}(?:\[[A-Za-z0-9_,.-]{1,40}\])?(?:[=~<>!]=?=?[\w.*+]{1,20})?"
)
_INDEX = pattern(r"whl/(?:nightly/)?([a-z]{2,5}[0-9.]{1,6})")
_DRIVER = pattern(
    r"NVIDIA-Linux-x86_64-(\d{3})\.[\d.]{1,12}|nvidia-driver-(\d{3})|nvidia-utils-(\d{3})"
    r"|(?:driver|驱动)[^\d\n]{0,12}(\d{3})(?:\.\d{1,3}){0,2}(?![\d.]|\s?(?:w|gb|mb|tflops))",
    re.IGNORECASE,
)
_CUDA = pattern(r"cuda[\s-]{0,3}(1[0-9]\.[0-9])", re.IGNORECASE)
_NEEDS = pattern(
    r"requires?|needs?|at least|minimum|or (?:newer|later|higher)|>=|≥|要求|需要|至少|以上|最低|及以上",
    re.IGNORECASE,
)
_DRIVER_VERSION = pattern(r"(?<![\d.])(\d{3})(\.\d{1,3}){0,2}(?![\d.])")
_ASSIGNED = pattern(r"\b([A-Z][A-Z0-9_]{5,40})=([\w.:/-]{1,40})")
_VERSION = pattern(
    r"\b(pytorch|torch|tensorflow|vllm|sglang|transformers)\s?(?:版本|version)\s?[:=]?\s?(\d{1,3}\.\d{1,3}(?:\.\d{1,3})?)",
    re.IGNORECASE,
)
_FLAG = pattern(r"(?<!\S)(--[a-z0-9][a-z0-9_-]{1,50})(?:[= ]([^\s'\"]{1,60}))?", re.IGNORECASE)
_QUERY = pattern(r"--query-gpu[= ]([a-z_.,]{2,400})", re.IGNORECASE)
_END = pattern(r"\s(?:&&|\|\||;|\||#|>)\s?|#")


def commands_in(passage: Passage) -> Iterator[GuideClaim]:
    """Every command of a passage, judged where something is known of it."""
    readers = (packages, versions, _engine_flags, queries, drivers, _cuda_drivers, variables)
    judged = [item for reader in readers for item in islice(reader(passage), MOST_COMMANDS)]
    for at, about, verdict in judged or _known_commands(passage):
        shown = verdict if verdict.command else replace(verdict, command="rigright setup")
        yield claim_of(passage, at, about=about, kind="command", verdict=shown)


def packages(passage: Passage) -> Iterator[_JudgedCommand]:
    """What pip is told to install, and from which index."""
    for pip in _PIP.finditer(passage.text):
        rest = passage.text[pip.end() : pip.end() + 600]
        stop = _END.search(rest)
        rest = rest[: stop.start()] if stop else rest
        index = _INDEX.search(rest)
        if index is not None:
            kin = [name for name in torch_indexes() if name[:2] == index[1][:2]][:5]
            truth = say("there is no index {name}; there are {known}", name=index[1], known=", ".join(kin))
            if exists := index[1] in torch_indexes():
                truth = say("the index {name} exists", name=index[1])
            yield pip.start(), index[1], ClaimVerdict(verdict=RIGHT if exists else WRONG, truth=truth)
        skip = False
        for word in rest.replace('"', " ").replace("'", " ").split()[:_MOST_WORDS]:
            if skip or word.startswith("-"):
                skip = word in _WITH_VALUE
                continue
            if "/" in word or not _PACKAGE.fullmatch(word):
                break
            yield pip.start(), word, package(word)


def package(word: str) -> ClaimVerdict:
    """One package, with the version that is asked for."""
    bare = re.split(r"[=~<>!\[]", word)[0].casefold().replace("_", "-")
    gone = packages_gone().get(word.casefold()) or packages_gone().get(bare)
    if gone is not None:
        truth = gone.reason
        if gone.instead:
            truth = say("{why}; use {instead}", why=gone.reason, instead=gone.instead)
        return ClaimVerdict(verdict=WRONG if gone.harms else DATED, truth=truth)
    if _newest_of(bare) is None:
        return ClaimVerdict(verdict=UNKNOWN, truth=say("this package is not in the tables"))
    version = re.search(r"==([\d.]+)", word)
    return versioned(bare, None if version is None else version[1])


@cache
def _newest_of(name: str) -> str | None:
    """The newest version of a package that the tables know."""
    known = {"torch": torch_builds()[0].torch, "tensorflow": tensorflow_releases()[0].tensorflow}
    return known.get(name) or next(
        (engine_need.version for engine_need in engine_needs() if engine_need.name == name), None
    )


def versioned(name: str, version: str | None) -> ClaimVerdict:
    """A version of a known package: the newest, or an older one."""
    newest = _newest_of(name) or ""
    if version is None or version.split(".")[:2] == newest.split(".")[:2]:
        return ClaimVerdict(
            verdict=RIGHT, truth=say("{name} {version} is the newest", name=name, version=newest)
        )
    return ClaimVerdict(verdict=DATED, truth=say("the newest is {name} {version}", name=name, version=newest))


def versions(passage: Passage) -> Iterator[_JudgedCommand]:
    """Versions that a text shows as installed."""
    for match in list(_VERSION.finditer(passage.text))[:MOST_COMMANDS]:
        name = {"pytorch": "torch"}.get(match[1].casefold(), match[1].casefold())
        if _newest_of(name) is not None:
            about = f"{name} {match[2]}"
            yield match.start(), about, versioned(name, match[2])


def _engine_flags(passage: Passage) -> Iterator[_JudgedCommand]:
    """Flags of servers and trainers, as their own parsers have them."""
    for words, instead in rows("claim_commands.csv", "starts", "instead"):
        program = instead.split()[2] if instead.startswith("rigright export ") else ""
        if program not in programs():
            continue
        at = passage.text.find(words)
        rest = passage.text[at + len(words) : at + 1000] if at >= 0 else ""
        stop = _END.search(rest)
        typed = list(_FLAG.finditer(rest[: stop.start()] if stop else rest))[:_MOST_WORDS]
        launcher = programs()[program]
        name = {"program": launcher.label, "version": launcher.version}
        wrong = list(_strange_flags(typed, program=program))
        for truth in wrong:
            verdict = ClaimVerdict(verdict=WRONG, truth=truth, command=instead)
            yield at, launcher.label, verdict
        if typed and not wrong:
            truth = say("{program} {version} knows these flags", **name)
            verdict = ClaimVerdict(verdict=RIGHT, truth=truth, command=instead)
            yield at, launcher.label, verdict


def _strange_flags(typed: Iterable[re.Match[str]], *, program: str) -> Iterator[Sentence]:
    """What is wrong with the flags of a command."""
    table, launcher = flags(program), programs()[program]
    for flag in typed:
        names = (flag[1], flag[1].replace("_", "-"), flag[1].replace("--no-", "--"))
        begun = (item for item in table if item.startswith(f"{flag[1]}-"))  # argparse takes "--tp" for it
        known = next((table[name] for name in (*names, *begun) if name in table), None)
        value = flag[2] or ""
        if known is None:
            told_as = {"program": launcher.label, "version": launcher.version, "flag": flag[1]}
            yield say("{program} {version} has no flag {flag}", **told_as)
        elif known.choices and value and not value.startswith("-") and value not in known.choices:
            yield say("{flag} takes {choices}", flag=flag[1], choices=", ".join(known.choices[:8]))


def queries(passage: Passage) -> Iterator[_JudgedCommand]:
    """Fields that nvidia-smi is asked for."""
    fields = {name for (cell,) in rows("nvidia_smi.csv", "query") for name in cell.split(";") if name}
    for query in _QUERY.finditer(passage.text):
        strange = [name for name in query[1].split(",") if name and name not in fields]
        if any("cuda_core" in name for name in strange):
            continue  # which the table of myths knows
        truth = say("unknown here: {names}", names=", ".join(strange[:6]))
        if not strange:
            truth = say("nvidia-smi knows these fields")
        verdict = ClaimVerdict(verdict=UNKNOWN if strange else RIGHT, truth=truth, command="rigright probe")
        yield query.start(), None, verdict


def drivers(passage: Passage) -> Iterator[_JudgedCommand]:
    """Branches of NVIDIA's driver."""
    for match in [] if _CUDA.search(passage.text) else list(_DRIVER.finditer(passage.text))[:MOST_COMMANDS]:
        number = next(group for group in match.groups() if group)
        branch = branch_of(number)
        if branch is None:
            continue
        newest = max(name for name, item in branches().items() if not item.ended)
        truth = say("branch {branch} is supported", branch=number)
        if branch.ended:
            truth = say("{branch} gets no more fixes; {newest} is supported", branch=number, newest=newest)
        verdict = ClaimVerdict(verdict=DATED if branch.ended else RIGHT, truth=truth, source=branch.source)
        yield match.start(), f"driver {number}", verdict


def _cuda_drivers(passage: Passage) -> Iterator[_JudgedCommand]:
    """The least driver of a CUDA version."""
    cuda = _CUDA.search(passage.text)
    if cuda is None or not re.search(r"driver|驱动", passage.plain) or not _NEEDS.search(passage.text):
        return
    match = _DRIVER_VERSION.search(passage.text, cuda.end()) or _DRIVER_VERSION.search(
        passage.text[: cuda.start()]
    )
    if match is None or int(match[1]) < _OLDEST_DRIVER:
        return
    try:
        least, wanted = least_driver(cuda[1]), version_of(cuda[1])
    except RigError:
        return
    own = next(
        (
            cuda_release.driver_linux
            for cuda_release in reversed(cuda_releases())
            if cuda_release.version == wanted
        ),
        least,
    )
    truth = say(
        "CUDA {cuda} came with driver {own} and runs from {driver}",
        cuda=cuda[1],
        own=written(own),
        driver=written(least),
    )
    verdict = RIGHT if int(match[1]) in {least[0], own[0]} else WRONG
    result = ClaimVerdict(verdict=verdict, truth=truth)
    yield cuda.start(), f"CUDA {cuda[1]}", result


def variables(passage: Passage) -> Iterator[_JudgedCommand]:
    """Variables that slow programs down."""
    known = {(row.name, row.value): row for row in slowing_variables() if row.where == "programs"}
    for match in _ASSIGNED.finditer(passage.text):
        slow = known.get((match[1], match[2]))
        if slow is not None:
            truth = say("slows the program: {why}", why=slow.why)
            verdict = ClaimVerdict(verdict=UNKNOWN, truth=truth, command="rigright doctor")
            yield match.start(), match[1], verdict


def _known_commands(passage: Passage) -> Iterator[_JudgedCommand]:
    """A command of which nothing is to judge: it is said that it was not run."""
    for word, instead in rows("claim_commands.csv", "starts", "instead"):
        match = re.search(rf"(?<![\w./-]){re.escape(word)}(?![\w.-])", passage.text)
        if match is None:
            continue
        rest = passage.text[match.end() : match.end() + 40]
        worded = passage.is_code or re.search(r"[-./|=]|\d", rest) is not None
        bare = len(passage.text) - len(word) <= 24 and passage.text.isascii()
        if (worded or bare) and (word not in _PLAIN_WORDS or match.start() < 4):
            verdict = ClaimVerdict(
                verdict=UNKNOWN, truth=say("not run; this shows the same"), command=instead
            )
            yield match.start(), word, verdict
            return
