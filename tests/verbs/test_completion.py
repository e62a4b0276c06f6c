"""Completion scripts, asked in the shells themselves."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from rigright.base.errors import AskError
from rigright.faces.cli.front import verbs
from rigright.faces.cli.main import main, verb_parser
from rigright.verbs.completion import SHELLS, completion

SHELL_NAMES = tuple(SHELLS)


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    import contextlib
    import io

    folder, found = tmp_path_factory.mktemp("scripts"), {}
    for shell in SHELL_NAMES:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            assert main(["completion", shell]) == 0
        found[shell] = folder / shell
        found[shell].write_text(out.getvalue(), encoding="utf-8")
    return found


def asked(shell, script):
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell} here")
    done = subprocess.run([program, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        (("pl",), ["plan"]),
        (("plan", "--tt"), ["--ttft"]),
        (("plan", "q", "--mode", "fi"), ["finetune"]),
        (("simulate", "--arrivals", "d"), ["diurnal"]),
        (("explain", "q", "--train", "q"), ["qlora"]),
        (("doctor", "--color", "al"), ["always"]),
        (("export", "slu"), ["slurm"]),
        (("export", "--numb"), ["--number"]),
        (("look-up", "xi"), ["xids"]),
        (("completion", "fi"), ["fish"]),
        (("plan", "q", "--prices", ""), []),  # files
        (("plan", "q", "--engine", "llam"), ["llama.cpp"]),
        (("explain", "q", "--weights", "nf4-"), ["nf4-single"]),
        (("simulate", "q", "--kv", "q8"), ["q8_0"]),
        (("fit", "--on", "rtx-4090-4"), ["rtx-4090-48gb"]),
        (("explain", "Qwen/Qwen3-32"), ["Qwen/Qwen3-32B", "Qwen/Qwen3-32B-FP8-Static-PerTensor"]),
    ],
)
def test_bash_completes(scripts, typed, found):
    words = " ".join(f"'{word}'" for word in ("rigright", *typed))
    line = f"source {scripts['bash']}; COMP_WORDS=({words}); COMP_CWORD={len(typed)}; _rigright; "
    assert asked("bash", line + 'echo "${COMPREPLY[@]}"') == found


def test_bash_knows_every_option_of_every_command(scripts):
    lines = [f"source {scripts['bash']}"]
    for verb in verbs():
        lines += [f"COMP_WORDS=(rigright {verb} --); COMP_CWORD=2; _rigright", 'echo "${COMPREPLY[@]}"']
    told = asked("bash", "\n".join(lines))
    for verb in verbs():
        flags = {flag for flag in verb_parser(verb, "en")._option_string_actions if flag.startswith("--")}
        assert flags <= set(told), verb


def test_zsh_reads_its_script(scripts):
    asked("zsh", f"compdef() {{ true; }}; source {scripts['zsh']}")


@pytest.mark.parametrize(
    ("typed", "found"),
    [("plan --mode fi", "finetune"), ("pl", "plan"), ("plan --tt", "--ttft"), ("export slu", "slurm")],
)
def test_fish_completes(scripts, typed, found):
    assert found in asked("fish", f"source {scripts['fish']}; complete -C 'rigright {typed}'")


def test_powershell_gets_every_option_in_single_quotes(scripts):
    script = scripts["powershell"].read_text(encoding="utf-8")
    for verb in verbs():
        table = script.partition(f"  '{verb}' = [ordered]@{{\n")[2].partition("\n  }")[0]
        told = {line.split("'")[1] for line in table.splitlines()}
        assert set(verb_parser(verb, "en")._option_string_actions) == told - {verb}
    assert script.count("{") == script.count("}")


def test_another_shell_is_refused_with_those_there_are():
    with pytest.raises(AskError, match='"tcsh"') as refused:
        completion("tcsh", grammar={})
    assert "powershell" in str(refused.value.hint)
