"""Whether pip is told of wheel indexes that exist.

PyTorch has an index for each CUDA it is built with, and not for others: cu122, that guides name, never
existed. pip says of a missing index only that it found no version, or silently takes the build of the
main index.

An index of PyTorch that our table does not hold: warning. Source: data/torch_indexes.csv.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen, step
from rigright.doctor.stack import pip
from rigright.doctor.torch_fit import best_build, index_of
from rigright.facts.engine_needs import torch_indexes

TITLE = say("pip is told of wheel indexes that exist")
_INDEX = re.compile(r"download\.pytorch\.org/whl/(?:nightly/|test/)?([\w.]+)")
_CUDA = re.compile(r"cu(\d{2,3})")


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for each index of PyTorch that pip is told of."""
    for python in case.machine.software.pythons:
        for name in dict.fromkeys(_INDEX.findall(python.index or "")):
            if name in torch_indexes() or not _CUDA.fullmatch(name):
                yield Fine(says=say("{index} exists", index=name), about=python.path)
            else:
                show = pip(python, "config list")
                newest = max(
                    (int(match[1]) for known in torch_indexes() if (match := _CUDA.fullmatch(known))),
                    default=0,
                )
                url = index_of(best_build(case))
                yield Finding(
                    severity="warning",
                    title=say("there is no PyTorch index {index}", index=name),
                    evidence=seen(python.index or "", show),
                    why=say("pip finds no wheel there, or takes the build of the main index without a word"),
                    fix=(
                        step(
                            say("name one that exists: {names}", names=", ".join(list(torch_indexes())[:6])),
                            pip(python, f"config set global.extra-index-url {url}") if url else None,
                        ),
                    ),
                    confidence="maybe" if int(name[2:]) > newest else "sure",
                    about=python.path,
                )
