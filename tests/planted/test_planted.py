"""The table of planted faults is sound: scripts/planted can plant each of them, and the suite found them."""

import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
FAULTS = tomllib.loads((ROOT / "tests/planted/faults.toml").read_text(encoding="utf-8"))["fault"]
COLUMNS = {"name", "kind", "file", "text", "put", "sees", "old", "new"}
LEAST = {"law": 20, "reader": 15, "page": 12, "door": 13}


def test_sixty_faults_of_all_kinds():
    assert all(set(row) == COLUMNS for row in FAULTS)
    assert Counter(row["kind"] for row in FAULTS) == LEAST
    assert len({row["name"] for row in FAULTS}) == sum(LEAST.values()) == 60


def test_each_text_stands_once_and_is_changed():
    wrong = {
        row["name"]: times
        for row in FAULTS
        if (times := (ROOT / row["file"]).read_text(encoding="utf-8").count(row["text"])) != 1
        or row["text"] == row["put"]
    }
    assert not wrong


def test_python_stays_python():
    for row in FAULTS:
        if row["file"].endswith(".py"):
            text = (ROOT / row["file"]).read_text(encoding="utf-8")
            compile(text.replace(row["text"], row["put"]), row["file"], "exec")


def test_tests_that_are_named_are_there():
    missing = {row["name"]: row["new"] for row in FAULTS if row["new"] and not is_there(row["new"])}
    assert not missing


def is_there(test):
    file, _, name = test.partition("::")
    path = ROOT / file
    return path.is_file() and f"def {name.rpartition('::')[2]}(" in path.read_text(encoding="utf-8")
