"""Consistency checks of an Arch: what no model can be is an error."""

from __future__ import annotations

from rigright.arch import count
from rigright.arch.config import MAX_LAYERS
from rigright.arch.record import Arch, Mix, Mixer
from rigright.base.errors import DataError
from rigright.base.words import say

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
