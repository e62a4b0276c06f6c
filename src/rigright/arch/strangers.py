"""The family nearest to a model nobody has named: by keys only one kind bears, then by its name's kin."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from rigright.arch.config import Config

# keys that only one kind of model bears -> the family that reads it; the first that fits wins
_TELLTALES: tuple[tuple[frozenset[str], str], ...] = (
    (frozenset({"block_out_channels", "down_block_types", "cross_attention_dim"}), "unet"),
    (frozenset({"block_out_channels", "latent_channels"}), "vae"),
    (frozenset({"num_mel_bins", "decoder_layers", "encoder_layers"}), "whisper"),
    (frozenset({"d_kv", "d_ff", "num_heads"}), "t5"),
    (frozenset({"image_size", "patch_size", "hidden_size", "num_hidden_layers"}), "vit"),
    (frozenset({"depths", "hidden_sizes", "embedding_size"}), "resnet"),
    (frozenset({"type_vocab_size", "hidden_size"}), "bert"),
    (frozenset({"hybrid_override_pattern"}), "nemotron_h"),
    (frozenset({"linear_num_key_heads", "linear_num_value_heads"}), "qwen3_next"),
    (frozenset({"attn_layer_period", "mamba_d_state"}), "jamba"),
    (frozenset({"mamba_n_heads", "layer_types", "shared_intermediate_size"}), "granitemoehybrid"),
    (frozenset({"mamba_n_heads", "attn_layer_indices"}), "bamba"),
    (frozenset({"state_size", "conv_kernel", "n_groups"}), "mamba2"),
    (frozenset({"state_size", "conv_kernel"}), "mamba"),
    (frozenset({"block_configs"}), "nemotron_nas"),
    (frozenset({"dim", "n_layers", "n_heads"}), "params_json"),
    (frozenset({"new_decoder_architecture", "parallel_attn"}), "falcon"),
    (frozenset({"rotary_pct", "use_parallel_residual"}), "gpt_neox"),
    (frozenset({"rotary_dim", "n_embd"}), "gptj"),
    (frozenset({"query_pre_attn_scalar", "sliding_window_pattern"}), "gemma3_text"),
    (frozenset({"query_pre_attn_scalar", "attn_logit_softcapping"}), "gemma2"),
)
_EXPERT_KEYS = frozenset({"num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"})
_DIGITS = re.compile(r"_?[0-9]+")
_STEM = re.compile(r"[a-z]{3,}")
_MIN_LIKENESS = 0.7


def by_keys(config: Config, files: Iterable[str]) -> str | None:
    """The family whose own keys the config bears."""
    keys, there = frozenset(config), frozenset(files)
    return next((file for telltale, file in _TELLTALES if telltale <= keys and file in there), None)


def by_name(word: str, config: Config, *, matches: Mapping[str, str]) -> str | None:
    """The family whose model type is most alike but for its version; of equals the newest."""
    word = word.lower()
    stem = _STEM.match(word)
    if stem is None:
        return None
    sparse = not _EXPERT_KEYS.isdisjoint(config)
    kin = [name for name in matches if name.startswith(stem.group())]
    kin = [name for name in kin if ("moe" in name) == sparse] or kin
    ranked = sorted((_likeness(word, name), _version(name), name) for name in kin)
    return matches[ranked[-1][2]] if ranked and ranked[-1][0] >= _MIN_LIKENESS else None


def _likeness(word: str, name: str) -> float:
    from difflib import SequenceMatcher

    return SequenceMatcher(None, _DIGITS.sub("", word), _DIGITS.sub("", name)).ratio()


def _version(name: str) -> float:
    """The first number in a name: qwen3_5 is 3.5, deepseek_v32 is 3.2."""
    digits = re.sub(r"\D", "", "".join(_DIGITS.findall(name)))[:4]
    return float(f"{digits[0]}.{digits[1:] or 0}") if digits else 0.0
