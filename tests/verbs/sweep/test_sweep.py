"""A grid of questions: read whole, answered alike wherever it is answered, never lost."""

from __future__ import annotations

import csv
import json
import os
import tracemalloc
from collections import Counter
from multiprocessing import get_context
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refusals import refused
from rigright.base.errors import AskError, DataError, MissingError
from rigright.base.words import tell
from rigright.facts import own_prices
from rigright.options.read import read_wish
from rigright.options.rows import options_of
from rigright.predict import deployment
from rigright.report.formats.text import render
from rigright.report.pages import sweep as pages
from rigright.report.screen import Screen
from rigright.search import market, score
from rigright.verbs.plan import plan as plan_verb
from rigright.verbs.planning import steps
from rigright.verbs.planning.planned import row_of
from rigright.verbs.sweep import sheet, verb
from rigright.verbs.sweep.sheet import MOST_QUESTIONS, Answered, Cells, SweepQuestion, read_grid
from rigright.verbs.sweep.verb import WORDS, answer

GRID = "model,on,prompt,output,users\nllama-3.1-8b | qwen2.5-7b,1x rtx 4090 | 1x h100,1024,256,4\n"


@pytest.fixture
def grid(tmp_path):
    def put(text=GRID):
        path = tmp_path / "grid.csv"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return put


def test_a_cell_with_bars_asks_for_each_and_rows_are_crossed(grid):
    questions = read_grid(grid(), known=WORDS)
    assert [one.index for one in questions] == [0, 1, 2, 3]
    assert [(one.words["model"], one.words["on"]) for one in questions] == [
        ("llama-3.1-8b", "1x rtx 4090"),
        ("llama-3.1-8b", "1x h100"),
        ("qwen2.5-7b", "1x rtx 4090"),
        ("qwen2.5-7b", "1x h100"),
    ]
    assert all(one.words["users"] == "4" for one in questions)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("model,on\n", "grid.csv"),
        ("on\n1x h100\n", "model"),
        ("model,colour\nllama-3.1-8b,red\n", "colour"),
    ],
)
def test_a_grid_that_is_none_says_what_is_wrong(grid, text, told):
    with pytest.raises(DataError) as caught:
        read_grid(grid(text), known=WORDS)
    assert told in str(caught.value.sentence)


def test_a_grid_too_large_is_refused_before_it_is_spread(grid):
    cell = "|".join(["1"] * 200)
    assert MOST_QUESTIONS < 200**3
    with pytest.raises(DataError) as caught:
        read_grid(grid(f"model,prompt,output,users\na,{cell},{cell},{cell}\n"), known=WORDS)
    assert "8,000,000" in str(caught.value.sentence)


def test_one_wrong_question_is_answered_with_its_error_and_the_others_go_on(grid):
    found = verb.sweep(grid("model,on,users\nllama-3.1-8b,1x h100,many | 4\n"), workers=1)
    wrong, right = found.cells
    assert "many" in wrong.why
    assert wrong.cells["fits"] == ""
    assert right.cells["fits"] == "yes"
    assert float(right.cells["tpot_s_low"]) < float(right.cells["tpot_s"]) < float(right.cells["tpot_s_high"])


def pair_answers_as_one(path):
    alone = verb.sweep(path, workers=1)
    pair = verb.sweep(path, workers=2)
    assert pair.cells == alone.cells
    assert sum(pair.places.values()) == 4


@pytest.mark.skipif(os.name == "nt", reason="no forks there")
def test_two_processes_answer_what_one_does(grid, monkeypatch):
    """Processes that load nothing: what is handed over and back is the same."""
    monkeypatch.setattr(verb, "multiprocessing", SimpleNamespace(get_context=lambda _: get_context("fork")))
    pair_answers_as_one(grid())


@pytest.mark.live
def test_two_processes_of_their_own_answer_what_one_does(grid):
    pair_answers_as_one(grid())


@pytest.mark.live
def test_kept_prices_are_in_force_in_every_process(grid, tmp_path):
    """Each machine is bought for the price of somebody's own list, which no table has."""
    kept = tmp_path / "prices.csv"
    kept.write_text("chip,price\nrtx-4090,111111\nh100-sxm5-80gb,333333\n", encoding="utf-8")
    bought = GRID.replace("users\n", "users,buy\n").replace(",4\n", ",4,yes\n")
    with own_prices.use((str(kept), None)):
        pair_answers_as_one(grid(bought))
        paid = [float(one.cells["usd"]) for one in verb.sweep(grid(bought), workers=2).cells]
    assert min(paid) > 100_000


