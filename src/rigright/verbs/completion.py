"""Scripts that complete `rigright` in a shell: bash, zsh, fish, PowerShell."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from rigright.base import telling
from rigright.base.errors import unknown
from rigright.base.record import dataclass
from rigright.base.tables import DATA
from rigright.base.words import say

Grammar = Mapping[str, Mapping[str, tuple[str, ...] | None]]
"""Command -> its options -> what may follow each: these words, anything (none of them), nothing (None).

Under its own name: the words that may follow the command itself.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A script that completes commands and options in a shell."""

    shell: str  # "bash", "zsh", "fish" or "powershell"
    script: str  # what the shell is to read


tells = telling.RecordPrinter(Completion)


def completion(shell: str, *, grammar: Grammar) -> str:
    """The script for a shell, of the commands and options there are."""
    if shell not in SHELLS:
        raise unknown(say("shell"), shell, known=SHELLS)
    return SHELLS[shell](grammar)


def _options(verb: str, flags: Mapping[str, tuple[str, ...] | None]) -> list[str]:
    """The options of a command."""
    return [flag for flag in flags if flag != verb]


def _following(verb: str, flags: Mapping[str, tuple[str, ...] | None]) -> dict[str, tuple[str, ...] | None]:
    """What may follow each word: an option, or the command itself, where an option may stand, too."""
    own = flags.get(verb)
    return {**flags, **({verb: (*own, *_options(verb, flags))} if own else {})}


def _in_cases(shell: str, grammar: Grammar, *, value: str, option: str, free: str) -> str:
    """The script of a shell that has `case`: a branch a command and option, as the three forms write it."""
    values, options, anything = [], [], []
    for verb, flags in grammar.items():
        options.append(option.format(verb=verb, words=" ".join(_options(verb, flags))))
        for flag, words in _following(verb, flags).items():
            if words:
                values.append(value.format(verb=verb, flag=flag, words=" ".join(words)))
            elif words is not None:
                anything.append(free.format(verb=verb, flag=flag))
    lists = {"values": "\n".join(values), "options": "\n".join(options), "anything": "|".join(anything)}
    return _script(shell, verbs=" ".join(grammar), **lists)


def _script(shell: str, **lists: str) -> str:
    """The frame of a shell's script (data/completion) with what stands in it."""
    text = (DATA / "completion" / f"{shell}.txt").read_text(encoding="utf-8")
    return re.sub("@([a-z]+)@", lambda place: lists[place[1]], text)


def _bash(grammar: Grammar) -> str:
    return _in_cases(
        "bash", grammar, option='    {verb}) words="{words}" ;;', free='"{verb} {flag}"',
        value='    "{verb} {flag}") words="{words}" ;;',
    )  # fmt: skip


def _zsh(grammar: Grammar) -> str:
    return _in_cases(
        "zsh", grammar, option="    {verb}) compadd -- {words} ;;",
        value="    ('{verb} {flag}') compadd -- {words} ;;", free="'{verb} {flag}'",
    )  # fmt: skip


def _fish(grammar: Grammar) -> str:
    first = "__fish_is_first_token"
    lines = ["# rigright completion fish", f"complete -c rigright -n {first} -f -a '{' '.join(grammar)}'"]
    for verb, flags in grammar.items():
        if flags.get(verb):
            lines.append(
                f"complete -c rigright -n '__fish_prev_arg_in {verb}' -f -a '{' '.join(flags[verb] or ())}'"
            )
        for flag, words in flags.items():
            if flag.startswith("--"):
                takes = "" if words is None else f" -x -a '{' '.join(words)}'" if words else " -r"
                seen = f"'__fish_seen_subcommand_from {verb}'"
                lines.append(f"complete -c rigright -n {seen} -l {flag.removeprefix('--')}{takes}")
    return "\n".join(lines) + "\n"


def _powershell(grammar: Grammar) -> str:
    def listed(words: tuple[str, ...] | None) -> str:
        return "$null" if words is None else f"@({', '.join(repr(word) for word in words)})"

    rows = []
    for verb, flags in grammar.items():
        rows.append(f"  '{verb}' = [ordered]@{{")
        following = _following(verb, flags)
        rows += [f"    '{flag}' = {listed(words)}" for flag, words in following.items()]
        rows.append("  }")
    return _script("powershell", values="\n".join(rows))


SHELLS: Mapping[str, Callable[[Grammar], str]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
    "powershell": _powershell,
}
