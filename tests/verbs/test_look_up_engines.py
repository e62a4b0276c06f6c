"""`look-up engines`: defaults of engines, newest and older."""

import json

from rigright.faces.cli.main import main
from rigright.facts.engines import engines


def told(capsys, *words):
    assert main(["look-up", "engines", *words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_every_engine_is_listed(capsys):
    main(["look-up", "engines"])
    out = capsys.readouterr().out
    assert all(engine.label in out for engine in engines().values())


def test_an_older_version_is_shown_as_it_was(capsys):
    text = json.dumps(told(capsys, "vllm", "0.8.5"))
    assert '"share": 0.9' in text
    assert "0.8.5" in text


def test_sources_are_there_on_request(capsys):
    main(["look-up", "engines", "llama.cpp", "--sources"])
    assert "llama-kv-cache.cpp" in capsys.readouterr().out
