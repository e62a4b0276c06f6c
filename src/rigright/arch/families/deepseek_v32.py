"""DeepSeek-V3.2, GLM-5: latent attention that reads the keys an indexer chose, shared by some layers."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.defaults import full
from rigright.arch.latent import indexed, mla, read_index, read_latent, read_latent_moe
from rigright.arch.mtp import with_mtp
from rigright.arch.plan import kind_of, listed
from rigright.arch.record import Arch

MATCHES = ("deepseek_v32", "DeepseekV32ForCausalLM", "glm_moe_dsa", "GlmMoeDsaForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config with a sparse-attention indexer."""
    kind = kind_of(config, MATCHES)
    config = full(config, kind)
    latent, index = read_latent(config), read_index(config)
    made = {own: indexed(mla(latent), latent, index=index, own=own) for own in (True, False)}
    attends = tuple(made[own] for own in owners(config, config.layers("num_hidden_layers")))
    arch = read_latent_moe(config, name, family=kind, attends=attends)
    own = read_latent_moe(config, name, family=kind, attends=(made[True],) * len(attends))
    return with_mtp(config, arch, layer=own.trunk.layers[-1], copies=kind != "glm_moe_dsa")


def owners(config: Config, layers: int) -> list[bool]:
    """Whether each layer has an indexer of its own, or uses what an earlier one chose."""
    told = listed(config, "indexer_types", layers=layers)
    if told:
        return [kind == "full" for kind in told]
    pattern = config.raw.get("index_topk_pattern")
    if isinstance(pattern, str | list) and len(pattern) >= layers:
        return [kind in {"F", "full"} for kind in pattern[:layers]]
    period = max(config.whole("index_topk_freq", default=1), 1)
    offset = config.whole("index_skip_topk_offset", default=2)
    return [max(index - offset + 1, 0) % period == 0 for index in range(layers)]
