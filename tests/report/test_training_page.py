"""The pages of `explain --train` and `validate`: what is shown, in which words, on narrow screens too."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from rigright.base.page import Bars, Commands, Points, Table
from rigright.base.words import CHINESE, ENGLISH, in_both, say, tell
from rigright.demand import Layout, Training
from rigright.report.formats import html, markdown, text
from rigright.report.pages import training as training_page
from rigright.report.pages import validate as validate_page
from rigright.report.screen import Screen
from rigright.verbs.serving.explained import Reason, Remedy
from rigright.verbs.training.case import RankUse, Reach, Trained
from rigright.verbs.validate.record import Judged, Prediction, Score, Validation
from spoken import pairs_whole, values

GIB = 2**30


def rank(stage=0, device=20, **changes):
    values = {
        "stage": stage,
        "ranks": 2,
        "layers": (0, 16),
        "parts_bytes": (("weights", 6.0 * GIB), ("gradients", 6.0 * GIB), ("activations", 4.0 * GIB)),
        "phases_bytes": (("load", 6.0 * GIB), ("backward-start", 16.0 * GIB), ("step", 12.0 * GIB)),
        "peak_phase": "backward-start",
        "allocated_bytes": 16.0 * GIB,
        "reserved_bytes": 18.0 * GIB,
        "used_bytes": device * GIB,
        "least_bytes": (device - 2) * GIB,
        "used_low_bytes": 0.9 * device * GIB,
        "used_high_bytes": 1.1 * device * GIB,
        "least_high_bytes": 1.1 * (device - 2) * GIB,
        "total_bytes": 24.0 * GIB,
    }
    return RankUse(**values | changes)


def trained(*ranks, **changes):
    values = {
        "model": "m/x-7b",
        "params": 7_000_000_000,
        "learnt_params": 7_000_000_000,
        "machine": "2x RTX 4090",
        "chip": "RTX 4090",
        "trainer": "Hugging Face Trainer",
        "optimizer": "AdamW",
        "precision": "pure bf16",
        "training": Training(),
        "layout": Layout(),
        "ranks": ranks or (rank(),),
        "host_bytes": 0.0,
        "nvme_bytes": 0.0,
        "limits": Reach(micro_batch=3, seq_tok=4096, model_context_tok=8192),
        "asked": "rigright explain x --on y --train full",
    }
    return Trained(**values | changes)


def shown(result, *, language=ENGLISH, width=100, why=False, details=True):
    page = training_page.page(result, why=why, details=details)
    return text.render(page, Screen(width=width, language=language))


def parts(result, kind):
    return [part for part in training_page.page(result, details=True).parts if isinstance(part, kind)]


def test_a_fit_with_room_is_good_a_tight_one_warns_and_none_is_bad():
    assert training_page.page(trained(rank(device=20))).tone == "good"
    assert training_page.page(trained(rank(device=24))).tone == "warn"
    found = trained(rank(device=30))
    assert not found.fits
    assert training_page.page(found).tone == "bad"
    assert values(training_page.page(found).title) == {"need": "30.0 GiB", "have": "24.0 GiB"}
    assert shown(found, details=False).startswith("✗ ")


def memory(result):
    (table,) = [part for part in parts(result, Table) if part.tones]
    return table


def test_the_worst_rank_is_the_one_with_least_to_spare():
    found = trained(rank(0, 20), rank(1, 22), rank(2, 19))
    assert found.worst.stage == 1
    assert [values(column.head)["stage"] for column in memory(found).columns[1:]] == ["0", "1", "2"]


def test_stages_alike_share_a_column():
    columns = memory(trained(rank(0, 20), rank(1, 18), rank(2, 18), rank(3, 21))).columns[1:]
    assert len(columns) == 3
    assert values(columns[1].head) == {"first": "1", "last": "2", "ranks": "4"}


def test_many_unlike_stages_are_cut_on_the_page_and_whole_in_json():
    found = trained(*(rank(index, 10 + index) for index in range(12)))
    assert len(memory(found).columns) == 1 + training_page.MOST_STAGES
    assert len(training_page.plain(found, ENGLISH)["ranks"]) == 12


def test_the_bar_adds_what_the_allocator_and_the_driver_take():
    (bars,) = parts(trained(), Bars)
    (bar,) = bars.bars
    assert sum(piece.size for piece in bar.pieces) == pytest.approx(20 * GIB)
    assert bar.limit == 24 * GIB


def test_the_table_tells_the_three_totals_apart():
    table = memory(trained())
    totals = [row for row in table.rows if row[0] not in training_page.NAMES.values()]
    assert [row[1] for row in totals] == ["16.00", "18.00", "20.00"]
    assert len({row[0] for row in totals}) == 3
    assert table.tones[-1] == "strong"


def test_limits_and_what_lies_elsewhere():
    def cells(found):
        return [row[1] for row in parts(found, Table)[-1].rows]

    assert cells(trained(host_bytes=50.0 * GIB, nvme_bytes=70.0 * GIB)) == [
        "3",
        "4,096",
        "50.0 GiB",
        "70.0 GiB",
    ]
    assert cells(trained(limits=Reach(micro_batch=64, seq_tok=None, model_context_tok=None))) == ["64"]


REMEDY = Remedy(
    change=in_both("recompute every layer", "每层重算", values={}),
    price=in_both("about a third more compute", "多约三分之一的算力", values={}),
    saves_bytes=9.0 * GIB,
    peak_bytes=21.0 * GIB,
    fits=True,
    flag="--recompute full",
)


def test_remedies_and_the_next_command():
    found = trained(rank(device=30), remedies=(REMEDY, replace(REMEDY, fits=False, flag="--train lora")))
    (table,) = [part for part in parts(found, Table) if part.rows[0][0] == REMEDY.change]
    assert [row[1] for row in table.rows] == ["9.00", "9.00"]
    assert table.tones == ("good", "plain")
    (commands,) = parts(found, Commands)
    assert commands.items[0] == "rigright explain x --on y --train full --recompute full"


def test_a_flag_that_was_there_is_replaced():
    asked = "rigright explain x --on y --train full --recompute none"
    found = trained(rank(device=30), remedies=(REMEDY,), asked=asked)
    (commands,) = parts(found, Commands)
    assert commands.items[0] == "rigright explain x --on y --train full --recompute full"


def test_a_larger_batch_is_offered_where_it_is_faster():
    (commands,) = parts(trained(quicker=3), Commands)
    assert commands.items[0].endswith("--micro-batch 3")
    (alone,) = parts(trained(), Commands)
    assert len(alone.items) == 1


def test_reasons_are_shown_on_request():
    reason = Reason(
        part="weights",
        formula=say("base model in its format, split over tp, pp, ep"),
        numbers="2 B",
        source="s",
    )
    found = trained(why=(reason,))
    told = [
        [
            row[1:]
            for part in training_page.page(found, why=why).parts
            if isinstance(part, Table)
            for row in part.rows
        ]
        for why in (False, True)
    ]
    assert (reason.formula, "2 B", "s") in told[1]
    assert (reason.formula, "2 B", "s") not in told[0]


@pytest.mark.parametrize("language", [ENGLISH, CHINESE])
@pytest.mark.parametrize("width", [30, 60, 100, 200])
def test_no_line_is_wider_than_the_screen(language, width):
    found = trained(rank(0, 30), rank(1, 28), remedies=(REMEDY,), notes=(say("all costs above"),))
    for line in shown(found, language=language, width=width).splitlines():
        wide = sum(2 if ord(letter) > 0x2E80 else 1 for letter in line)
        assert wide <= width or line.lstrip().startswith("$")


def test_other_formats_render():
    page = training_page.page(trained(rank(device=30), remedies=(REMEDY,)))
    screen = Screen(width=100)
    assert str(REMEDY.change) in markdown.render(page, screen)
    assert str(REMEDY.change) in html.render(page, screen)


def test_json_is_bytes_and_says_so():
    data = json.loads(json.dumps(training_page.plain(trained(remedies=(REMEDY,)), CHINESE)))
    assert data["ranks"][0]["used_bytes"] == 20 * GIB
    assert data["ranks"][0]["spare_bytes"] == 6 * GIB
    assert data["limits"] == {"micro_batch": 3, "seq_tok": 4096, "model_context_tok": 8192}
    assert data["remedies"][0]["change"] == tell(REMEDY.change, CHINESE) != str(REMEDY.change)
    assert data["fits"] is True


def prediction(measured=10.0, predicted=11.0, **changes):
    values = {"metric": "peak_gib", "group": "allocated", "low": 9.0, "high": 12.0}
    return Prediction(**values | {"measured": measured, "predicted": predicted} | changes)


def validation(*predictions, scores=()):
    rows = tuple(
        Judged(line=index + 2, id=f"r{index}", source="s:x", chip="c", model="m", predictions=(one,))
        for index, one in enumerate(predictions)
    )
    return Validation(file="runs.csv", kind="training", rows=rows, scores=tuple(scores))


def test_errors_and_bands_of_a_prediction():
    one = prediction()
    assert one.error == pytest.approx(0.1)
    assert one.holds
    assert not prediction(measured=20.0).holds
    assert prediction(measured=None).error is None
    assert prediction(predicted=None).error is None
    assert prediction(low=None).holds is None


def score(name, of="source", **changes):
    values = {"metric": "peak_gib", "group": "allocated", "measured": 5, "answered": 5, "median_error": 0.05}
    values |= {"p90_error": 0.1, "within_20_percent": 0.7, "bias": -0.02, "band_coverage": 0.8}
    return Score(of=of, name=name, **values | changes)


def many():
    """More figures than are shown one by one."""
    return (prediction() for _ in range(validate_page.FEW + 1))


def test_tables_by_source_chip_and_model():
    scores = [score("allocated", "group"), score("repo/a"), score("h100", "chip"), score("llama", "model")]
    page = validate_page.page(validation(*many(), scores=scores))
    tables = [part for part in page.parts if isinstance(part, Table)]
    assert [table.title for table in tables] == list(validate_page._TITLES.values())
    assert [table.rows[0][1] for table in tables[1:]] == ["repo/a", "h100", "llama"]
    assert tables[1].rows[0][1:] == ("repo/a", "5", "5", "5.0 %", "10.0 %", "70.0 %", "-2.0 %", "80.0 %")


def test_long_tables_are_cut_on_the_page_alone():
    scores = [score(f"model {index}", "model", measured=index) for index in range(50)]
    found = validation(*many(), scores=scores)
    (table,) = [part for part in validate_page.page(found).parts if isinstance(part, Table)]
    assert len(table.rows) == validate_page.MOST_ROWS
    assert table.rows[0][1] == "model 49"
    assert len(validate_page.plain(found, ENGLISH)["scores"]) == 50


def test_sets_without_an_answer_are_not_shown():
    found = validation(prediction(predicted=None), scores=[score("x", answered=0, median_error=None)])
    assert not [part for part in validate_page.page(found).parts if isinstance(part, Table)]


def test_reasons_are_counted():
    why = say("the row has no chip")
    found = validation(*[prediction(predicted=None, why=why)] * 3)
    (points,) = [part for part in validate_page.page(found).parts if isinstance(part, Points)]
    assert why in dict(pairs_whole(points.items[0])).values()
    assert "3" in values(points.items[0]).values()
