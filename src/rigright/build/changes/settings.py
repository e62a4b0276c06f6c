"""Settings: they cost nothing and come first."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.build.change import Change, Fit, Standing

# what such a change often brings where its cause binds: by experience of users, no measurement of ours
_OFTEN = 1.5
_LAUNCHES = 1.3
_NEARLY_FULL = 0.9  # of a card's memory


def propose(standing: Standing) -> Iterator[Change]:
    """What a program or its loader may do otherwise."""
    yield Change(
        kind="settings",
        title=say("more DataLoader workers with prefetch and pinned memory; `bench` finds the best setting"),
        helps={"one_thread": _OFTEN, "program": _OFTEN, "disk": _LAUNCHES},
        takes=("cores", "main_memory"),
        usd=None,
        command="rigright bench dataloader",
        source="rule of experience, not measured here",
    )
    yield Change(
        kind="settings",
        title=say("preprocess data once and store the result; decode and augment on the GPU"),
        helps={"cores": _OFTEN, "one_thread": _LAUNCHES},
        usd=None,
        command="rigright bench preprocess",
        source="rule of experience, not measured here",
    )
    if standing.used_bytes is None or not standing.chips:
        has_room = None
    else:
        has_room = standing.used_bytes < _NEARLY_FULL * min(chip.mem_usable_bytes for chip in standing.chips)
    yield Change(
        kind="settings",
        title=say("larger batches, CUDA graphs or torch.compile (fewer, larger kernels)"),
        helps={"small_kernels": _OFTEN, **dict.fromkeys(("program", "one_thread", "gpu_memory"), _LAUNCHES)},
        usd=None,
        fits=(Fit(says=say("free GPU memory"), holds=has_room),),
        source="rule of experience, not measured here",
    )
