"""The stones of convolutional networks: shapes as convolution arithmetic has them, each map kept once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch import conv as flows
from rigright.arch.config import Config
from rigright.arch.conv import (
    add,
    begin,
    close,
    conv,
    depth,
    depths,
    fork,
    gelu,
    mean,
    norm,
    patch,
    place,
    pool,
    relu,
    scale,
    squeeze,
)
from rigright.base.errors import DataError

SIDES = st.integers(8, 96)
KERNELS = st.sampled_from([1, 3, 5, 7])


def elements(flow):
    return flow.shape[0] * flow.shape[1] * flow.shape[2]


@given(SIDES, SIDES, KERNELS, st.integers(1, 4))
def test_a_convolution_has_the_shape_of_its_arithmetic(high, wide, kernel, stride):
    after = conv(begin(3, high, wide=wide), 16, kernel=kernel, stride=stride)
    pad = kernel // 2
    assert after.shape == (
        16,
        (high + 2 * pad - kernel) // stride + 1,
        (wide + 2 * pad - kernel) // stride + 1,
    )


@given(SIDES, KERNELS)
def test_stride_one_keeps_the_size(side, kernel):
    assert conv(begin(3, side, wide=side), 8, kernel=kernel).shape == (8, side, side)


def test_a_convolution_is_applied_at_every_place_of_what_it_writes():
    after = conv(begin(3, 32, wide=32), 8, kernel=3, stride=2, bias=True)
    kernel, shift = after.weights
    assert (kernel.shape, kernel.sites) == ((8, 3, 3, 3), 256)
    assert (shift.role, shift.shape, shift.sites) == ("conv.bias", (8,), 256)


def test_groups_share_out_the_inputs():
    after = conv(begin(32, 8, wide=8), 32, kernel=3, groups=32)
    assert after.weights[0].shape == (32, 1, 3, 3)


def test_a_linear_layer_at_every_place_is_a_convolution_of_one():
    flow = begin(12, 5, wide=7)
    by_place, by_conv = place(flow, 20), conv(flow, 20, kernel=1, bias=True)
    assert by_place.shape == by_conv.shape
    assert [weight.sites for weight in by_place.weights] == [35, 35]


def test_squares_do_not_overlap():
    after = patch(begin(3, 224, wide=224), 96, size=4)
    assert after.shape == (96, 56, 56)
    assert after.weights[0].role == "patch"


def test_a_map_two_ops_need_is_kept_once():
    flow = begin(4, 8, wide=8)
    once = conv(flow, 4, kernel=3)
    branch = conv(fork(flow), 4, kernel=1)
    assert once.kept == elements(flow)
    assert branch.kept == 0
    assert add(once, branch).kept == elements(flow)


def test_relu_keeps_what_it_writes_and_the_next_convolution_keeps_no_more():
    flow = relu(norm(conv(begin(4, 8, wide=8), 4, kernel=3)))
    image, convolved, activated = 4 * 64, 4 * 64, 4 * 64
    assert flow.kept == image + convolved + activated
    assert conv(flow, 4, kernel=3).kept == flow.kept


def test_gelu_keeps_what_it_reads():
    flow = gelu(norm(conv(begin(4, 8, wide=8), 4, kernel=3)))
    assert flow.kept == 3 * 4 * 64  # image, what the norm read, what the activation read
    assert conv(flow, 4, kernel=3).kept == 4 * 4 * 64


def test_a_sum_keeps_nothing():
    flow = begin(4, 8, wide=8)
    assert add(flow, fork(flow)).kept == 0


def test_pooling_keeps_its_input_and_eight_bytes_a_maximum():
    after = pool(begin(4, 8, wide=8), 3, stride=2, padding=1)
    assert after.shape == (4, 4, 4)
    assert after.kept == 4 * 64 + 2 * 4 * 16


def test_a_factor_a_channel_needs_what_it_multiplies():
    assert scale(begin(4, 8, wide=8)).kept == 4 * 64
    assert scale(begin(4, 8, wide=8)).weights[0].shape == (4,)


def test_a_gate_a_channel_comes_from_the_mean():
    after = squeeze(begin(16, 8, wide=8), 4)
    assert after.shape == (16, 8, 8)
    assert [weight.shape for weight in after.weights] == [(4, 16, 1, 1), (4,), (16, 4, 1, 1), (16,)]
    assert {weight.sites for weight in after.weights} == {1}


def test_the_mean_leaves_one_place():
    assert mean(begin(16, 8, wide=8)).shape == (16, 1, 1)


def test_a_layer_closes_with_what_it_wrote_and_the_next_begins_with_its_map():
    flow = relu(conv(begin(3, 8, wide=8), 4, kernel=3))
    layer, after = close(flow)
    assert layer.map_elems == (256, 256)
    assert layer.kept_elems == 3 * 64 + 256
    assert (after.shape, after.is_kept, after.weights, after.kept) == ((4, 8, 8), True, (), 0)


def test_norms_have_a_scale_and_a_shift():
    assert [weight.shape for weight in norm(begin(6, 2, wide=2)).weights] == [(6,), (6,)]
    assert len(norm(begin(6, 2, wide=2), bias=False).weights) == 1


def test_a_head_reads_the_channels():
    weights = flows.head(begin(64, 7, wide=7), 10)
    assert [weight.shape for weight in weights] == [(10, 64), (10,)]


@pytest.mark.parametrize("told", [[10**6], [2, -1], [2, 10**9]])
def test_no_stage_is_as_deep_as_that(told):
    with pytest.raises(DataError):
        depths(Config({"depths": told}, "made"), "depths")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1, 10**4])
def test_no_stage_worked_out_is_either(value):
    with pytest.raises(DataError):
        depth(Config({}, "made"), "num_block_repeats", value=value)


def test_depths_as_they_stand():
    config = Config({"depths": [3, 4, 6, 3]}, "made")
    assert depths(config, "depths") == [3, 4, 6, 3]
    assert depths(Config({}, "made"), "depths", default=[1, 2]) == [1, 2]
