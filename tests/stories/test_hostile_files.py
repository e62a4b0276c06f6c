"""Files that are broken in every way people manage: what can be read is answered, the rest is named."""

from __future__ import annotations

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


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_no_table_is_one_sentence_that_names_the_file(ask, put, verb, kind):
    if kind == "utf-16" and verb == "simulate":
        pytest.skip("a trace in UTF-16 is read")
    said = ask(VERBS[verb].format(path=put(BROKEN[kind])))
    assert said.code in {2, 3}, (said.code, said.out)
    error, *hint = said.err.splitlines()
    assert error.startswith("error: ")
    assert [line.startswith("hint: ") for line in hint] in ([], [True])
    assert "in.csv" in said.err
    assert len(said.err) < 3000
    assert said.out == ""


@pytest.mark.parametrize("verb", VERBS)
def test_no_file_and_a_folder(ask, tmp_path, verb):
    assert ask(VERBS[verb].format(path=tmp_path / "none.csv")).code == 4
    said = ask(VERBS[verb].format(path=tmp_path)).err
    assert "irectory" in said or "no runs in folder" in said


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + GOOD,
        GOOD.replace(",", ";"),
        GOOD.replace(",", "\t"),
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("\n", "\n\n"),
        GOOD.replace(",20\n", '," 20 "\n'),
        GOOD.replace(HEAD, "note,arrival_s,prompt_tok,output_tok\n")
        .replace("\n0", "\nx,0")
        .replace("\n1", "\nx,1"),
    ],
    ids=["mark", "semicolons", "tabs", "windows", "empty lines", "quotes", "further column"],
)
def test_tables_of_every_office_are_read(ask, put, text):
    plain = ask(SIMULATE.format(path=put(GOOD, "plain.csv")) + " --json").data
    other = ask(SIMULATE.format(path=put(text)) + " --json").data
    assert other["served"] == plain["served"] == 8
    assert other["ttft_s"] == plain["ttft_s"]


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


@pytest.mark.parametrize(("column", "row"), CELLS)
def test_a_broken_request_is_named_by_line_and_column_and_the_others_are_played(ask, put, column, row):
    said = ask(SIMULATE.format(path=put(GOOD + row + "\n")))
    assert said.code == 0
    assert f"in.csv, line 10, column {column}: cannot read" in " ".join(said.out.split())
    assert "8 requests from the trace" in said.out
    assert "not served" not in said.out


def test_of_many_broken_requests_a_few_are_named_and_the_rest_counted(ask, put):
    said = ask(SIMULATE.format(path=put(GOOD + "x,y,z\n" * 500)) + " --details")
    assert said.out.count("cannot read") < 20
    assert "more unreadable rows" in said.out


def test_a_request_that_is_too_long_is_refused_and_counted(ask, put):
    said = ask(SIMULATE.format(path=put(GOOD + "9,1000000000,20\n")))
    assert "requests not served: 1" in " ".join(said.out.split())
    assert "too long" in said.out
    alone = ask(SIMULATE.format(path=put(HEAD + "0,1000000000,20\n")))
    assert "no request completed" in alone.out
    assert "never" not in alone.lines[1]


def test_moments_since_1970_are_told_from_the_first_request(ask, put):
    shifted = "".join(f"{1_700_000_000 + place / 4},{100 + place},{20 + place}\n" for place in range(8))
    said = ask(SIMULATE.format(path=put(HEAD + shifted)))
    assert " d  " not in said.out
    assert "not served" not in said.out
    plain = ask(SIMULATE.format(path=put(GOOD, "plain.csv")) + " --json").data
    data = ask(SIMULATE.format(path=put(HEAD + shifted)) + " --json").data
    assert data["ttft_s"]["mean"] == pytest.approx(plain["ttft_s"]["mean"], rel=1e-3)


def test_requests_out_of_order_are_played_in_order(ask, put):
    rows = GOOD.splitlines(keepends=True)
    turned = "".join([rows[0], *reversed(rows[1:])])
    assert (
        ask(SIMULATE.format(path=put(turned)) + " --json").data["ttft_s"]
        == ask(SIMULATE.format(path=put(GOOD, "plain.csv")) + " --json").data["ttft_s"]
    )


def run(name="a", *, chip="rtx-4090", metric="decode_tok_s_per_user", value="120"):
    return RUN.format(id=name, model=MODEL, chip=chip, metric=metric, value=value)


