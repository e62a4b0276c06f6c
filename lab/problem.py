"""What a fit is posed on: rows read once, dials hung below their parents, figures for any turn of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lab.record import LabError, Subject, Tables
from lab.terms import Tree, put, tree
from rigright.base.tables import Row

LOUDEST = 4.0  # logarithm of the largest error that is still told from a larger one


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Everything a fit needs, read once."""

    subject: Subject
    tables: Tables
    hung: Tree
    ready: Any  # what the subject prepared
    measured: np.ndarray
    keys: tuple[Mapping[str, str], ...]

    def with_terms(self, steps: np.ndarray) -> dict[str, Any]:
        """The tables with dials turned so."""
        values = self.hung.values(steps)
        paths = (dial.path for dial in self.hung.dials)
        return put(self.tables, dict(zip(paths, map(float, values), strict=True)))

    def errors(self, steps: np.ndarray) -> np.ndarray:
        """log(predicted/measured) of each row with dials turned so; nan: not answered."""
        return self.errors_of(self.with_terms(steps))

    def errors_of(self, tables: Tables) -> np.ndarray:
        """The same of any tables."""
        predicted = np.asarray(self.subject.predict(self.ready, tables), dtype=float)
        return log_ratio(predicted, self.measured)


def pose(subject: Subject, rows: Sequence[Row], *, tables: Tables) -> Problem:
    """Read rows and dials once; rows that teach nothing must be gone by now."""
    if not rows:
        raise LabError(f"no run teaches {subject.name}: nothing to fit")
    return Problem(
        subject=subject,
        tables=tables,
        hung=tree(subject.dials(rows, tables), tables),
        ready=subject.prepare(rows),
        measured=np.array([subject.measured(row) for row in rows], dtype=float),
        keys=tuple({**subject.keys(row), "id": str(row.get("id") or "")} for row in rows),
    )


def log_ratio(predicted: np.ndarray, measured: np.ndarray) -> np.ndarray:
    """log(predicted/measured); nan where either is no figure above zero."""
    good = np.isfinite(predicted) & (predicted > 0) & (measured > 0)
    ratio = np.where(good, predicted, 1.0) / np.where(good, measured, 1.0)
    return np.where(good, np.clip(np.log(ratio), -LOUDEST, LOUDEST), np.nan)
