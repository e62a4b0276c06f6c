"""Rows of one test run together, so many at a time: to collect and report a row costs more than most rows.

`@pytest.mark.parametrize` is written as ever, and a failure names every row that failed. `--each-row` makes a
test of every row again, as does asking for one by its name. A test that asks for fixtures made for
it alone (`tmp_path`, `monkeypatch`) keeps a test a row.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import pytest

AT_MOST = 16  # rows together: few enough that workers share what takes long
WHOLE = {"session", "package", "module"}  # scopes of fixtures that rows may share


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """What one parameter is in each of the rows; the same `names` stand at all parameters of a test."""

    names: tuple[str, ...]
    values: tuple[object, ...]


def pytest_addoption(parser):
    parser.addoption("--each-row", action="store_true", help="make a test of every row")


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc):
    yield
    calls, config = metafunc._calls, metafunc.config
    asked = config.getoption("each_row") or any("[" in one for one in config.args)
    if not asked and len(calls) > 1 and not any(call.marks for call in calls) and share(metafunc):
        metafunc._calls = [joined(calls[at : at + AT_MOST]) for at in range(0, len(calls), AT_MOST)]


def share(metafunc):
    """Whether rows can share all fixtures: none is made for each test, and none takes the parameters."""
    directness, held = metafunc._params_directness, metafunc._arg2fixturedefs
    fixtures = [name for name in metafunc.fixturenames if name not in directness]
    return set(directness.values()) == {"direct"} and all(
        name in held and held[name][-1].scope in WHOLE for name in fixtures
    )


def joined(calls):
    names = tuple(call.id for call in calls)
    params = {
        name: Rows(names=names, values=tuple(call.params[name] for call in calls)) for name in calls[0].params
    }
    return replace(
        calls[0], params=params, _idlist=[names[0] if len(calls) == 1 else f"{names[0]}..{names[-1]}"]
    )


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    callspec = getattr(pyfuncitem, "callspec", None)
    rows = {name: one for name, one in (callspec.params if callspec else {}).items() if isinstance(one, Rows)}
    if not rows:
        return None
    given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    names = next(iter(rows.values())).names
    order = list(range(len(names)))
    if pyfuncitem.config.pluginmanager.hasplugin("randomly"):
        random.shuffle(order)
    skipped, failed = [], []
    for at in order:
        try:
            pyfuncitem.obj(**given | {name: one.values[at] for name, one in rows.items() if name in given})
        except pytest.skip.Exception as why:
            skipped.append(why)
        except (Exception, pytest.fail.Exception) as why:  # noqa: BLE001 the other rows are tried too
            failed.append((names[at], why))
    if failed:
        said = "\n".join(f"  {name}: {(str(why).splitlines() or [''])[0]}" for name, why in failed)
        failed[0][1].add_note(f"{len(failed)} of {len(names)} rows failed; above is the first:\n{said}")
        raise failed[0][1]
    if len(skipped) == len(names):
        raise skipped[0]
    return True
