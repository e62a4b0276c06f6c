"""Values that came out wrong while cards exchanged them.

nccl-tests counts in `#wrong` the values of a collective that are not what they must be. One is too many:
whoever trains over these cards gets other gradients than were computed, and no error.

Fault: any value wrong in the newest benchmarks. Source: nccl-tests, doc/PERFORMANCE.md and its column #wrong.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.held import wrong_values
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen, step

TITLE = say("cards exchange values without damage")
COUNTED = "nccl_tests"  # the part whose tool compares every value


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for each collective and size that was compared."""
    for one in case.results:
        if wrong_values(one):
            yield Finding(
                severity="fault",
                title=say("{part}, {what}: values came out wrong", part=one.part, what=one.what),
                evidence=seen(
                    say("{count} wrong values", count=f"{wrong_values(one):g}"),
                    f"rigright bench {one.part}",
                ),
                why=say("results of training over these cards are not to be trusted, and no error tells it"),
                fix=(
                    step(say("take the machine out of use until it is found")),
                    step(
                        say("look for errors of memory and links"),
                        "rigright doctor --all --only ecc_uncorrected,nvlink_errors,pcie_errors,xid",
                    ),
                    step(
                        say("through the processor's IOMMU direct copies may arrive wrong"),
                        "rigright doctor --only pcie_acs",
                    ),
                    step(
                        say("test pairs of cards alone to find the one that does it"),
                        "CUDA_VISIBLE_DEVICES=0,1 all_reduce_perf -g 2",
                    ),
                ),
                about=one.on,
            )
        elif one.part == COUNTED:
            yield Fine(
                says=say("{part}, {what}: all values are right", part=one.part, what=one.what), about=one.on
            )
