"""`setup` for Windows itself: the driver by hand, an environment, and wheels, in PowerShell's words."""

from __future__ import annotations

from rigright.base.words import say
from rigright.facts.software import engine_needs
from rigright.verbs.setup.choice import TORCH, python_for
from rigright.verbs.setup.others import by_itself
from rigright.verbs.setup.set_up import WINDOWS, Pick, SetUp, SetupStep, Target
from rigright.verbs.setup.steps import in_two, quoted, torch_line

_PLACE = "$HOME\\envs\\{name}"


def has_packages(name: str) -> bool:
    """Whether pip finds it there."""
    rows = (row for row in engine_needs() if row.name == name)
    return name == TORCH or any(WINDOWS in (row.systems or ()) for row in rows)


def on_windows(target: Target, name: str, *, pick: Pick | None) -> SetUp:
    """What is known of native Windows, and the way to WSL2 for the rest."""
    ready = by_itself(target, name)
    if ready is not None:
        return ready
    if not has_packages(name):
        sentence = say("{name} has no packages for Windows itself: use WSL2, --os wsl", name=name)
        return SetUp(system=target, pick=None, unknown=(sentence,))
    if pick is None:
        sentence = say("no known version of {name} runs on {chips}", name=name, chips=target.shown)
        return SetUp(system=target, pick=None, unknown=(sentence,))
    python = python_for(pick.pythons, system=None) or "3"
    place = _PLACE.format(name=pick.name)
    pip = f"& {place}\\Scripts\\python.exe -m pip install"
    torch, rest = in_two(pick)
    return SetUp(
        system=target,
        pick=pick,
        python=python,
        steps=(
            SetupStep(
                title=say(
                    "driver from NVIDIA's download page: {driver} or newer",
                    driver=pick.least_driver or "?",
                ),
                why=say("the driver shipped with Windows may be older; no package manager provides it"),
            ),
            SetupStep(
                title=say("virtual environment with Python {python}", python=python),
                why=say("keeps its packages apart from the system and other frameworks"),
                commands=(
                    f"winget install --exact --id Python.Python.{python}",
                    f"py -{python} -m venv {place}",
                ),
            ),
            SetupStep(
                title=say("{name} {version}", name=pick.name, version=pick.version),
                why=say("PyPI's torch for Windows has no CUDA: this is PyTorch's own index"),
                commands=(
                    *torch_line(pick, torch, pip=pip),
                    *((f"{pip} {' '.join(map(quoted, rest))}",) if rest else ()),
                ),
            ),
            _verify(pick),
        ),
        unknown=(say("the wheel data is for Linux; Windows may differ"),),
    )


def _verify(pick: Pick) -> SetupStep:
    python = f"{_PLACE.format(name=pick.name)}\\Scripts\\python.exe"
    text = "import torch; print(torch.__version__, torch.cuda.is_available(), torch.cuda.get_arch_list())"
    return SetupStep(
        title=say("verify"),
        why=say("doctor checks the installation against the same tables"),
        commands=("nvidia-smi", f'& {python} -c "{text}"', "rigright doctor"),
    )
