"""The weight format a config says its files come in: quantization_config -> an id of the format table."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.base.errors import DataError
from rigright.base.words import Sentence, say

_KEYS = ("quantization_config", "compression_config", "nvidia_modelopt_quant", "quantization")
# what a scheme calls itself -> how many bits decide between these
_BY_BITS = {
    "awq": {4: "awq4"},
    "gptq": {3: "gptq3", 4: "gptq4", 8: "gptq8"},
    "auto-round": {3: "gptq3", 4: "gptq4", 8: "gptq8"},
    "hqq": {4: "hqq4"},
    "mlx": {4: "mlx4", 6: "mlx6", 8: "mlx8"},
    "exl2": {4: "exl2-4.0", 8: "exl2-8.0"},
    "int": {4: "int4", 8: "int8"},
}
_BY_ALGORITHM = {
    "NVFP4": "nvfp4",
    "NVFP4_AWQ": "nvfp4",
    "W4A8_NVFP4_FP8": "nvfp4",
    "MXFP4": "mxfp4",
    "W4A8_MXFP4_FP8": "mxfp4",
    "FP8": "fp8",
    "FP8_PER_CHANNEL_PER_TOKEN": "fp8-channel",
    "FP8_PB_WO": "fp8-block",
    "FP8_PB_REAL": "fp8-block",
    "W4A16_AWQ": "awq4",
    "W4A8_AWQ": "awq4",
    "W8A16": "int8",
    "W8A8_SQ_PER_CHANNEL": "int8",
    "INT8_SQ": "int8",
}
_BY_PACKING = {"nvfp4-pack-quantized": "nvfp4", "mxfp4-pack-quantized": "mxfp4"}
_BY_NAME = {
    "nvfp4": "nvfp4",
    "mxfp4": "mxfp4",
    "fp8": "fp8",
    "awq": "awq4",
    "gptq": "gptq4",
    "int8": "int8",
    "int4": "int4",
}
_FLOAT_BLOCKS = frozenset({"mxfp4", "nvfp4"})
_EIGHT_BIT = frozenset({"fp8", "fp8-channel", "fp8-block", "int8", "gptq8"})


def stored_format(config: Config) -> tuple[str | None, tuple[Sentence, ...]]:
    """The format id (None: not quantised), and a warning where the scheme is not known."""
    inner = (key for key in ("text_config", "llm_config", "language_config") if _holds(config, key))
    for scope in (config, *(config.part(key) for key in inner)):
        for key in _KEYS:
            if _holds(scope, key):
                return _scheme(scope.part(key), has_mlx=key == "quantization")
    return None, ()


def _holds(config: Config, key: str) -> bool:
    return isinstance(config.raw.get(key), dict)


def _scheme(config: Config, *, has_mlx: bool) -> tuple[str | None, tuple[Sentence, ...]]:
    try:
        text = _mlx(config) if has_mlx else _named(config)
    except (DataError, TypeError, AttributeError):
        text = None
    if text is not None:
        return text, ()
    value = config.raw.get("quant_algo") or config.raw.get("quant_method") or config.raw.get("format")
    # where the scheme says nothing, the model's own name may
    scheme = str(value)[:40]
    kind = next((kind for word, kind in _BY_NAME.items() if word in config.where.lower()), None)
    if kind is None:
        unknown = say('unknown quantization "{scheme}": assuming 16-bit weights', scheme=scheme)
        return None, (unknown,)
    hinted = say(
        'unknown quantization "{scheme}": assuming {format} weights, as the name suggests',
        scheme=scheme,
        format=kind,
    )
    return kind, (hinted,)


def _mlx(config: Config) -> str | None:
    mode = config.word("mode", default="affine").lower()
    return (
        mode if mode in {"mxfp4", "nvfp4", "mxfp8"} else _BY_BITS["mlx"].get(config.whole("bits", default=4))
    )


def _named(config: Config) -> str | None:
    """The scheme by its own name; a mixed one by what its groups hold."""
    algorithm = config.raw.get("quant_algo") or config.part("quantization").raw.get("quant_algo")
    if isinstance(algorithm, str):
        return _BY_ALGORITHM.get(algorithm.upper()) or _mixed(config)
    method = config.word("quant_method", default="").lower().replace("_", "-")
    if method in {"compressed-tensors", "modelopt", "quark"} or config.has("config_groups"):
        return _grouped(config)
    if method.startswith("bitsandbytes") or config.has("load_in_4bit") or config.has("load_in_8bit"):
        if config.flag("load_in_8bit", "_load_in_8bit", default=False):
            return "int8"
        return "nf4" if config.flag("bnb_4bit_use_double_quant", default=False) else "nf4-single"
    return _method(config, method)


def _method(config: Config, method: str) -> str | None:
    if method == "fbgemm-fp8":
        return "fp8-channel"
    if method in {"fp8", "deepspeedfp"}:
        return "fp8-block" if config.raw.get("weight_block_size") else "fp8"
    if method in _FLOAT_BLOCKS:
        return method
    bits = config.raw.get("bits", config.raw.get("w_bit", 4))
    return _BY_BITS.get(method, {}).get(round(bits)) if isinstance(bits, int | float) else None


def _grouped(config: Config) -> str | None:
    """compressed-tensors and its like: the group with the fewest bits decides."""
    packed = config.raw.get("format")
    groups = config.part("config_groups")
    parts = [groups.part(key) for key in list(groups)[:64]]
    texts = [_weights(part.part("weights"), part.raw.get("format") or packed) for part in parts]
    return min((kind for kind in texts if kind is not None), key=_bits, default=_packing(packed))


def _packing(packed: object) -> str | None:
    return _BY_PACKING.get(packed) if isinstance(packed, str) else None


def _weights(weights: Config, packed: object) -> str | None:
    bits, kind = weights.whole("num_bits", default=16), weights.word("type", default="int")
    group, strategy = weights.raw.get("group_size"), weights.raw.get("strategy")
    if _packing(packed) is not None:
        return _packing(packed)
    if kind == "float" and bits == 4:
        return "mxfp4" if group == 32 else "nvfp4"
    if kind == "float" and bits == 8:
        return {"channel": "fp8-channel", "block": "fp8-block"}.get(str(strategy), "fp8")
    return "int4-32" if bits == 4 and group == 32 else _BY_BITS["int"].get(bits)


def _mixed(config: Config) -> str | None:
    """Several formats in one file: the one the bulk (the experts) has."""
    value = config.raw.get("moe_quant_algo")
    layers = config.part("quantized_layers")
    algorithms = [layer.get("quant_algo") for layer in layers.raw.values() if isinstance(layer, dict)]
    texts = [_BY_ALGORITHM.get(str(word).upper()) for word in (value, *algorithms)]
    return min((kind for kind in texts if kind), key=_bits, default=_grouped(config))


def _bits(kind: str) -> int:
    return 8 if kind in _EIGHT_BIT else 4
