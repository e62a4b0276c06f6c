"""The table of families: a row a family, what its cells say, and families that nobody has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rigright.arch import count, families, kin
from rigright.arch.cells import Scope
from rigright.arch.config import Config
from rigright.arch.read import read_config
from rigright.arch.record import Mix
from rigright.base.errors import DataError
from rigright.base.tables import DATA


@pytest.mark.parametrize("family", families.table())
def test_every_family_has_a_reader(family):
    assert callable(families.reader(family))


def test_no_two_families_claim_one_name():
    claims = [word for family, row in families.table().items() for word in (family, *row.get("names", ()))]
    assert sorted(claim for claim in claims if claims.count(claim) > 1) == []


def test_every_reader_of_a_kin_has_its_row():
    rows = [families.row(family) for family in families.table()]
    assert {(row["kin"], f"read_{row['reads']}") for row in rows if "kin" in row} == {
        (path.stem, name)
        for path in Path(kin.__file__).parent.glob("*.py")
        for name in re.findall(
            r"^def (read_\w+)\(config: Config, name: str\)", path.read_text("utf-8"), re.MULTILINE
        )
    }


_SMALL = {
    "hidden_size": 64,
    "num_hidden_layers": 6,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "intermediate_size": 96,
    "vocab_size": 100,
    "architectures": ["ZorbForCausalLM"],
}


@pytest.fixture
def zorb(monkeypatch):
    """Reads a small config by a row for a family that nobody has."""

    def read(row, **config):
        whole = {**families.table(), "zorb": {"names": ["ZorbForCausalLM"], **row}}
        monkeypatch.setattr(families, "table", lambda: whole)
        monkeypatch.setattr(families, "names", families.names.__wrapped__)
        monkeypatch.setattr(families, "row", families.row.__wrapped__)
        monkeypatch.setattr(families, "reader", families.reader.__wrapped__)
        return read_config({**_SMALL, **config}, "x")

    return read


def test_a_new_family_is_one_row(zorb):
    arch = zorb({"like": "qwen3", "norms": 4, "bias": "has_biases | True"})
    plain = read_config({**_SMALL, "model_type": "qwen3"}, "x")
    assert arch.family == "zorb"
    two_norms, biases = 2 * 64, 64 + 32 + 32 + 64  # of q, k, v and o
    assert count.params(arch) - count.params(plain) == 6 * (two_norms + biases)


def test_a_new_hybrid_is_one_row(zorb):
    row = {
        "like": "afmoe",
        "windows": "i % 3 and i != last",
        "window": "reach | 32",
        "kv_heads": "1 if slides else kv_heads",
        "borrows": "i == last",
        "state": {"mixer": "lightning", "at": "i % 3 == 2"},
        "experts": {"correction": False, "shared": False, "dense_first": 2},
    }
    arch = zorb(row, reach=8, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=24)
    kinds = [(layer.mixer.kind, layer.mixer.kv_heads, layer.mixer.window_tok) for layer in arch.trunk.layers]
    whole, near, state = (Mix.FULL, 2, None), (Mix.WINDOW, 1, 8), (Mix.LINEAR, 4, None)
    assert kinds == [whole, near, state, whole, near, state]
    assert [layer.ffn.experts for layer in arch.trunk.layers] == [0, 0, 4, 4, 4, 4]
    gates = [sum(weight.role == "attn.gate" for weight in layer.weights) for layer in arch.trunk.layers]
    assert gates == [1, 1, 0, 1, 1, 0]


def test_every_key_of_a_row_is_explained_at_the_head_of_the_table():
    head = (DATA / "arch" / "families.toml").read_text("utf-8").partition("\n[")[0]
    words = set(re.findall(r"\w+", head)) | {"names", "like", "kin"}
    assert {key for row in families.table().values() for key in row} <= words


@pytest.mark.parametrize(
    ("cell", "config", "answer"),
    [
        ("a | b | 3", {}, 3),
        ("a | b | 3", {"a": None, "b": 2}, 2),
        ("a | 3", {"a": 0}, 0),
        ("part.a", {"part": {"a": 5}}, 5),
        ("part.a | 1", {}, 1),
        ("few[i]", {"few": [7, 8, 9], "i": 1}, 8),
        ("few[i]", {"few": 4, "i": 1}, 4),
        ("few[i] | 6", {"few": [], "i": 1}, 6),
        ("2 if not a and b != 'x' else 1", {"b": "y"}, 2),
        ("a > 1 or a in few", {"a": 1, "few": [1]}, True),
        ("a not in few", {"a": 1}, True),
        ("-(-a // 4) + a % 4 + 2 * a ** 2 - a / 2", {"a": 6}, 2 + 2 + 72 - 3),
        ("up(a, 8) + near(a, 8) + max(a, 1) + min(a, 1) + int(a / 2)", {"a": 9}, 16 + 16 + 9 + 1 + 4),
        ("has(a) == has(b)", {"a": [], "b": 0}, True),
        ("count(a) | a", {"a": "LLG"}, 3),
        ("count(a) | a", {"a": 4}, 4),
        ("[a, 1]", {"a": 4}, [4, 1]),
    ],
)
def test_a_cell_says_what_python_would(cell, config, answer):
    assert Scope(Config(config, "x"), {}).value(cell) == answer


@pytest.mark.parametrize(
    ("cell", "config", "why"),
    [
        ("a + 1", {}, 'x lacks "a"'),
        ("a + 1", {"a": "two"}, "x: \"a\" cannot be 'two'"),
        ("a // 3", {"a": 2}, 'x: "a" cannot be 0'),
        ("few[2]", {"few": [1], "n_layer": 3}, 'x: "few" has 1 entry, the model has 3 layers'),
        ("part.a", {"part": 3}, 'x: "part" cannot be 3'),
    ],
)
def test_a_cell_over_a_bad_config_names_the_key(cell, config, why):
    with pytest.raises(DataError) as error:
        Scope(Config(config, "x"), {}).size(cell)
    assert str(error.value) == why


def test_more_of_python_than_the_cells_have_is_a_mistake_of_the_table():
    with pytest.raises(ValueError, match="cannot hold"):
        Scope(Config({}, "x"), {}).value("(lambda: 1)")


def test_step_3_comes_close_to_its_published_totals():
    sizes = """
        hidden_size 7168 num_hidden_layers 61 vocab_size 128815 num_attention_heads 64 head_dim 256
        num_attention_groups 1 share_q_dim 2048 moe_num_experts 48 moe_top_k 3 moe_intermediate_size 5120
        share_expert_dim 5120 intermediate_size 18432
    """
    step3 = {key: int(size) for key, size in re.findall(r"(\w+) (\d+)", sizes)}
    arch = read_config({**step3, "model_type": "step3_text", "moe_layers": list(range(4, 60))}, "x")
    assert (count.params(arch) // 10**9, count.active_params(arch) // 10**9) == (316, 38)
