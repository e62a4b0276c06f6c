"""Files that are broken in every way people manage: what can be read is answered, the rest is named."""

from __future__ import annotations

import re

import pytest

HEAD = "arrival_s,prompt_tok,output_tok\n"
GOOD = HEAD + "".join(f"{place / 4},{100 + place},{20 + place}\n" for place in range(8))
RUNS = "id,source,engine,model,chip,n_chips,weights,kv,mode,load,prompt_tok,output_tok,metric,value\n"
MODEL = "meta-llama/Meta-Llama-3-8B"
RUN = "{id},mine,llama.cpp,{model},{chip},1,gguf:Q4_K_M,f16,single,1,0,512,{metric},{value}\n"
SIMULATE = "simulate llama-3.1-8b --on h100 --trace {path}"
SWEEP = "sweep {path} --workers 1"
VALIDATE = "validate {path}"
CALIBRATE = "calibrate --from {path} --out {path}.toml"
VERBS = {"simulate": SIMULATE, "sweep": SWEEP, "validate": VALIDATE, "calibrate": CALIBRATE}

BROKEN = {
    "empty": b"",
    "a head alone": HEAD.encode(),
    "one newline": b"\n",
    "noise": bytes(place * 89 % 251 for place in range(5000)),
    "zeros": bytes(4000),
    "utf-16": GOOD.encode("utf-16"),
    "a half sign": GOOD.encode() + b"9,10,\xe6\xb5",
    "an open quote": (GOOD + '9,"100,20\n').encode(),
    "strange columns": b"colour,taste\nred,sweet\n",
    "json": b'{"arrival_s": [1, 2, 3]}',
    "one endless line": b"arrival_s," * 50_000,
    "a wide field": (HEAD + "0," + "9" * 200_000 + ",20\n").encode(),
}


