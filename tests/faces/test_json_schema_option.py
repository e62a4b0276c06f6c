"""`--schema` behind a command: what its JSON means, for programs that check it."""

from __future__ import annotations

import json

import jsonschema
import pytest

from programs import rigright
from rigright.faces.cli.front import verbs
from rigright.faces.cli.options import PAGE


@pytest.mark.parametrize("verb", [one for one in verbs() if one != PAGE])
def test_every_command_prints_the_schema_of_its_answer(verb, capsys):
    from rigright.faces.cli.main import main

    assert main([verb, "--schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"].split(":")[2] == verb


def test_an_answer_is_as_the_printed_schema_says():
    schema = rigright("cost", "--schema").data
    answer = rigright("cost", "rtx 4090", "--json").data
    jsonschema.Draft202012Validator(schema).validate(answer)


def test_the_page_has_none():
    assert rigright("web", "--schema").code == 2
