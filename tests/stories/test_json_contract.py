"""What scripts rely on: keys of the JSON and the types of their values may be added to, never renamed."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import jsonschema
import pytest

from desk import STARVED, fill, result, ticks
from kept_answers import keep
from rigright.base.tables import DATA
from rigright.faces.cli.front import verbs
from rigright.machine.record import Machine
from rigright.machine.stored import plain, restored
from rigright.machine.system import Event

ROOT = Path(__file__).parent.parent.parent
HELD = Path(__file__).parent / "json_contract.json"
QUESTIONS = json.loads(HELD.read_text(encoding="utf-8"))
BY_NAME = {
    "kv_bytes_at",  # lengths up to the model's own
    "parts_s",  # those that take any time
    "places",
    "files",
    "shares",
    "helps",
    "gpu_peak_bytes",
    "energy_j",
    "slowed_s",
}  # mappings whose keys are names of things
RUN = (
    "{id},mine,llama.cpp,meta-llama/Meta-Llama-3-8B,{chip},1,gguf:Q4_K_M,f16,single,1,0,512,"
    "decode_tok_s_per_user,{value}\n"
)
BOX = {
    "schema": 1,
    "devices": [
        {"index": 0, "vendor": "nvidia", "name": "NVIDIA H100 80GB HBM3", "recovery": "gpu reset"},
        {"index": 1, "vendor": "nvidia", "name": "NVIDIA H100 80GB HBM3", "recovery": "none"},
    ],
}
MACHINE = restored(Machine, BOX, where="box")
FIGURES = [result(7e14, at_s=1e9), result(4e14, at_s=2e9)]
XID = Event(kind="xid", text="NVRM: Xid (PCI:0000:01:00): 79", at_s=2e9, code=79)
BENCHED = {
    "rigright_bench": 1, "quick": True, "seconds": 1.0, "machine": BOX,
    "results": [plain(one) for one in FIGURES], "skipped": [{"part": "p2p", "why": "one card"}],
}  # fmt: skip
FILES = {
    "bench.json": json.dumps(BENCHED),
    "nodes/n1.json": json.dumps(BENCHED),
    "nodes/n2.json": json.dumps(BOX),
    "smi.xml": (
        "<nvidia_smi_log><driver_version>550.1</driver_version><attached_gpus>2</attached_gpus>"
        '<gpu id="00000000:01:00.0"><product_name>NVIDIA GeForce RTX 4090</product_name>'
        "<fb_memory_usage><total>24564 MiB</total><used>1 MiB</used></fb_memory_usage>"
        "<processes><process_info><pid>7</pid><used_memory>1 MiB</used_memory></process_info></processes>"
        "</gpu></nvidia_smi_log>"
    ),
    "box.json": json.dumps(BOX),
    "prices.csv": "chip,price,currency,as_of\n4090,1800,USD,2025-01\nnosuch,5,USD,2026\n",
    "plan.json": json.dumps({"model": "m", "params": 8e9, "plans": [{"chip": "rtx-4090", "n_chips": 2}]}),
    "parts.txt": "cpu: 7950x\nboard: b650 tomahawk\ngpu: 2x rtx 4090\npsu: 850W\nram: a few\n",
    "trace.csv": "arrival_s,prompt_tok,output_tok\n0,100,20\n1,x,20\n2,300,20\n",
    "grid.csv": "model,on,users\nllama-3.1-8b,h100,8\nqwen3-8b,4090,many\n",
    "runs.csv": (
        "id,source,engine,model,chip,n_chips,weights,kv,mode,load,prompt_tok,output_tok,metric,value\n"
        + RUN.format(id="a", chip="rtx-4090", value=99)
        + RUN.format(id="b", chip="nosuch", value=99)
    ),
    "steps.csv": (
        "id,source,model,chip,n_chips,framework,precision,method,sharding,micro_batch,global_batch,seq_tok,"
        "tok_per_s_per_chip,mfu,peak_gib\n"
        "a,mine,meta-llama/Llama-2-7b-hf,h100-sxm5-80gb,8,torchtitan,bf16,full,FSDP,2,16,4096,9000,0.4,\n"
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files that questions read."""
    place = tmp_path_factory.mktemp("contract")
    for name, text in FILES.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text, encoding="utf-8")
    now_s = time.time()
    moments = ticks(STARVED, {"disk_busy_share": 0.99}, until_s=now_s - 2)
    fill(place / "filled.db", moments, results=FIGURES, events=[XID], on=MACHINE)
    return place


@pytest.fixture(scope="module")
def kept():
    """What has been answered already."""
    return {}


@pytest.fixture
def answer(ask, folder, kept, tmp_path, monkeypatch):
    """What a question is answered as JSON; `{folder}` holds the files a question reads."""
    monkeypatch.setenv("RIGRIGHT_HOME", str(tmp_path))
    keep(monkeypatch, kept)

    def answered(line):
        said = ask(line, folder=folder)
        return json.loads(said.out or said.err)  # of `measure` stdout is the command's

    return answered


