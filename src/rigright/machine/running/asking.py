"""Commands that speak of the machine's own files: of no use where another machine's files are mounted."""

from __future__ import annotations

from rigright.machine.world import PATIENCE_S, CommandOutput, World


def run_command(world: World, *argv: str, patience_s: float = PATIENCE_S) -> CommandOutput | None:
    """What a command says of the machine that is read; None where it would speak of another."""
    if world.is_live and world.commands is None and not world.is_own:
        return None
    return world.run(*argv, patience_s=patience_s)


def command_text(world: World, *argv: str, patience_s: float = PATIENCE_S) -> str | None:
    """The words of a command that went well."""
    answer = run_command(world, *argv, patience_s=patience_s)
    return answer.out.strip() if answer is not None and answer.code == 0 else None


def lines(text: str | None) -> list[str]:
    """The lines of a text that hold something."""
    return [line.strip() for line in (text or "").splitlines() if line.strip()]