@pytest.fixture
def put(tmp_path):
    def putting(content, name="in.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return putting


def test_what_is_no_table_is_one_sentence_that_names_the_file(ask, put):
    for kind, content in BROKEN.items():
        path = put(content)
        for verb, line in VERBS.items():
            if kind == "utf-16" and verb == "simulate":
                continue  # a trace in UTF-16 is read
            said = ask(line.format(path=path))
            assert said.code in {2, 3}, (kind, verb, said.out)
            assert said.is_error, (kind, verb, said.err)
            assert "in.csv" in said.err, (kind, verb)
            assert len(said.err) < 3000, (kind, verb)


def test_no_file_and_a_folder(ask, tmp_path):
    for verb, line in VERBS.items():
        assert ask(line.format(path=tmp_path / "none.csv")).code == 4, verb
        said = ask(line.format(path=tmp_path))
        assert said.code > 0, verb
        assert said.is_error, verb
        assert str(tmp_path) in said.err, verb


OFFICES = {
    "mark": "\ufeff" + GOOD,
    "semicolons": GOOD.replace(",", ";"),
    "tabs": GOOD.replace(",", "\t"),
    "windows": GOOD.replace("\n", "\r\n"),
    "empty lines": GOOD.replace("\n", "\n\n"),
    "quotes": GOOD.replace(",20\n", '," 20 "\n'),
    "further column": GOOD.replace(HEAD, "note,arrival_s,prompt_tok,output_tok\n")
    .replace("\n0", "\nx,0")
    .replace("\n1", "\nx,1"),
}


def test_tables_of_every_office_are_read(ask, put):
    plain = ask(SIMULATE.format(path=put(GOOD, "plain.csv")) + " --json").data
    assert plain["served"] == 8
    for office, text in OFFICES.items():
        other = ask(SIMULATE.format(path=put(text)) + " --json").data
        assert (other["served"], other["ttft_s"]) == (8, plain["ttft_s"]), office


CELLS = [
    ("arrival_s", "nan,10,10"),
    ("arrival_s", "-1,10,10"),
    ("arrival_s", "inf,10,10"),
    ("arrival_s", "1e400,10,10"),
    ("arrival_s", ",10,10"),
    ("prompt_tok", "9,abc,10"),
    ("prompt_tok", "9,-5,10"),
    ("prompt_tok", "9,0,10"),
    ("prompt_tok", "9,1.5,10"),
    ("prompt_tok", "9,1e400,10"),
    ("prompt_tok", "9,十,10"),
    ("output_tok", "9,10,"),
    ("output_tok", "9,10"),
    ("output_tok", "9,10,0"),
    ("output_tok", "9,10,nan"),
]


def test_a_broken_request_is_named_by_line_and_column_and_the_others_are_played(ask, put):
    for column, row in CELLS:
        data = ask(SIMULATE.format(path=put(GOOD + row + "\n")) + " --json").data
        assert (data["requests"], data["served"], data["refused"]) == (8, 8, 0), row
        (note,) = [note for note in data["notes"] if "in.csv" in note]
        assert re.match(rf"in\.csv, \w+ 10, \w+ {column}: ", note), (row, note)


def test_of_many_broken_requests_a_few_are_named_and_the_rest_counted(ask, put):
    said = ask(SIMULATE.format(path=put(GOOD + "x,y,z\n" * 500)) + " --details")
    named = said.out.count("in.csv, ")
    assert 0 < named < 20
    assert re.search(rf"\b{500 - named}\b", said.out)


def test_a_request_that_is_too_long_is_refused_and_counted(ask, put):
    path = put(GOOD + "9,1000000000,20\n")
    said, data = ask(SIMULATE.format(path=path)), ask(SIMULATE.format(path=path) + " --json").data
    assert (data["served"], data["refused"]) == (8, 1)
    assert said.mark == "!"
    alone = ask(SIMULATE.format(path=put(HEAD + "0,1000000000,20\n")))
    assert alone.mark == "✗"


def test_moments_since_1970_are_told_from_the_first_request(ask, put):
    shifted = "".join(f"{1_700_000_000 + place / 4},{100 + place},{20 + place}\n" for place in range(8))
    plain = ask(SIMULATE.format(path=put(GOOD, "plain.csv")) + " --json").data
    data = ask(SIMULATE.format(path=put(HEAD + shifted)) + " --json").data
    assert data["ttft_s"]["mean"] == pytest.approx(plain["ttft_s"]["mean"], rel=1e-3)
    assert data["refused"] == 0
    assert data["span_s"] == pytest.approx(plain["span_s"], rel=1e-3)


def test_requests_out_of_order_are_played_in_order(ask, put):
    rows = GOOD.splitlines(keepends=True)
    turned = "".join([rows[0], *reversed(rows[1:])])
    assert (
        ask(SIMULATE.format(path=put(turned)) + " --json").data["ttft_s"]
        == ask(SIMULATE.format(path=put(GOOD, "plain.csv")) + " --json").data["ttft_s"]
    )


def run(name="a", *, chip="rtx-4090", metric="decode_tok_s_per_user", value="120"):
    return RUN.format(id=name, model=MODEL, chip=chip, metric=metric, value=value)


def test_a_broken_run_is_named_and_the_others_are_answered(ask, put):
    for wrong, told in (
        ({"chip": "nosuch"}, "nosuch"),
        ({"chip": ""}, ""),
        ({"metric": "colour"}, ""),
        ({"value": "-5"}, "-5"),
        ({"value": "1e400"}, "1e400"),
        ({"value": "nan"}, "nan"),
        ({"value": "fast"}, "fast"),
    ):
        path = put(RUNS + run() + run("b", **wrong))
        said = ask(f"validate {path}")
        assert said.code == 0, (wrong, said.err)
        assert told in said.out, wrong
        first, second = ask(f"validate {path} --json").data["rows"]
        assert first["predictions"][0]["predicted"] > 0, wrong
        assert second["line"] == 3, wrong
        said = ask(CALIBRATE.format(path=path))
        assert said.code == 0, (wrong, said.err)
        assert told in said.out, wrong
        assert re.search(r"\b1 ", said.lines[0]), (wrong, "one run is of use")


def test_runs_of_which_none_can_be_used_change_nothing(ask, put, tmp_path):
    said = ask(CALIBRATE.format(path=put(RUNS + run(chip="nosuch"))))
    assert "nosuch" in said.out + said.err
    assert not (tmp_path / "in.csv.toml").exists() or "rtx" not in (tmp_path / "in.csv.toml").read_text()


def test_a_broken_file_of_own_runs_is_a_sentence(ask, put):
    for text, is_toml in (
        (b"\x93\x00\xff", False),
        (b"[broken\n", False),
        (b"chip = 5\n", True),
        (b'[[anchor]]\nchip = "nosuch"\n', True),
    ):
        said = ask(f"explain llama-3.1-8b --on 4090 --anchors {put(text, 'own.toml')}")
        assert said.code in ({0, 2, 3} if is_toml else {3}), text
        assert said.code == 0 or (said.is_error and "own.toml" in said.err), text


GRID = "model,on,users\n"


def test_a_wrong_question_is_named_by_its_line_and_the_others_are_answered(ask, put):
    for row, told in (
        ("llama-3.1-8b,h100,abc", '"abc"'),
        ("nosuchmodel,h100,8", '"nosuchmodel"'),
        (",h100,8", ""),
        ("llama-3.1-8b,nosuchchip,8", "nosuchchip"),
        ("llama-3.1-8b,h100,-8", "--concurrency"),
        ("llama-3.1-8b,k80,8", "K80"),
    ):
        said = ask(SWEEP.format(path=put(f"{GRID}llama-3.1-8b,h100,8\n{row}\n")))
        assert said.code == 0, row
        assert re.match(r"! 1 \w+ 2 ", said.lines[0]), (row, said.lines[0])
        (bullet,) = said.flat.split(" • ")[1:]
        assert re.match(r"\w+ 3: ", bullet), (row, bullet)
        assert told in bullet, (row, bullet)


def test_a_question_without_a_plan_is_no_error(ask, put):
    line = SWEEP.format(path=put("model,on,users,ttft\nllama-3.1-8b,h100,8,1us\n"))
    (bullet,) = ask(line).flat.split(" • ")[1:]
    assert re.match(r"\w+ 2: TTFT ", bullet), bullet
    (answer,) = ask(f"{line} --json").data["answers"]
    assert answer["fits"] == "no"


def test_a_sweep_that_cannot_be_made_says_so_before_it_is_made(ask, put, tmp_path):
    for line, told in (
        ("--out /nonexistent/x.csv", "/nonexistent/x.csv"),
        ("--out {folder}", "{folder}"),
        ("--workers 0", "1"),
        ("--workers -1", "-1"),
        ("--workers many", "many"),
        ("--ray auto --workers 2", "--workers"),
    ):
        said = ask(f"sweep {put(GRID + 'llama-3.1-8b,h100,8')} {line.format(folder=tmp_path)}")
        assert said.code > 0, line
        assert said.is_error, line
        assert told.format(folder=tmp_path) in said.err, (line, said.err)


def test_a_broken_price_is_named_by_its_line(ask, put):
    for text in ("chip,usd\nrtx 3090,-5\n", "chip,usd\nrtx 3090,free\n", "chip,usd\nnosuch,5\n"):
        said = ask(f"plan llama-3.1-8b --chips 3090 --buy --prices {put(text)}")
        assert said.code == 3, text
        assert re.search(r"in\.csv, \w+ 2\b", said.err), text


SETUPS = [b"", b"[]", b"null", b"{", b'{"model": 5}', b'{"model": "nosuch", "on": "h100"}', b"\xff\xfe\x00"]


def test_a_broken_setup_is_a_sentence(ask, put):
    for text in SETUPS:
        said = ask(f"simulate --trace {put(GOOD)} --setup {put(text, 'setup.json')}")
        assert said.code in {2, 3}, text
        assert said.is_error, text
        assert said.err.count("\n") == 1, text
