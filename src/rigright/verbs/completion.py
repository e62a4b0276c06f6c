"""Scripts that complete `rigright` in a shell: bash, zsh, fish, PowerShell."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rigright.base import telling
from rigright.base.errors import unknown
from rigright.base.record import dataclass
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


def _bash(grammar: Grammar) -> str:
    values, options, anything = [], [], []
    for verb, flags in grammar.items():
        options.append(f'    {verb}) words="{" ".join(_options(verb, flags))}" ;;')
        for flag, words in _following(verb, flags).items():
            if words:
                values.append(f'    "{verb} {flag}") words="{" ".join(words)}" ;;')
            elif words is not None:
                anything.append(f'"{verb} {flag}"')
    lines = [
        "# rigright completion bash",
        "_rigright() {",
        '  local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" verb="${COMP_WORDS[1]}"',
        "  local words=",
        "  if ((COMP_CWORD == 1)); then",
        f'    words="{" ".join(grammar)}"',
        "  else",
        '    case "$verb $prev" in',
        *values,
        f"    {'|'.join(anything)}) return ;;",
        '    *) [[ "$cur" == -* ]] || return',
        '    case "$verb" in',
        *options,
        "    esac ;;",
        "    esac",
        "  fi",
        '  COMPREPLY=($(compgen -W "$words" -- "$cur"))',
        "}",
        "complete -o default -F _rigright rigright rig",
    ]
    return "\n".join(lines) + "\n"


def _zsh(grammar: Grammar) -> str:
    values, options, anything = [], [], []
    for verb, flags in grammar.items():
        options.append(f"    {verb}) compadd -- {' '.join(_options(verb, flags))} ;;")
        for flag, words in _following(verb, flags).items():
            if words:
                values.append(f"    ('{verb} {flag}') compadd -- {' '.join(words)} ;;")
            elif words is not None:
                anything.append(f"{verb} {flag}")
    lines = [
        "#compdef rigright rig",
        "_rigright() {",
        f"  if ((CURRENT == 2)); then compadd -- {' '.join(grammar)}; return; fi",
        '  case "$words[2] $words[CURRENT-1]" in',
        *values,
        f"    ({'|'.join(repr(text) for text in anything)}) _files ;;",
        '    *) if [[ "$words[CURRENT]" != -* ]]; then _files; return; fi',
        '    case "$words[2]" in',
        *options,
        "    esac ;;",
        "  esac",
        "}",
        "compdef _rigright rigright rig",
    ]
    return "\n".join(lines) + "\n"


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
    lines = [
        "# rigright completion powershell",
        "$RigrightGrammar = [ordered]@{",
        *rows,
        "}",
        "Register-ArgumentCompleter -Native -CommandName rigright, rig -ScriptBlock {",
        "  param($word, $ast, $cursor)",
        "  $said = @($ast.CommandElements | ForEach-Object { $_.ToString() })",
        "  if ($word) { $said = @($said | Select-Object -SkipLast 1) }",
        "  $found = $RigrightGrammar.Keys",
        "  if ($said.Count -gt 1) {",
        "    $flags = $RigrightGrammar[$said[1]]",
        "    if (-not $flags) { return }",
        "    $values = $flags[$said[-1]]",
        "    $found = if ($null -ne $values) { $values } else { $flags.Keys -like '-*' }",
        "  }",
        '  $found | Where-Object { $_ -like "$word*" } | ForEach-Object {',
        "    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)",
        "  }",
        "}",
    ]
    return "\n".join(lines) + "\n"


SHELLS: Mapping[str, Callable[[Grammar], str]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
    "powershell": _powershell,
}
