"""Images in a request: tokens of each family as its processor makes them, and what they cost a server."""

import json
import shlex

import pytest

import rigright as rig
from rigright.arch.sight import Lens, eye_of, lens_of, seeing, sights
from rigright.arch.sources import zoo
from rigright.arch.sources.open import open_model
from rigright.base.errors import AskError
from rigright.demand import Images
from rigright.faces.cli.main import main
from rigright.options.readers import images as read_images
from rigright.report.pages.plan_next import next_commands


# by hand from the published processors: resizing, tiles, marks around an image
@pytest.mark.parametrize(
    ("model", "size", "tok"),
    [
        ("Qwen/Qwen2.5-VL-7B-Instruct", (1024, 1024), 37 * 37 + 2),
        ("Qwen/Qwen2.5-VL-7B-Instruct", (28, 28), 4 + 2),  # enlarged to its least area
        ("Qwen/Qwen2.5-VL-7B-Instruct", (20000, 20000), 128 * 128 + 2),  # shrunk to its largest
        ("Qwen/Qwen3-VL-8B-Instruct", (1024, 1024), 32 * 32 + 2),
        ("Qwen/Qwen3-VL-8B-Instruct", (1920, 1080), 60 * 34 + 2),
        ("OpenGVLab/InternVL3-8B", (448, 448), 256 + 2),
        ("OpenGVLab/InternVL3-8B", (896, 448), 3 * 256 + 2),
        ("OpenGVLab/InternVL3-8B", (1024, 1024), 10 * 256 + 2),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", (336, 336), 144 + 3),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", (1024, 1024), 17 * 144 + 16 + 3),
        ("meta-llama/Llama-3.2-11B-Vision-Instruct", (1024, 1024), 1),
        ("google/gemma-3-27b-it", (1024, 1024), 256 + 4),
        ("google/gemma-3-27b-it", (4000, 300), 256 + 4),
        ("llava-hf/llava-1.5-7b-hf", (1024, 1024), 576),
        ("mistralai/Mistral-Small-3.1-24B-Instruct-2503", (1540, 1540), 55 * 56),
        ("mistralai/Mistral-Small-3.1-24B-Instruct-2503", (3080, 1540), 28 * 56),
        ("microsoft/Phi-3.5-vision-instruct", (1024, 1024), 757),
    ],
)
def test_an_image_is_as_many_tokens_as_the_processor_of_its_family_makes(model, size, tok):
    assert seeing(open_model(model), count=1, width=size[0], height=size[1]).image_tok == tok


@pytest.mark.parametrize(
    ("family", "lens", "size", "tok"),
    [
        (
            "pixtral",
            {"patch_px": 16, "tile_px": 1024, "tile_tok": 4096, "positions": 4096},
            (1024, 1024),
            64 * 65,
        ),
        (
            "pixtral",
            {"patch_px": 16, "tile_px": 1024, "tile_tok": 4096, "positions": 4096},
            (512, 256),
            16 * 33,
        ),
        ("llava_next", {"patch_px": 14, "tile_px": 336, "tile_tok": 576, "positions": 577}, (672, 672), 2928),
    ],
)
def test_rules_of_families_whose_models_we_do_not_list(family, lens, size, tok):
    sight = sights()[family]
    assert getattr(sight, sight.rule)(Lens(**lens), size).tok == tok


def test_every_rule_is_of_a_family_and_larger_images_are_never_fewer_tokens():
    for sight in sights().values():
        assert hasattr(sight, sight.rule)
    for name in zoo.names():
        arch = zoo.arch(name)
        if arch is None or eye_of(arch) is None or not arch.vocab:
            continue
        small, large = (seeing(arch, count=1, width=side, height=side).pictured for side in (256, 2048))
        assert 0 < small.tok <= large.tok
        assert small.samples * small.positions <= large.samples * large.positions
        if arch.family in sights() and sights()[arch.family].rule == "pixels":
            assert lens_of(eye_of(arch)).merge == 2


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("2", Images(count=2)),
        ("2x1024x768", Images(count=2, width_px=1024, height_px=768)),
        ("2x512", Images(count=2, width_px=512, height_px=512)),
        ("1024x768", Images(count=1, width_px=1024, height_px=768)),
        ("每次2张图", Images(count=2)),
        ("3 images of 640x480", Images(count=3, width_px=640, height_px=480)),
    ],
)
def test_a_number_of_images_and_their_size_are_read(text, read):
    assert read_images(text) == read
    assert read_images(str(read)) == read


def test_images_lengthen_the_prompt_and_take_time_and_memory_of_their_own():
    model, machine = "qwen2.5-vl-7b", "rtx 4090"
    bare = rig.explain(model, on=machine, engine="vllm", prompt="200", concurrency="8")
    seen = rig.explain(model, on=machine, engine="vllm", prompt="200", concurrency="8", images="2x1024x1024")
    text = rig.explain(model, on=machine, engine="vllm", prompt=str(200 + 2 * 1371), concurrency="8")
    assert seen.speed.prompt_tok == text.speed.prompt_tok == bare.speed.prompt_tok + 2 * 1371
    assert seen.speed.ttft_s.value > 1.2 * text.speed.ttft_s.value > text.speed.ttft_s.value
    assert seen.speed.output_tok_per_s.value < text.speed.output_tok_per_s.value
    with pytest.raises(AskError):
        rig.explain("llama-3.1-8b", on=machine, images="2")


def test_a_plan_with_images_says_them_again_in_what_is_typed_next(capsys):
    planned = rig.plan("qwen3-vl-8b", on="rtx 4090", images="2x1024x1024", concurrency="4")
    first = planned.plans[0]
    assert planned.wish.images.tok == 2 * 1026
    command = shlex.split(next(iter(next_commands(planned, first))))
    assert main([*command[1:], "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    for name in ("ttft_s", "tpot_s", "output_tok_per_s"):
        assert told["speed"][name]["value"] == pytest.approx(first.figures[name].value)


def test_the_server_is_started_for_so_many_images(capsys):
    typed = ["qwen3-vl-8b", "--on", "h100", "--images", "3", "--concurrency", "4", "--engine", "vllm"]
    assert main(["export", "vllm", *typed]) == 0
    assert '"image": 3' in capsys.readouterr().out
