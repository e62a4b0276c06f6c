"""Whether the driver's branch still gets fixes.

NVIDIA mends a long term branch for three years, a production branch for one, a new feature branch until
the next. After that holes stay open, among them ones that let a program of one user read another's
memory.

Ended: note; nothing is broken. Source: data/driver_branches.csv.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.record import Case, Evidence, Finding, Fine, Verdict, step
from rigright.doctor.stack import capabilities, driver, numbers, today
from rigright.facts.drivers import Branch, branch_of, newest_branch
from rigright.facts.software import written

TITLE = say("the driver still gets fixes")
_KINDS = {
    "long term": say("long-term"),
    "production": say("production"),
    "new feature": say("new-feature"),
    "legacy": say("legacy"),
}
_SHOW = "nvidia-smi --query-gpu=driver_version --format=csv"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for the driver."""
    have = numbers(driver(case))
    branch = branch_of(written(have)) if have else None
    if have is None or branch is None or branch.branch != have[0] or case.machine.system.virtual == "wsl2":
        return
    if branch.has_ended(today(case)):
        oldest = min(capabilities(case), default=None)
        better = newest_branch(oldest, today=today(case)) if oldest else None
        yield Finding(
            severity="note",
            title=_title(branch),
            evidence=(
                Evidence(shows=say("driver {driver}", driver=driver(case)), command=_SHOW),
                Evidence(
                    shows=say(
                        "of {kind} branch {branch}; source: {source}",
                        kind=_KINDS.get(branch.kind, branch.kind),
                        branch=branch.branch,
                        source=branch.source,
                    )
                ),
            ),
            why=say("holes that are found from now on stay open; newer CUDA needs a newer driver"),
            fix=(
                step(
                    say("plan a change to branch {branch}", branch=better.branch)
                    if better
                    else say("see which branch fits"),
                    "rigright setup --script",
                ),
            ),
        )
    else:
        until = branch.ends or say("a day not known")
        yield Fine(says=say("branch {branch} gets them until {day}", branch=branch.branch, day=until))


def _title(branch: Branch) -> Sentence:
    if branch.ends is None:
        return say("driver branch {branch} gets no more fixes", branch=branch.branch)
    return say(
        "driver branch {branch} gets no more fixes since {month}", branch=branch.branch, month=branch.ends
    )
