"""What `setup` found: the machine, what goes together on it, and the steps that install it."""

from __future__ import annotations

from dataclasses import dataclass

from rigright.base.words import Sentence

WINDOWS, MACOS = "windows", "macos"  # systems that /etc/os-release does not name


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The machine that software is chosen for; None is not known."""

    shown: Sentence | str  # "2x GeForce RTX 4090"
    vendors: tuple[str, ...] = ()
    capabilities: tuple[tuple[tuple[int, int], str], ...] = ()  # compute capability -> a chip of it
    embedded: bool = False  # a module with a system of its own: Jetson
    cards: int = 1
    switched: bool = False  # its cards sit behind NVSwitches
    racked: bool = False  # one tray of a rack whose cards share one NVLink domain
    os_id: str | None = None
    os_version: str | None = None
    os_name: str | None = None
    arch: str | None = None
    virtual: str | None = None
    container: str | None = None
    driver: str | None = None  # loaded now
    open_kernel: bool | None = None
    secure_boot: bool | None = None
    seen: bool = False  # a machine that was read, not one that was named
    by_root: bool = False  # who asks is root on it already

    TOLD = "id=os_id version=os_version arch virtual container"

    @property
    def capability_names(self) -> tuple[str, ...]:
        """Compute capabilities of the cards: "9.0"."""
        return tuple(".".join(map(str, capability)) for capability, _ in self.capabilities)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """One set that goes together."""

    name: str  # what it is: `vllm`, `torch` ...
    version: str
    torch: str | None = None  # version of PyTorch
    build: str | None = None
    index: str | None = None  # the wheel index to take torch from; None: the package index itself
    python: str | None = None  # "3.10-3.14"
    cuda: str | None = None  # version that it is built for
    least_driver: str | None = None  # that it runs with
    pip: tuple[str, ...] = ()  # packages, as pip takes them
    image: str | None = None  # of a container
    toolkit: bool = False
    source: str = ""
    as_of: str = ""
    confidence: str = ""
    notes: str | None = None
    glibc: tuple[int, ...] | None = None  # the least that its wheels install on
    lacks: str | None = None  # a chip that its CUDA has no kernels for

    TOLD = """
        name version torch build index pythons=python cuda least_driver pip image glibc=glibc_shown
        no_kernels_for=lacks source as_of confidence
    """

    @property
    def glibc_shown(self) -> str | None:
        """The oldest C library that its wheels install on."""
        return None if self.glibc is None else ".".join(map(str, self.glibc))


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupStep:
    """One step: what it does, why, and its commands; without commands it is done by hand."""

    title: Sentence  # what it does
    why: Sentence  # what for
    commands: tuple[str, ...] = ()  # none: it is done by hand
    as_root: bool = False  # whether it needs root
    disturbs: bool = False  # whether it stops work that runs

    TOLD = "title why commands as_root disturbs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """What was asked for, as a Python of the machine has it."""

    name: str
    version: str
    build: str | None
    python: str  # its path


@dataclass(frozen=True, slots=True, kw_only=True)
class SetUp:
    """The answer."""

    target: Target
    pick: Pick | None  # None: nothing in the tables fits
    already: Installed | None = None  # it is there and goes together: nothing is to be done
    kept: Pick | None = None  # the newest set that the driver of now runs, where it is another one
    branch: int | None = None  # of the driver
    open_kernel: bool | None = None
    python: str | None = None  # the one to use
    toolkit: str | None = None  # CUDA toolkit to install, "13.0"
    steps: tuple[SetupStep, ...] = ()
    docker_steps: tuple[SetupStep, ...] = ()
    notes: tuple[Sentence, ...] = ()
    contained: Pick | None = None  # what a container runs, where the system's C library is too old for it
    tp: int | None = None  # how many cards the plan splits a model over
    unknown: tuple[Sentence, ...] = ()  # what no table tells

    TOLD = """
        machine=target.shown vendors=target.vendors capabilities=target.capability_names system=target
        driver_now=target.driver already set=pick without_new_driver=kept driver_branch=branch open_kernel
        python toolkit split_over=tp steps docker_steps notes unknown
    """