@pytest.mark.parametrize("verb", ["validate", "calibrate"])
@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"chip": "nosuch"}, "nosuch"),
        ({"chip": ""}, "has no chip"),
        ({"metric": "colour"}, ""),
        ({"value": "-5"}, "-5"),
        ({"value": "1e400"}, "1e400"),
        ({"value": "nan"}, "nan"),
        ({"value": "fast"}, "fast"),
    ],
    ids=str,
)
def test_a_broken_run_is_named_and_the_others_are_answered(ask, put, verb, wrong, told):
    path = put(RUNS + run() + run("b", **wrong))
    said = ask(VERBS[verb].format(path=path))
    assert said.code == 0, said.err
    assert told in said.out
    if verb == "validate":
        assert ask(f"validate {path} --json").data["rows"][1]["line"] == 3
    else:
        assert "1 of your own runs" in said.out


def test_runs_of_which_none_can_be_used_change_nothing(ask, put, tmp_path):
    said = ask(CALIBRATE.format(path=put(RUNS + run(chip="nosuch"))))
    assert "nosuch" in said.out + said.err
    assert not (tmp_path / "in.csv.toml").exists() or "rtx" not in (tmp_path / "in.csv.toml").read_text()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (b"\x93\x00\xff", "is not a TOML table"),
        (b"[broken\n", "is not a TOML table"),
        (b"chip = 5\n", ""),
        (b'[[anchor]]\nchip = "nosuch"\n', ""),
    ],
)
def test_a_broken_file_of_own_runs_is_a_sentence(ask, put, text, told):
    said = ask(f"explain llama-3.1-8b --on 4090 --anchors {put(text, 'own.toml')}")
    assert said.code in {0, 2, 3}
    assert told in said.err


GRID = "model,on,users\n"


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("llama-3.1-8b,h100,abc", 'cannot read "abc" as a number'),
        ("nosuchmodel,h100,8", 'unknown model "nosuchmodel"'),
        (",h100,8", "no model given"),
        ("llama-3.1-8b,nosuchchip,8", "nosuchchip"),
        ("llama-3.1-8b,h100,-8", "--concurrency is -8"),
        ("llama-3.1-8b,k80,8", "no known engine runs on"),
    ],
)
def test_a_wrong_question_is_named_by_its_line_and_the_others_are_answered(ask, put, row, told):
    said = ask(SWEEP.format(path=put(f"{GRID}llama-3.1-8b,h100,8\n{row}\n")))
    assert said.code == 0
    assert "1 of 2 questions has a plan" in said.out
    told_page = " ".join(said.out.split())
    assert "not answered • line 3:" in told_page
    assert told in told_page
    assert "nothing meets every limit" not in said.out


def test_a_question_without_a_plan_is_no_error(ask, put):
    said = ask(SWEEP.format(path=put("model,on,users,ttft\nllama-3.1-8b,h100,8,1us\n")))
    told = " ".join(said.out.split())
    assert "nothing meets every limit • line 2: TTFT" in told
    assert "not answered" not in said.out


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("--out /nonexistent/x.csv", "No such file"),
        ("--out {folder}", "irectory"),
        ("--workers 0", "must be at least 1"),
        ("--workers -1", ""),
        ("--workers many", "many"),
        ("--ray auto --workers 2", "--workers applies to this machine"),
    ],
)
def test_a_sweep_that_cannot_be_made_says_so_before_it_is_made(ask, put, tmp_path, line, told):
    said = ask(f"sweep {put(GRID + 'llama-3.1-8b,h100,8')} {line.format(folder=tmp_path)}")
    assert said.code > 0
    assert told in said.err


@pytest.mark.parametrize(
    "text", ["chip,usd\nrtx 3090,-5\n", "chip,usd\nrtx 3090,free\n", "chip,usd\nnosuch,5\n"]
)
def test_a_broken_price_is_named_by_its_line(ask, put, text):
    said = ask(f"plan llama-3.1-8b --chips 3090 --buy --prices {put(text)}")
    assert said.code == 3
    assert "in.csv, line 2" in said.err


SETUPS = [b"", b"[]", b"null", b"{", b'{"model": 5}', b'{"model": "nosuch", "on": "h100"}', b"\xff\xfe\x00"]


@pytest.mark.parametrize("text", SETUPS)
def test_a_broken_setup_is_a_sentence(ask, put, text):
    said = ask(f"simulate --trace {put(GOOD)} --setup {put(text, 'setup.json')}")
    assert said.code in {2, 3}
    assert said.err.count("\n") == 1