def test_the_table_holds_what_was_asked_and_what_was_answered(grid, tmp_path):
    out = tmp_path / "out.csv"
    found = verb.sweep(grid(), workers=1, out=str(out))
    with out.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["model"] for row in rows] == [one.words["model"] for one in found.questions]
    assert [row["tpot_s"] for row in rows] == [one.cells["tpot_s"] for one in found.cells]
    assert not sheet.journal_of(str(out)).exists()


def test_a_sweep_broken_off_goes_on_where_it_was(grid, tmp_path, monkeypatch):
    out, asked = str(tmp_path / "out.csv"), []

    def third_is_interrupted(question: SweepQuestion) -> Answered:
        asked.append(question.index)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return Answered(index=question.index, cells={"fits": "yes", "tpot_s": str(question.index)})

    monkeypatch.setattr(verb, "answer", third_is_interrupted)
    with pytest.raises(KeyboardInterrupt):
        verb.sweep(grid(), workers=1, out=out)
    assert not (tmp_path / "out.csv").exists()
    found = verb.sweep(grid(), workers=1, out=out)
    assert found.kept == 2
    assert asked == [0, 1, 2, 2, 3]
    assert [one.cells["tpot_s"] for one in found.cells] == ["0", "1", "2", "3"]


def test_a_journal_of_other_questions_or_half_a_line_is_not_believed(grid, tmp_path):
    questions = read_grid(grid(), known=WORDS)
    path = tmp_path / "out.csv.part"
    mark = sheet.stamp_of(questions)
    with sheet.opened_journal(path, mark=mark, fresh=True) as file:
        sheet.append_answer(file, Answered(index=1, cells={"fits": "no"}, why="too slow"))
        file.write('[2, {"fits"')
    assert sheet.kept_answers(path, mark=mark) == {1: Answered(index=1, cells={"fits": "no"}, why="too slow")}
    assert sheet.kept_answers(path, mark="another") == {}
    with sheet.opened_journal(path, mark=mark, fresh=False) as file:
        sheet.append_answer(file, Answered(index=3, cells={}))
    assert sorted(sheet.kept_answers(path, mark=mark)) == [1, 3]


@pytest.mark.parametrize("text", ["", "\x00\xff", "[1,2]", "mark\n[]\n[1]\n{}\n7\nnull\n"])
def test_a_strange_journal_is_an_empty_one(tmp_path, text):
    path = tmp_path / "j"
    path.write_text(text, encoding="utf-8")
    assert sheet.kept_answers(path, mark="mark") == {}


WORD = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=9)


@given(cells=st.dictionaries(WORD, st.one_of(WORD, st.just("")), max_size=6))
def test_cells_in_one_text_are_the_cells(cells):
    packed = Cells(cells)
    assert dict(packed) == dict(packed.items()) == cells
    assert list(packed) == list(cells)
    assert len(packed) == len(cells)
    assert [packed.get(name) for name in (*cells, "\0")] == [*cells.values(), None]


def test_a_sweep_of_thousands_holds_little(grid, tmp_path):
    """Each answer is a text of its own, and no more."""
    count = 1000
    text = "model,users\n" + "".join(f"qwen3-8b,{users}\n" for users in range(1, count + 1))
    cells = {"fits": "yes"} | {f"figure_{number}": f"{number}.12345" for number in range(50)}
    questions = read_grid(grid(text), known=WORDS)
    out = tmp_path / "answers.csv"
    with sheet.opened_journal(sheet.journal_of(str(out)), mark=sheet.stamp_of(questions), fresh=True) as file:
        for one in questions:
            sheet.append_answer(file, Answered(index=one.index, cells=cells))
    tracemalloc.start()
    result = verb.sweep(grid(text), out=str(out))
    held = tracemalloc.get_traced_memory()[0] / count
    tracemalloc.stop()
    assert result.kept == count
    assert out.read_text(encoding="utf-8").count("\n") == count + 1
    assert held < 2500, "bytes of a question and its answer"


def test_the_page_and_the_data_tell_every_answer(grid):
    found = verb.sweep(grid("model,on,users\nllama-3.1-8b,1x h100,4 | nobody\n"), workers=1)
    text = render(pages.page(found), Screen(width=80))
    assert text.splitlines()[0].count("1 of 2") == 1
    assert "nobody" in text
    told = pages.plain(found, "en")
    assert [one["asked"]["users"] for one in told["answers"]] == ["4", "nobody"]
    assert json.dumps(told)


