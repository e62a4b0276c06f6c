"""What `setup` found: the machine, what goes together on it, and the steps that install it."""

from __future__ import annotations

from dataclasses import dataclass

from rigright.base.page import Shown
from rigright.base.record import Inner, derived
from rigright.base.words import Sentence
from rigright.facts.chips import Chip

WINDOWS, MACOS = "windows", "macos"  # systems that /etc/os-release does not name


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The machine that software is chosen for; None is not known."""

    shown: Inner[Sentence | str]  # "2x GeForce RTX 4090"
    vendors: Inner[tuple[str, ...]] = ()
    capabilities: Inner[tuple[tuple[tuple[int, int], str], ...]] = ()  # compute capability -> a chip of it
    chips: Inner[tuple[Chip, ...]] = ()  # each kind once
    embedded: Inner[bool] = False  # a module with a system of its own: Jetson
    cards: Inner[int] = 1
    switched: Inner[bool] = False  # its cards sit behind NVSwitches
    racked: Inner[bool] = False  # one tray of a rack whose cards share one NVLink domain
    os_id: str | None = None  # of the system: "ubuntu"
    os_version: str | None = None  # "24.04"
    os_name: Inner[str | None] = None
    arch: str | None = None
    virtual: str | None = None
    container: str | None = None
    driver: Inner[str | None] = None  # loaded now
    open_kernel: Inner[bool | None] = None
    secure_boot: Inner[bool | None] = None
    seen: Inner[bool] = False  # a machine that was read, not one that was named
    by_root: Inner[bool] = False  # who asks is root on it already

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
    pythons: str | None = None  # "3.10-3.14"
    cuda: str | None = None  # version that it is built for
    least_driver: str | None = None  # that it runs with
    pip: tuple[str, ...] = ()  # packages, as pip takes them
    image: str | None = None  # of a container
    installer: str | None = None  # what installs it, where pip does not: "brew", "winget"
    toolkit: Inner[bool] = False
    source: str = ""
    as_of: str = ""
    confidence: str = ""
    notes: Inner[str | None] = None
    least_glibc: Inner[tuple[int, ...] | None] = None  # the least that its wheels install on
    no_kernels_for: str | None = None  # a chip that its CUDA has no kernels for

    @derived
    def glibc(self) -> str | None:
        """The oldest C library that its wheels install on."""
        return None if self.least_glibc is None else ".".join(map(str, self.least_glibc))


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupStep:
    """One step: what it does, why, and its commands; without commands it is done by hand."""

    title: Sentence  # what it does
    why: Sentence  # what for
    commands: tuple[str, ...] = ()  # none: it is done by hand
    as_root: bool = False  # whether it needs root
    disturbs: bool = False  # whether it stops work that runs


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

    system: Target
    pick: Pick | None  # None: nothing in the tables fits
    instead: Sentence | None = None  # why it is not the version that was asked for
    already: Installed | None = None  # it is there and goes together: nothing is to be done
    without_new_driver: Pick | None = (
        None  # the newest set that the driver of now runs, where it is another one
    )
    driver_branch: int | None = None  # of the driver
    open_kernel: bool | None = None
    python: str | None = None  # the one to use
    toolkit: str | None = None  # CUDA toolkit to install, "13.0"
    steps: tuple[SetupStep, ...] = ()
    docker_steps: tuple[SetupStep, ...] = ()
    notes: tuple[Sentence, ...] = ()
    contained: Inner[Pick | None] = (
        None  # what a container runs, where the system's C library is too old for it
    )
    split_over: int | None = None  # how many cards the plan splits a model over
    unknown: tuple[Sentence, ...] = ()  # what no table tells

    @derived
    def machine(self) -> Shown:
        """What it is."""
        return self.system.shown

    @derived
    def vendors(self) -> tuple[str, ...]:
        """Who made the cards."""
        return self.system.vendors

    @derived
    def capabilities(self) -> tuple[str, ...]:
        """Compute capabilities of the cards."""
        return self.system.capability_names

    @derived
    def driver_now(self) -> str | None:
        """Loaded now."""
        return self.system.driver
