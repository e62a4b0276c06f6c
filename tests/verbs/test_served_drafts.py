"""Runs that drafted tokens without saying so: a table knows their engine, version and day."""

from __future__ import annotations

import pytest

from rigright.arch.sources import zoo
from rigright.verbs.validate.kinds.inference import KIND
from rigright.verbs.validate.served_asks import drafts_of

DRAFTER = "deepseek-ai/DeepSeek-V3"
RUN = {"engine_version": "1.2.0rc6.post3", "measured": "2026-02-06"}
ROW = RUN | {
    "id": "d1", "source": "somebody", "engine": "trtllm", "arch": DRAFTER, "chip": "b200-sxm", "n_chips": 8,
    "tp": 8, "pp": 1, "ep": 1, "weights": "nvfp4", "mode": "serve", "load": 8.0, "prompt_tok": 1024.0,
    "output_tok": 1024.0, "metric": "tpot_ms", "value": 4.5,
}  # fmt: skip


def predicted(row):
    (found,) = KIND.predict(row)
    return found


def drafted(row, *, model=DRAFTER, engine="tensorrt-llm"):
    return drafts_of(row, zoo.arch(model), engine=engine)


def test_a_known_run_drafts_and_keeps_fewer_than_it_drafts():
    drafts, kept = drafted(RUN)
    assert 0 < kept < drafts


@pytest.mark.parametrize(
    "changes",
    [
        {"measured": "2026-01-01"},
        {"measured": None},
        {"engine_version": "1.2.0rc6.post2"},
        {"engine_version": None},
        {"disagg": "prefill 1x(tp1 pp1 dp1 ep1) decode 1x(tp1 pp1 dp1 ep1)"},
    ],
)
def test_any_other_run_does_not(changes):
    assert drafted(RUN | changes) == (0, 0)


def test_models_without_layers_for_it_and_other_engines_do_not():
    assert drafted(RUN, model="meta-llama/Llama-3.1-70B") == (0, 0)
    assert drafted(RUN, engine="vllm") == (0, 0)


def test_what_was_drafted_is_said_and_makes_tokens_quicker():
    """The same configuration ran 1.4 to 2 times as fast as its twin of a day before."""
    with_drafts, without = predicted(ROW), predicted(ROW | {"measured": "2026-02-01"})
    assert " 3 " in str(with_drafts.why)
    assert " 3 " not in str(without.why)
    assert 1.3 < without.predicted / with_drafts.predicted < 2.2
