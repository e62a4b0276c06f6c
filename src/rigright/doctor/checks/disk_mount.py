"""How file systems are mounted.

A disk file system that became read-only mostly did so after an error: the kernel protects what is left.
`sync` makes each write wait for the disk. Soft network mounts give up with an error in the middle of a
file, and data read over a slow network share starves loaders.

Fault: an ordinary disk file system is read-only because of errors (root, /home, /data, /var...). Warning:
sync; a soft NFS mount. Source: mount(8), nfs(5).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rigright.base.words import Sentence, say
from rigright.doctor.record import (
    Case,
    Confidence,
    Finding,
    Fine,
    Severity,
    Step,
    Verdict,
    as_root,
    seen,
    step,
)
from rigright.machine.host import Mount

TITLE = say("how file systems are mounted")
DISK = {"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs"}
WRITTEN = ("/", "/home", "/data", "/var", "/srv", "/scratch", "/mnt", "/opt")


def check(case: Case) -> Iterator[Verdict]:
    """A verdict for each that is mounted badly, else one for all."""
    found = [finding for mount in case.machine.mounts or () for finding in _judged(mount)]
    yield from found
    if case.machine.mounts and not found:
        yield Fine(says=say("mounted well; file systems: {count}", count=len(case.machine.mounts)))


def _judged(mount: Mount) -> Iterator[Finding]:
    options = set(mount.options)
    if mount.kind in DISK and "ro" in options and _is_written(mount.path):
        why = say("nothing can be written there; the kernel does this when the disk errs")
        look = step(
            say("read what the kernel said"), "journalctl -k --no-pager | grep -iE 'ext4|xfs|btrfs|i/o error'"
        )
        check_it = step(say("unmount and check it; if the disk errs, copy what matters first"), disturbs=True)
        title = say("{path} is mounted read-only", path=mount.path)
        yield _finding(mount, "fault", title=title, why=why, fix=(look, check_it), confidence="likely")
    if mount.kind in DISK and "sync" in options:
        why = say("each write waits for the disk: checkpoints take many times as long")
        again = as_root(say("mount it without sync"), f"mount -o remount,async {shlex.quote(mount.path)}")
        yield _finding(
            mount, "warning", title=say("{path} is mounted with sync", path=mount.path), why=why, fix=(again,)
        )
    if mount.kind.startswith("nfs") and "soft" in options:
        why = say(
            "when the server is slow, reads end with an error in the middle of a file, and writes are lost"
        )
        hard = step(say("mount it with hard, in /etc/fstab, then unmount and mount again"), disturbs=True)
        yield _finding(
            mount,
            "warning",
            title=say("{path} is a soft network mount", path=mount.path),
            why=why,
            fix=(hard,),
        )


def _is_written(path: str) -> bool:
    return path == "/" or path.startswith(tuple(f"{one}" for one in WRITTEN if one != "/"))


def _finding(
    mount: Mount,
    severity: Severity,
    *,
    title: Sentence,
    why: Sentence,
    fix: tuple[Step, ...],
    confidence: Confidence = "sure",
) -> Finding:
    command = f"findmnt {shlex.quote(mount.path)}"
    return Finding(
        severity=severity,
        title=title,
        evidence=seen(say("{path}: {options}", path=mount.path, options=",".join(mount.options)), command),
        why=why,
        fix=fix,
        confidence=confidence,
        about=mount.path,
    )
