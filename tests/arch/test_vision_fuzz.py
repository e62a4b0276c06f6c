"""Whatever stands in a config of these families, an Arch or a sentence comes out."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.arch import count
from rigright.arch.read import read_config
from rigright.base.errors import RigError

REFERENCE = Path(__file__).parent / "reference"
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 5),
    st.sampled_from(
        [
            10**12,
            10**9,
            [10**9],
            [10**9] * 4,
            1.5,
            float("nan"),
            float("inf"),
            "x",
            "",
            [],
            {},
            [0],
            [1, -1],
            [[2]],
            {"a": None},
        ]
    ),
)


def configs():
    for path in sorted(REFERENCE.glob("*.jsonl")):
        yield from (json.loads(line)["config"] for line in path.read_text(encoding="utf-8").splitlines()[::9])


CONFIGS = list(configs())


@given(st.sampled_from(CONFIGS), st.data())
def test_a_damaged_config_is_an_error_of_ours_or_a_model(config, data):
    key = data.draw(
        st.sampled_from(sorted(set(config) - {"architectures", "_class_name", "model_type"}) or ["x"])
    )
    broken = {**config, key: data.draw(ODD)}
    try:
        arch = read_config(broken, "broken")
    except RigError:
        return
    assert count.params(arch) > 0
    assert count.flops_per_sample(arch, tok=16) >= 0


@pytest.mark.parametrize(
    "config", CONFIGS[::5], ids=lambda config: str(config.get("model_type") or config["_class_name"])
)
def test_every_layer_adds_its_own(config):
    arch = read_config(config, "made")
    whole = sum(count.elems(weight) * weight.copies * times for weight, times in count.weights(arch.towers))
    assert whole == count.params(arch)
    assert all(weight.sites >= 1 for weight, _ in count.weights(arch.towers))
