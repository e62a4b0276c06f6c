"""A model's config (any mapping of keys) -> its Arch, checked; the one door for every source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rigright.arch import count
from rigright.arch.config import MAX_LAYERS, Config
from rigright.arch.numerics import read_numerics
from rigright.arch.pick import NESTED, read_family
from rigright.arch.record import Arch, Mix, Mixer
from rigright.arch.stored import stored_format
from rigright.base.errors import DataError
from rigright.base.record import replace
from rigright.base.words import say

MAX_KEYS = 100_000
_KIND_STEMS = (  # what a word of `layer_types` has in it when it is known to some family
    *("attention", "full", "slid", "local", "global", "chunk", "sparse", "latent", "mla", "compress"),
    *("mamba", "ssm", "conv", "recurrent", "linear", "delta", "kda", "rwkv", "lightning", "hybrid", "lstm"),
    *("moe", "mlp", "dense", "identity"),
)
_DTYPES = {"bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32", "float": "fp32"}


def read_config(raw: Mapping[str, Any], name: str) -> Arch:
    """Read a config.json's content; whatever it holds, an Arch or a RigError comes out."""
    if not isinstance(raw, Mapping) or not all(isinstance(key, str) for key in raw):
        raise DataError(say("{name} is not a model config: it has no keys", name=name))
    if len(raw) > MAX_KEYS:
        raise DataError(say("{name} has {keys} keys: too many for a model config", name=name, keys=len(raw)))
    config = Config(raw, name)
    try:
        arch = read_family(config, name)
        check(arch)
    except (
        ArithmeticError,
        IndexError,
        RecursionError,
    ) as error:  # its figures and lists: else a bug of ours
        raise DataError(say("{name} contradicts itself: {why}", name=name, why=error)) from error
    stored, unknown = stored_format(config)
    # A kind of layer nobody knows is read as the family reads the rest: said, not silent
    value = config.raw.get("layer_types")
    words = [word for word in value[:MAX_KEYS] if isinstance(word, str)] if isinstance(value, list) else []
    odd = [word for word in dict.fromkeys(words) if not any(stem in word.lower() for stem in _KIND_STEMS)]
    odd_kinds = tuple(
        say(
            'layer_types contains unknown "{kind}": treating those layers as standard ones',
            kind=word[:40],
        )
        for word in odd[:3]
    )
    return replace(
        arch,
        dtype=_dtype(config) or arch.dtype,
        stored=arch.stored or stored,
        published=arch.stored or stored,
        source=arch.source or _source(config),
        warnings=(*arch.warnings, *unknown, *odd_kinds),
        numerics=read_numerics(
            next((config.part(key) for key in NESTED if isinstance(config.raw.get(key), dict)), config)
        ),
    )


def _dtype(config: Config) -> str | None:
    """The precision the weights were published in, where the config says it."""
    for scope in (config, *(config.part(key) for key in NESTED if isinstance(config.raw.get(key), dict))):
        value = scope.raw.get("torch_dtype") or scope.raw.get("dtype")
        if isinstance(value, str) and value.removeprefix("torch.") in _DTYPES:
            return _DTYPES[value.removeprefix("torch.")]
    return None


def _source(config: Config) -> str:
    """Where a config of our own collection says it came from, and how true it is to the publisher's."""
    values = [config.raw.get(key) for key in ("_source", "_fidelity")]
    return "; ".join(word for word in values if isinstance(word, str) and word)


MAX_PARAMS = 10**15
_HEADED = frozenset({Mix.FULL, Mix.WINDOW, Mix.CHUNK, Mix.BOTH, Mix.CROSS})


def check(arch: Arch) -> None:
    """Raise on what no model can be."""
    layers = sum(len(tower.layers) for tower in arch.towers)
    writes = bool(arch.towers) and arch.trunk.name in {"text", "decoder"}
    if not any(tower.layers or tower.outer for tower in arch.towers) or (writes and not arch.trunk.layers):
        raise DataError(say("{name} describes a model without layers", name=arch.name))
    if layers > MAX_LAYERS:
        raise DataError(
            say("{name} would have {layers} layers: too many to be real", name=arch.name, layers=layers)
        )
    params = count.params(arch)
    if not 0 < params < MAX_PARAMS:
        raise DataError(
            say("{name} would have {params} parameters: too many to be real", name=arch.name, params=params)
        )
    for tower in arch.towers:
        for layer in dict.fromkeys(tower.layers):
            for mixer in (layer.mixer, layer.cross):
                if mixer is not None and mixer.kind in _HEADED:
                    _heads(mixer)
            ffn = layer.ffn
            if ffn is not None and ffn.per_tok > ffn.experts:
                raise DataError(
                    say(
                        "a token cannot use {used} of {experts} experts",
                        used=ffn.per_tok,
                        experts=ffn.experts,
                    )
                )


def _heads(mixer: Mixer) -> None:
    if mixer.heads < 1 or mixer.kv_heads < 1 or mixer.key_dim < 1 or mixer.value_dim < 1:
        raise DataError(say("attention needs at least one head of at least one dimension"))
    if mixer.heads % mixer.kv_heads:
        raise DataError(
            say(
                "{heads} attention heads cannot share {kv_heads} key-value heads: not divisible",
                heads=mixer.heads,
                kv_heads=mixer.kv_heads,
            )
        )
