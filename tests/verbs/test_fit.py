"""`fit`: what runs on a machine."""

import json
import re

import pytest

from rigright.arch.sources import zoo
from rigright.arch.sources.quality import rated
from rigright.base.errors import RigError
from rigright.choice.ways import NO_LOSS
from rigright.faces.cli.main import main
from rigright.facts.formats import find_format
from rigright.verbs.explain import explain
from rigright.verbs.fit import LOST_SCORE, FitWish, ServingWish, fit, series_of


def lost(form):
    return max(find_format(form).loss_rank - NO_LOSS, 0) ** 2 * LOST_SCORE


@pytest.fixture(scope="module")
def listed():
    return fit("rtx 4090", wish=FitWish(limit=12, max_params=9e9, task="text"))


def test_rows_fit_and_the_most_useful_stand_first_one_of_each_series(listed):
    found = listed
    assert found.found >= len(found.models) == 12
    scores = [rated(zoo.arch(row.model))[0] - lost(row.weights_format) for row in found.models]
    assert scores == sorted(scores, reverse=True)
    assert len({series_of(row.model) for row in found.models}) == len(found.models)
    assert all(row.spare_bytes >= 0 for row in found.models)
    assert all(
        row.context_tok is None or row.context_tok >= min(4096, row.model_context_tok or 4096)
        for row in found.models
    )


def test_models_of_this_year_lead_on_a_card_of_24_gb():
    first = [series_of(row.model) for row in fit("24gb", wish=FitWish(limit=12)).models]
    assert {"gemma-4", "qwen3.8", "qwen3.6"} <= set(first)
    assert first.index("gemma-4") < first.index("gemma-3")


@pytest.mark.parametrize("on", ["rtx 4090 + rtx 3060 12gb", "2x a100", "t4"])
def test_explain_agrees_with_what_fit_says(on):
    for row in fit(on, wish=FitWish(limit=2, family="qwen3", max_params=9e9)).models:
        wish = ServingWish(engine=row.engine, weights=row.weights_format, context_tok=row.context_tok)
        assert explain(row.model, on, wish=wish).fits, row


def test_filters():
    found = fit("8x h100", wish=FitWish(task="embed", limit=None))
    assert {row.task for row in found.models} == {"embed"}
    found = fit("8x h100", wish=FitWish(family="qwen3", min_params=2e9, max_params=4e9, limit=None))
    assert found.models
    assert all("qwen3" in row.family and 2e9 <= row.params <= 4e9 for row in found.models)
    long = fit("rtx 4090", wish=FitWish(context_tok=65_536, family="qwen", max_params=9e9, limit=None))
    assert long.models
    assert all(row.context_tok is None or row.context_tok >= 65_536 for row in long.models)


def test_every_format_gives_a_row_each():
    one, all_of_them = (
        fit("rtx 4090", wish=FitWish(family="gemma", max_params=3e9, every_format=every, limit=None))
        for every in (False, True)
    )
    assert len(all_of_them.models) > 2 * len(one.models)
    assert all_of_them.found == one.found


def test_free_memory_shrinks_the_list(listed):
    free, busy = (
        listed,
        fit("rtx 4090 (4 GiB free)", wish=FitWish(limit=1, min_params=6e9, max_params=9e9, task="text")),
    )
    assert busy.found < free.found
    assert busy.free_bytes < free.free_bytes


def test_little_machines_hold_little():
    found = fit("rtx 4090 (1 GiB free)", wish=FitWish(min_params=1e9, max_params=3e9))
    assert found.models == ()
    assert found.found == 0


def test_models_alike_stand_once_under_the_shortest_name():
    names = [
        row.model for row in fit("8x h100", wish=FitWish(family="llama", max_params=9e9, limit=None)).models
    ]
    assert len(names) == len(set(names))
    assert "deepseek-ai/DeepSeek-R1-Distill-Llama-8B" not in names
    assert zoo.exact("meta-llama/Llama-3.1-8B") in names
    assert "meta-llama/Llama-3.1-8B-Instruct" not in names


def test_a_wrong_limit_is_refused():
    with pytest.raises(RigError, match="-3"):
        fit("rtx 4090", wish=FitWish(limit=-3))


def test_the_command(capsys):
    few = ["--family", "gemma", "--max-params", "9B"]
    assert main(["fit", "--on", "rtx 4090", "--limit", "4", *few, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert len(told["models"]) == 4
    assert told["models"][0]["params"] <= 9e9
    assert main(["fit", "--on", "rtx 4090", "--limit", "2", *few]) == 0
    out = capsys.readouterr().out
    assert re.match(r"✓ 1x RTX 4090 \w+ \d+ of \d+ ", out)
    assert "rigright explain" in out
    assert main(["fit", "4090", "--limit", "2", *few]) == 0
    assert capsys.readouterr().out == out.replace("--on 'rtx 4090'", "--on 4090")
    assert main(["fit", "4090", "--on", "3090"]) == 2
    refused = capsys.readouterr().err
    assert "4090" in refused
    assert "3090" in refused
    assert main(["fit", "--on", "rtx 4090", "--min-params", "lots"]) > 0
    assert "7B" in capsys.readouterr().err
    assert main(["fit", "--on", "rtx 4090 (1 GiB free)", "--min-params", "50B", "--lang", "zh"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("✗")
    assert "都放不下" in shown


def test_users_at_once_all_have_room_and_the_next_command_says_the_same():
    """More users fit no more models; each row holds their contexts, and `explain` says the same."""
    alone, busy = (fit("4090", wish=FitWish(users=users, limit=6)) for users in (None, 16))
    assert busy.found < alone.found
    assert all(row.context_tok is None or row.context_tok >= row.sized_tok for row in busy.models)
    first = busy.models[0]
    packed = {"weights": first.weights_format, "kv": first.kv_format, "context_tok": first.sized_tok}
    wish = ServingWish(users=16, engine=first.engine, **packed)
    explained = explain(first.model, "4090", wish=wish)
    assert explained.speed.output_tok_per_s.value == pytest.approx(first.output_tok_per_s.value)