@pytest.mark.parametrize(
    "words",
    [
        {"on": "1x h100", "users": "8", "prompt": "1k", "output": "256"},
        {"on": "2x rtx 4090", "rate": "2/s", "ttft": "2s"},
        {"on": "1x rtx 3060", "weights": "bf16"},  # no room: why not, and nothing instead
        {"own": "1x rtx 4090", "users": "4"},
        {"chips": "h100, l40s", "max-chips": "2", "users": "16", "budget": "60000usd"},
        {"mode": "finetune", "on": "1x h100", "method": "lora"},
    ],
    ids=lambda words: " ".join(words.values()),
)
def test_a_question_is_answered_as_plan_answers_it(words):
    one = answer(SweepQuestion(index=5, line=2, words={"model": "llama-3.1-8b", **words}))
    found = plan_verb("llama-3.1-8b", wish=read_wish(words))
    assert one.index == 5
    assert one.cells == {
        "fits": "yes" if found.fits else "no",
        **({} if found.first is None else row_of(found.first)),
    }
    assert one.why == ("" if found.fits else "; ".join(tell(it.reason, "en") for it in found.broken))


def test_neighbours_of_a_grid_share_prices_rooms_and_scores(monkeypatch):
    asked = Counter()

    def counted(module, name):
        law = getattr(module, name)

        def wrapped(*given, **named):
            asked[name] += 1
            return law(*given, **named)

        monkeypatch.setattr(module, name, wrapped)

    counted(market, "market_on")
    counted(deployment.Deployment, "room")
    counted(score, "stands")
    counted(deployment, "_serves")
    monkeypatch.setattr(steps, "steps", lambda *_, **__: pytest.fail("a row shows no next steps"))
    prompt = "1237"  # of no other test
    words = {"model": "llama-3.1-8b", "on": "2x l40s", "prompt": prompt, "output": "256", "engine": "vllm"}
    ask = [{**words, "users": users, "tpot": tpot} for users in ("3", "5") for tpot in ("50ms", "80ms")]
    told = [answer(SweepQuestion(index=0, line=2, words=one)) for one in ask[:1]]
    rooms, scores = asked["room"], asked["_serves"]
    assert rooms
    assert scores
    told += [answer(SweepQuestion(index=0, line=2, words=one)) for one in ask[1:]]
    assert asked["market_on"] <= 1, "the day's prices are asked once"
    assert asked["room"] == rooms, "the same replicas stand in the same room under any load"
    assert asked["_serves"] == 2 * scores, "a limit scores nothing anew"
    assert len({one.cells["concurrency"] for one in told}) == 2


def test_every_option_of_plan_is_a_column_of_a_grid():
    typed = {name for option in options_of("plan") for name in (option.name, *option.aliases)}
    assert typed | {verb.MODEL, "play", "seed"} == WORDS
    assert {"users", "concurrency"} <= WORDS


@pytest.mark.parametrize("address", ["nowhere", "127.0.0.1:", "127.0.0.1:port"])
def test_an_address_that_is_none_is_told(address):
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    with refused(AskError, address):
        list(verb.answers_on_ray(len, ["a"], address=address))


def test_a_cluster_that_is_not_there_is_told_at_once():
    pytest.importorskip("ray", reason="the extra `ray` is not installed")
    with refused(MissingError, "127.0.0.1:9"):
        list(verb.answers_on_ray(len, ["a"], address="127.0.0.1:9"))


def test_plans_are_played_where_a_question_wants_it(grid):
    text = "model,on,users,prompt,output,play,seed\nllama-3.1-8b,1x h100,8,512,128,40 | 80,1 | 2\n"
    found = verb.sweep(grid(text), workers=1)
    assert [one.why for one in found.cells] == [""] * 4
    for one in found.cells:
        mean, late = float(one.cells["played_ttft_s"]), float(one.cells["played_ttft_p95_s"])
        assert 0 < mean <= late
        assert float(one.cells["played_tpot_s"]) == pytest.approx(float(one.cells["tpot_s"]), rel=0.3)
        assert 0 <= float(one.cells["played_good_share"]) <= 1
    again = verb.sweep(grid(text), workers=1)
    assert again.cells == found.cells


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"on": "1x h100", "play": "1000001", "users": "4"}, "100000 "),
        ({"on": "1x h100", "play": "ten", "users": "4"}, "ten"),
        ({"on": "1x h100", "play": "20", "mode": "finetune", "method": "lora", "samples": "1000"}, ""),
    ],
)
def test_what_cannot_be_played_is_said_in_the_answer(words, told):
    one = answer(SweepQuestion(index=0, line=2, words={"model": "llama-3.1-8b", **words}))
    assert one.why
    assert told in one.why