def shape(value):
    """Names and types: a list speaks by its first element."""
    if isinstance(value, dict):
        return {key: {} if key in BY_NAME else shape(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    if isinstance(value, bool):
        return "flag"
    if isinstance(value, int | float):
        return "number"
    return "null" if value is None else "text"


def lost(held, now, where=""):
    """What was there and is not, or is of another type; null says nothing of a type."""
    if isinstance(held, dict) and isinstance(now, dict):
        for key, inner in held.items():
            if key in now:
                yield from lost(inner, now[key], f"{where}.{key}")
            else:
                yield f"{where}.{key} is gone"
    elif isinstance(held, list) and isinstance(now, list):
        if held and now:
            yield from lost(held[0], now[0], f"{where}[]")
    elif held != now and "null" not in {
        held if isinstance(held, str) else "",
        now if isinstance(now, str) else "",
    }:
        yield f"{where} was {held}, is {now}"


@pytest.mark.parametrize("line", QUESTIONS)
def test_no_key_is_lost_and_no_type_changes(answer, line):
    assert list(lost(QUESTIONS[line], shape(answer(line)))) == []


@pytest.mark.parametrize("line", QUESTIONS)
def test_json_is_one_value_in_english_keys_whatever_the_language(answer, line):
    english, chinese = (answer(f"{line} --lang {code}") for code in ("en", "zh"))
    assert list(lost(shape(english), shape(chinese))) == []
    assert all(key.isascii() for key in keys(chinese))


def keys(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys(inner)


def closed(schema):
    """The same, where nothing else may stand in an object."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(one) for key, one in schema.items()}
    return {"additionalProperties": False} | inner if isinstance(inner.get("properties"), dict) else inner


def schema_of(name):
    schema = json.loads((DATA / "schemas" / f"{name}.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return closed(schema)


def unlike(answered, name):
    wrong = jsonschema.Draft202012Validator(schema_of(name)).iter_errors(answered)
    return [f"{error.json_path}: {error.message[:300]}" for error in wrong]


OTHERS = (  # answers whose values are too many or too free to be held one by one
    "--json",
    "completion fish --json",
    "mcp --list --json",
    "look-up 4090 --json",
    "look-up nvlink --json",
    "look-up plugins --json",
    "look-up checks gpu --json",
    "look-up xids 79 --json",
    "look-up model bert-base no-such-thing 'gpt2' --json",
    "look-up prices --json",
    "look-up software v100 --json",
    "look-up clouds --json",
    "look-up chips --json",
    "look-up cpus --json",
    "look-up architectures --json",
    "look-up platforms --json",
    "look-up benchmarks --json",
    "look-up engines --json",
    "look-up formats --json",
    "look-up models --json",
)


@pytest.mark.parametrize("line", [*QUESTIONS, *OTHERS])
def test_an_answer_is_what_its_schema_says_and_holds_no_other_key(answer, line):
    first = line.split()[0]
    assert unlike(answer(line), "rigright" if first.startswith("-") else first) == []


def test_every_command_has_a_schema():
    named = {path.stem for path in (DATA / "schemas").glob("*.json")}
    assert named == {*verbs(), "rigright", "error"} - {"web"}  # which answers on its page alone


@pytest.fixture(scope="module")
def made():
    """The script that makes the schemas, and what it makes."""
    sys.path.insert(0, str(ROOT / "scripts"))
    try:
        import schemas
    finally:
        sys.path.pop(0)
    return schemas, schemas.schemas()


def promised(keys):
    """A key that is always there keeps the promise that it may be."""
    held = set(keys)
    return held | {f"{key} optional" for key in held}


def test_no_key_that_was_published_goes_or_changes_its_type(made):
    """One that must go raises `SCHEMA_VERSION`, and its line is taken out with it."""
    script, schemas = made
    published = (Path(__file__).parent / "published_keys.txt").read_text(encoding="utf-8").splitlines()
    gone = sorted(set(published) - promised(script.every_key(schemas)))
    assert not gone, f"Add keys, do not rename or remove them, nor change their types: {gone}"


def described(where, schema):
    """Each key with whether its meaning is said."""
    if isinstance(schema, dict):
        for key, value in (schema.get("properties") or {}).items():
            yield f"{where}.{key}", bool(value.get("description"))
        for key, value in schema.items():
            yield from described(f"{where}.{key}", value)
    elif isinstance(schema, list):
        for one in schema:
            yield from described(where, one)


def test_every_key_says_what_it_means(made):
    """In a remark beside its field, or in scripts/meanings.toml; there nothing stands that no key means."""
    script, schemas = made
    found = [key for name, schema in schemas.items() for key in described(name, schema)]
    assert len(found) > 2800
    mute = [key for key, is_said in found if not is_said]
    assert not mute, f"Say what it means beside its field, or in scripts/meanings.toml: {mute}"
    assert all({"$id", "title", "description"} <= schema.keys() for schema in schemas.values())
    table = {(kind, name) for kind, names in script.MEANINGS.items() for name in names}
    assert table == script.used


def test_an_error_is_json_too(ask):
    for line in (
        "explain nothing-of-the-kind --on h100 --json",
        "fit --on nothing --json",
        "look-up chops --json",
    ):
        said = ask(line)
        assert said.code > 0
        assert unlike(said.data, "error") == []
        assert set(said.data["error"]) >= {"kind", "message", "exit_code"}
        assert said.data["error"]["exit_code"] == said.code
