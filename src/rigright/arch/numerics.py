"""What no count needs and a trainer is told: positions, norms and routing, as a config says them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from rigright.arch.config import Config
from rigright.base.record import dataclass

_KEYS = {  # one quantity, and every key that configs name it by
    "activation": ("hidden_act", "hidden_activation", "activation_function"),
    "norm_epsilon": ("rms_norm_eps", "rms_norm_epsilon", "norm_eps", "layer_norm_epsilon", "layer_norm_eps"),
    "rotary_base": ("rope_theta", "rotary_emb_base"),
    "rotary_share": ("partial_rotary_factor", "rotary_pct"),
    "scores": ("scoring_func",),
    "renormalised": ("norm_topk_prob",),
    "groups": ("n_group",),
    "group_topk": ("topk_group",),
    "routed_scale": ("routed_scaling_factor",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """How rotary positions reach beyond the context they were first trained for."""

    kind: str  # "linear", "dynamic", "yarn", "llama3", "longrope"
    factor: float | None = None
    original_max_position_embeddings: float | None = None
    beta_fast: float | None = None
    beta_slow: float | None = None
    mscale: float | None = None
    mscale_all_dim: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Numerics:
    """Constants of a language model; None where its config does not say."""

    activation: str | None = None
    norm_epsilon: float | None = None
    rotary_base: float | None = None
    rotary_share: float | None = None  # of a head's width that is turned
    stretch: Stretch | None = None
    scores: str | None = None  # of a router: "softmax", "sigmoid"
    renormalised: bool | None = None  # the chosen experts' scores sum to 1
    groups: int | None = None  # of experts, of which a token goes to the best `group_topk`
    group_topk: int | None = None
    routed_scale: float | None = None  # of what the routed experts give


def read_numerics(config: Config) -> Numerics:
    """What a config says of them, whatever it calls them; a value of another type counts as unsaid."""
    scaling = config.raw.get("rope_parameters") or config.raw.get("rope_scaling")
    turned: Mapping[str, Any] = scaling if isinstance(scaling, Mapping) else {}
    keys = {**turned, **{key: value for key, value in config.raw.items() if value is not None}}
    fields = {name: next((keys[key] for key in words if key in keys), None) for name, words in _KEYS.items()}
    kinds: dict[str, type | tuple[type, ...]] = {"activation": str, "scores": str, "renormalised": bool}
    kept: dict[str, Any] = {
        name: value for name, value in fields.items() if isinstance(value, kinds.get(name, int | float))
    }
    return Numerics(**kept, stretch=_stretch(turned))


def _stretch(given: Mapping[str, Any]) -> Stretch | None:
    kind = given.get("rope_type") or given.get("type")
    if not isinstance(kind, str) or kind == "default":
        return None
    names = [field.name for field in fields(Stretch) if field.name != "kind"]
    return Stretch(
        kind=kind, **{name: given[name] for name in names if isinstance(given.get(name), int | float)}
    )
