from __future__ import annotations

import pytest

from rigright.base import shelf
from rigright.base.errors import AskError, DataError, MissingError, RigError
from rigright.base.words import CHINESE, ENGLISH, say, tell
from spoken import values


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A package of variants, made of texts."""

    def make(name, files):
        package = tmp_path / name
        package.mkdir()
        (package / "__init__.py").touch()
        for file, text in files.items():
            (package / f"{file}.py").write_text(text)
        monkeypatch.syspath_prepend(str(tmp_path))
        return name

    return make


def test_a_new_file_is_a_new_variant(folder):
    package = folder("policies", {"b": "pick = 2", "a": "pick = 1"})
    assert shelf.names(package) == ("a", "b")
    assert shelf.load(package, "pick") == {"a": 1, "b": 2}


def test_listing_a_folder_runs_none_of_it(folder):
    package = folder("dangerous", {"bomb": "raise SystemExit"})
    assert shelf.names(package) == ("bomb",)


def test_a_file_without_the_agreed_name_is_an_error_that_names_it(folder):
    package = folder("halves", {"good": "pick = 1", "bad": "choose = 1"})
    with pytest.raises(DataError) as refused:
        shelf.load(package, "pick")
    assert values(refused.value.sentence) == {"file": "bad", "folder": "halves", "name": "pick"}


def test_every_error_is_one_of_ours_and_tells_its_sentence():
    codes = {error: error.exit_code for error in (RigError, AskError, DataError, MissingError)}
    assert len(set(codes.values())) == len(codes)
    assert 0 not in codes.values()
    error = DataError(say("no such file: {file}", file="x"))
    assert str(error) == tell(error.sentence, ENGLISH) != tell(error.sentence, CHINESE)
    assert str(error).endswith(" x")
