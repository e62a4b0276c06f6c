"""GGUF metadata in the keys of a config.json, so that the families read it like any other config."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from rigright.arch.sources.gguf import Array
from rigright.base.tables import DATA, read_toml


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufHead:
    """What a file tells, the architecture's name taken off its keys; and which tensors it has."""

    arch: str
    metadata: Mapping[str, Any]
    shapes: Mapping[str, tuple[int, ...]]

    def get(self, key: str) -> Any:
        """A value of the architecture; an array whose values are all alike is that value."""
        value = self.metadata.get(f"{self.arch}.{key}")
        if isinstance(value, Array):
            alike = value.values is not None and len(set(map(str, value.values))) == 1
            return value.values[0] if alike and value.values else value.values
        return value

    def count(self, key: str) -> int:
        """A whole number; 0 where it is not stated."""
        value = self.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else 0

    def each(self, key: str, layers: int) -> list[int]:
        """A number for each layer, told once or layer by layer."""
        value = self.get(key)
        if isinstance(value, tuple):
            return [item if isinstance(item, int) else 0 for item in value[:layers]] + [0] * (
                layers - len(value)
            )
        return [self.count(key)] * layers

    @property
    def layers(self) -> int:
        """Layers of the trunk: those that only predict further tokens (MTP) are stored after them."""
        return max(self.count("block_count") - self.count("nextn_predict_layers"), 0)


def head_of(metadata: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]]) -> GgufHead:
    """What a header tells."""
    arch = metadata.get("general.architecture")
    return GgufHead(arch=arch if isinstance(arch, str) else "", metadata=metadata, shapes=shapes)


@cache
def tables() -> dict[str, Any]:
    """What metadata means (data/gguf_archs.toml)."""
    return read_toml(DATA / "gguf_archs.toml")


def types(file: GgufHead) -> list[str]:
    """The model types the architecture may be; none where nobody has told us."""
    return list(tables()["archs"].get(file.arch, {}).get("types", ()))


def config(file: GgufHead, model_type: str) -> dict[str, Any]:
    """The config of a file, read as one model type."""
    row = tables()["archs"].get(file.arch, {})
    keys = {
        key: value
        for told_key, names in tables()["keys"].items()
        if (value := _plain(file.get(told_key))) is not None
        for key in names
    }
    scheme = _SCHEMES.get(row.get("scheme", ""))
    if not keys.get("intermediate_size") and keys.get("moe_intermediate_size"):
        keys["intermediate_size"] = keys["moe_intermediate_size"]
    return {
        **row.get("set", {}),
        **keys,
        "num_hidden_layers": file.layers,
        **_from_tensors(file),
        **_windows(file),
        **(scheme(file) if scheme else {}),
        "model_type": model_type,
    }


def _plain(value: Any) -> Any:
    """What differs from layer to layer is no single key of a config."""
    return None if isinstance(value, tuple) else value


def _from_tensors(file: GgufHead) -> dict[str, Any]:
    """What only the tensor list shows: vocabulary, a tied head, biases."""
    embedding = file.shapes.get("token_embd.weight", ())
    biased = any(f"blk.0.{name}.bias" in file.shapes for name in ("attn_q", "attn_qkv"))
    return {
        **({"vocab_size": embedding[0]} if len(embedding) == 2 else {}),
        "tie_word_embeddings": "output.weight" not in file.shapes,
        **({"attention_bias": True} if biased else {}),
        **({"qk_layernorm": True, "use_qk_norm": True} if "blk.0.attn_q_norm.weight" in file.shapes else {}),
    }


def _windows(file: GgufHead) -> dict[str, Any]:
    """Which layers slide: a period, or a yes or no for each layer."""
    pattern = file.get("attention.sliding_window_pattern")
    if isinstance(pattern, tuple):
        kinds = ("full_attention", "sliding_attention")
        return {"layer_types": [kinds[bool(slides)] for slides in pattern[: file.layers]]}
    if isinstance(pattern, int) and not isinstance(pattern, bool) and pattern > 0:
        return {"sliding_window_pattern": pattern}
    return {}


def _latent(file: GgufHead) -> dict[str, Any]:
    """MLA: the rotary part of a head, and what is left of it."""
    rotary = file.count("rope.dimension_count")
    whole = file.count("attention.key_length_mla") or file.count("attention.key_length")
    return {
        "qk_rope_head_dim": rotary,
        "qk_nope_head_dim": max(whole - rotary, 0),
        "v_head_dim": file.count("attention.value_length_mla") or file.count("attention.value_length"),
        "head_dim": None,
        "num_key_value_heads": file.count("attention.head_count"),
        "q_lora_rank": file.get("attention.q_lora_rank"),
    }


def _state(file: GgufHead) -> dict[str, Any]:
    """Mamba and Mamba-2."""
    inner, heads = file.count("ssm.inner_size"), file.count("ssm.time_step_rank")
    return {
        "intermediate_size": inner,
        "expand": inner // max(file.count("embedding_length"), 1),
        "num_heads": heads,
        "head_dim": inner // max(heads, 1),
    }


def _delta(file: GgufHead) -> dict[str, Any]:
    """Gated delta nets beside attention (Qwen3-Next and after)."""
    inner, heads = file.count("ssm.inner_size"), file.count("ssm.time_step_rank")
    return {
        "linear_num_value_heads": heads,
        "linear_num_key_heads": file.count("ssm.group_count"),
        "linear_key_head_dim": file.count("ssm.state_size"),
        "linear_value_head_dim": inner // max(heads, 1),
        "linear_conv_kernel_dim": file.count("ssm.conv_kernel"),
        "full_attention_interval": file.count("full_attention_interval") or 4,
    }


_SCHEMES: dict[str, Callable[[GgufHead], dict[str, Any]]] = {
    "latent": _latent,
    "state": _state,
    "delta": _delta,
}
