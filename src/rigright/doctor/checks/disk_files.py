"""Files left on file systems (inodes).

A file system can be full of files while it has space: data sets of millions of small images do that.
Writing then fails with "no space left", and df shows room.

Fault: less than 1 % left; warning: less than 5 %. File systems that make inodes as they go (btrfs, many
network ones) tell none. Source: node_exporter's standard alerts.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen, step

TITLE = say("files that file systems can still hold")
FULL, LOW = 0.01, 0.05


def check(case: Case) -> Iterator[Verdict]:
    """A verdict for each that is nearly full, else one for all."""
    told = [
        one
        for one in case.machine.mounts or ()
        if one.files_free_share is not None and "ro" not in one.options
    ]
    short = [one for one in told if (one.files_free_share or 0.0) < LOW]
    for mount in short:
        share = mount.files_free_share or 0.0
        title = say("{path} can hold {share} more files", path=mount.path, share=f"{share:.1%}")
        yield Finding(
            severity="fault" if share < FULL else "warning",
            title=title,
            evidence=seen(title, f"df -i {shlex.quote(mount.path)}"),
            why=say("writing fails with no space left although there is space"),
            fix=(
                step(
                    say("see where the files are"),
                    f"du --inodes -x --max-depth=3 {shlex.quote(mount.path)} | sort -n | tail -20",
                ),
                step(say("pack small files into shards (tar, parquet, webdataset)")),
            ),
            about=mount.path,
        )
    if told and not short:
        yield Fine(says=say("each has room; file systems: {count}", count=len(told)))
