"""`probe`: this machine as a record."""

from __future__ import annotations

import argparse

from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "machine"
SUMMARY = say("inventory of this machine: GPUs, links, memory, disks, network, drivers; read-only")


def answer(options: argparse.Namespace) -> Answer:
    """Read it."""
    from rigright.report.pages import probe as pages
    from rigright.verbs.probe import bundle, probe, save

    if options.bundle is not None and options.from_file is not None:
        raise AskError(say("a bundle describes this machine: remove --from, or use --save"))
    bundled = None if options.bundle is None else bundle(options.bundle)
    machine = probe(options.from_file) if bundled is None else bundled.machine
    if options.save is not None:
        save(machine, options.save)
    return Answer.of(pages, machine, everything=options.all, saved=options.save, bundled=bundled)
