"""The closed list of weight roles and their properties."""

from __future__ import annotations

from rigright.arch.record import Weight

PARTS = {
    "embed": "token embedding (also the head where tied)",
    "position": "learned positions, token types, class tokens",
    "head": "the matrix that makes logits",
    "norm": "norm scales and shifts, of any kind",
    "attn": "q k v qkv o, MLA: q_a q_b kv_a kv_b; gate, sink, index (sparse indexer)",
    "cross": "the same for cross-attention",
    "mixer": "linear attention and SSM: in, out, conv, decay and the like",
    "ffn": "gate up gate_up down",
    "router": "scores of the experts, and their biases",
    "expert": "gate up gate_up down of the routed experts",
    "shared": "gate up gate_up down of the shared experts, and their gate",
    "conv": "convolutions of image models and stems",
    "patch": "patch embedding of a vision tower",
    "project": "from one tower's width to another's",
    "other": "anything else",
}


def part(weight: Weight) -> str:
    """The first component of the role."""
    return weight.role.partition(".")[0]


def is_bias(weight: Weight) -> bool:
    """Whether this is the bias of a matrix."""
    return weight.role.endswith(".bias")


def is_matrix(weight: Weight) -> bool:
    """Whether tokens are multiplied by it: a matrix or a convolution, no table, norm or bias."""
    return len(weight.shape) > 1 and part(weight) not in {"embed", "position", "norm"} and not is_bias(weight)
