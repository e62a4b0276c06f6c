"""YOLO's detectors: parameters as their makers print them, exactly; FLOPs within 2 %."""

import pytest

from rigright.arch import count
from rigright.arch.read import read_config
from rigright.arch.sources import zoo
from rigright.arch.sources.find import find

PRINTED = {  # parameters, GFLOPs at 640 px (two a multiply-add)
    "yolov5n": (1_872_157, 4.5),
    "yolov5s": (7_235_389, 16.5),
    "yolov5m": (21_190_557, 49.0),
    "yolov5l": (46_563_709, 109.1),
    "yolov5x": (86_749_405, 205.7),
    "yolov8n": (3_157_200, 8.7),
    "yolov8s": (11_166_560, 28.6),
    "yolov8m": (25_902_640, 78.9),
    "yolov8l": (43_691_520, 165.2),
    "yolov8x": (68_229_648, 257.8),
    "yolo11n": (2_624_080, 6.5),
    "yolo11s": (9_458_752, 21.5),
    "yolo11m": (20_114_688, 68.0),
    "yolo11l": (25_372_160, 86.9),
    "yolo11x": (56_966_176, 194.9),
}


@pytest.mark.parametrize("name", PRINTED)
def test_parameters_and_work_as_printed(name):
    arch = zoo.arch(f"ultralytics/{name}")
    params, gflops = PRINTED[name]
    assert count.params(arch) == params
    assert count.flops_per_sample(arch) / 1e9 == pytest.approx(gflops, rel=0.02)
    assert not arch.warnings


@pytest.mark.parametrize("kind", ["yolov5n", "yolov8n", "yolo11n"])
def test_images_twice_as_large_cost_and_hold_four_times_as_much(kind):
    config = zoo.config(f"ultralytics/{kind}")
    once, twice = (read_config({**config, "image_size": side}, kind) for side in (320, 640))
    assert count.params(once) == count.params(twice)
    assert count.flops_per_sample(twice) >= 4 * count.flops_per_sample(once)
    assert count.kept_elems(twice.trunk) == 4 * count.kept_elems(once.trunk)


def test_fewer_classes_shrink_the_heads_alone():
    config = zoo.config("ultralytics/yolov8n")
    one = read_config({**config, "num_labels": 1}, "made")
    # YOLOv8n trained on one class: 3,011,043 parameters, as its makers' summary prints them
    assert count.params(one) == 3_011_043


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("yolov8", "yolov8n"),
        ("YOLO-v8", "yolov8n"),
        ("yolo11", "yolo11n"),
        ("yolov11m", "yolo11m"),
        ("yolo v5", "yolov5s"),
        ("yolov8x", "yolov8x"),
    ],
)
def test_names_as_people_write_them(asked, name):
    assert find(asked).name == f"ultralytics/{name}"
