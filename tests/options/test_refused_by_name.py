"""What an option cannot change is refused by its name, with the other word that speaks against it."""

from __future__ import annotations

import io
import json
import shlex
from contextlib import redirect_stderr, redirect_stdout

import pytest

from rigright.base.errors import AskError
from rigright.faces.cli.main import main
from rigright.facts.engines import find_engine
from rigright.facts.nodes import find_node

REFUSED = (
    ("explain llama-3.1-8b --on h100 --batch 4 --concurrency 5", "--batch", "--concurrency"),
    ("explain llama-3.1-8b --on h100 --batch 4 --rate 5", "--batch", "--rate"),
    ("explain qwen3-8b --on '4x h100' --train --schedule gpipe", "--schedule", "--pp"),
    ("explain qwen3-8b --on '4x h100' --train --pp 1 --virtual-stages 2", "--virtual-stages", "--pp"),
    ("explain qwen3-8b --on '4x h100' --train --sequence-parallel", "--sequence-parallel", "--tp"),
    (
        "explain qwen3-8b --on '4x h100' --train --pp 2 --schedule 1f1b --virtual-stages 2",
        "--schedule 1f1b", "--virtual-stages 2",
    ),
    ("explain qwen3-8b --on '4x h100' --train --image-size 320", "--image-size", "Qwen3-8B"),
    ("explain mixtral-8x7b --on '3x h100' --ep 3", "ep 3", "8 experts"),
    ("explain mixtral-8x7b --on '8x h100' --ep 16", "ep 16", "8 experts"),
    ("explain mixtral-8x7b --on '8x h100' --ep 8 --pp 8", "8 ranks", "tp x dp x cp is 1"),
    ("plan gte-large --mode image", "gte-large", "images"),
    ("plan sdxl --mode embed", "stable-diffusion", "embeddings"),
    ("plan qwen3-8b --mode finetune --tokens 1B --epochs 3", "--epochs", "--samples"),
    ("plan qwen3-8b --mode finetune --on '4x l40s' --days 2", "--days", "--tokens"),
    ("plan bge-m3 --days 2", "--days", "--samples"),
    ("build qwen3-8b --rent", "build", "--rent"),
    ("build qwen3-8b --cloud aws", "build", "--cloud"),
    ("build '2x rtx 4090' --ttft 1s", "--ttft", "2x rtx 4090"),
    ("build --check parts.txt --ttft 1s", "--check", "--ttft"),
    ("cost '2x rtx 4090' --for qwen3-8b --on l4", "2x rtx 4090", "--on l4"),
    ("cost aws:p5.48xlarge --own '2x rtx 3090'", "aws:p5.48xlarge", "--own 2x rtx 3090"),
    ("compare aws gcp --for qwen3-8b --buy", "aws", "--buy"),
    ("plan qwen3-8b --cloud hetzner", "no prices", "hetzner"),
    ("compare hetzner aws --for qwen3-8b", "no prices", "hetzner"),
    ("plan qwen3-8b --on p2.xlarge", "unknown instance", "p2.xlarge"),
)  # fmt: skip


def asked(command):
    with redirect_stdout(io.StringIO()) as said, redirect_stderr(io.StringIO()):
        code = main([*shlex.split(command), "--json"])
    return code, json.loads(said.getvalue())


@pytest.mark.parametrize(("command", "one", "other"), REFUSED)
def test_two_words_that_do_not_go_together_are_named(command, one, other):
    code, found = asked(command)
    assert code == 2
    message = found["error"]["message"].lower()
    assert one.lower() in message
    assert other.lower() in message
    assert found["error"]["hint"]


@pytest.mark.parametrize("engine", ["tgi", "text-generation-inference", "triton", "tei"])
def test_an_unknown_engine_names_what_is_nearest(engine):
    with pytest.raises(AskError) as refused:
        find_engine(engine)
    assert "did you mean" in str(refused.value.hint)


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("v5e-8", "8x tpu v5e"), ("v5litepod-16", "16x tpu v5e"), ("v6e-8", "8x tpu v6e"),
        ("v5p-8", "4x tpu v5p"), ("v4-32", "16x tpu v4"), ("BM.GPU.H100.8", "8x h100 sxm"),
        ("a3-ultragpu-8g", "8x h200"), ("ct5lp-hightpu-4t", "4x tpu v5e"), ("g6.xlarge", "l4"),
        ("ecs.gn7i-c32g1.16xlarge", "2x a10"),
    ],
)  # fmt: skip
def test_machines_of_clouds_are_known_by_name(name, same):
    one, other = find_node(name), find_node(same)
    assert [card.chip.id for card in one.cards] == [card.chip.id for card in other.cards]
    assert one.n_nodes == other.n_nodes


def test_a_batch_is_exact_in_plan_as_in_explain():
    for batch in (6, 7, 24):
        plan = asked(f"plan bge-m3 --on '2x l4' --batch {batch}")[1]["plans"][0]
        told = asked(f"explain bge-m3 --on '2x l4' --batch {batch}")[1]
        assert plan["work"]["batch"] == told["serving"]["batch"] == batch
        if plan["n_chips"] == 2:
            assert plan["figures"]["texts_per_s"] == pytest.approx(told["samples"]["texts_per_s"])


def test_a_training_on_images_is_told_again_by_its_next_command():
    plan = asked("plan vit-base --mode finetune --on '2x l4' --image-size 384 --batch 24")[1]["plans"][0]
    work = plan["work"]
    assert work["micro_batch"] * work["accumulate"] * plan["n_chips"] == 24
    told = asked(
        f"explain vit-base --train --on '2x l4' --image-size 384 --trainer pytorch --sharding none "
        f"--micro-batch {work['micro_batch']} --accumulate {work['accumulate']} --dp {plan['n_chips']}"
    )[1]
    assert max(rank["used_bytes"] for rank in told["ranks"]) == pytest.approx(plan["rank_bytes"]["value"])
    assert told["samples"]["images_per_s"]["value"] == pytest.approx(plan["figures"]["images_per_s"]["value"])
