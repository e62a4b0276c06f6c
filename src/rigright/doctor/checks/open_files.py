"""Whether programs may open enough files.

DataLoader workers pass tensors to each other as open files, a server holds a connection a request, a data
set in shards is thousands of files. At 1024, the usual limit of a shell, they end in "Too many open
files".

Below 4096: note with one card, warning with four and more. Source: PyTorch multiprocessing notes on file
descriptors; vLLM and Ray production guides (65,536).
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, Verdict, as_root, seen, step

TITLE = say("programs may open enough files")
_FEW, _ENOUGH, _MANY_CARDS = 4096, 65_536, 4


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for the shell this runs in."""
    limit = dict(case.machine.system.limits).get("nofile")
    if limit is None or not case.machine.devices:
        return
    if limit >= _FEW:
        yield Fine(says=say("{limit} files", limit=f"{limit:,.0f}"))
        return
    yield Finding(
        severity="warning" if len(case.machine.devices) >= _MANY_CARDS else "note",
        title=say("a program may open {limit} files only", limit=f"{limit:,.0f}"),
        evidence=seen(say("limit nofile: {limit}", limit=f"{limit:,.0f}"), "ulimit -n"),
        why=say("DataLoader workers, servers and sharded data sets open more, and then end"),
        fix=(
            step(say("for this shell"), f"ulimit -n {_ENOUGH}"),
            as_root(
                say("for every login"), f"echo '* - nofile {_ENOUGH}' > /etc/security/limits.d/90-nofile.conf"
            ),
        ),
        confidence="likely",
    )
