"""The work of a sample, by the kind that a network is of."""

from __future__ import annotations

from rigright.arch.image_kinds import arch_kind
from rigright.arch.record import Arch
from rigright.cost.images import ImageWork, work_of_sample


def work_of_arch(arch: Arch, *, tok: int = 1) -> ImageWork:
    """What a sample goes through; `tok`: of a text, where towers have no length of their own."""
    return work_of_sample(arch, arch_kind(arch), tok=tok)
