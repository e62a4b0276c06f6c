"""The params.json of Meta and Mistral, beside their own weight files: Llama and Mixtral in short keys."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, always, read_decoder, windows
from rigright.arch.experts import Mixture, read_mixture
from rigright.arch.record import Arch

MATCHES = ("params_json",)


def read(config: Config, name: str) -> Arch:
    """Read a params.json."""
    hidden, heads = config.size("dim"), config.size("n_heads")
    # told by Mistral; by Meta two thirds of four times the hidden width, scaled, rounded up
    if config.raw.get("hidden_dim") is not None:
        wide = config.size("hidden_dim")
    else:
        step = config.size("multiple_of", default=256)
        width = int(int(2 * 4 * hidden / 3) * config.number("ffn_dim_multiplier", default=1.0))
        wide = -(-width // step) * step
    named = config.over(
        hidden_size=hidden,
        num_hidden_layers=config.layers("n_layers"),
        num_attention_heads=heads,
        num_key_value_heads=config.size("n_kv_heads", default=heads),
        intermediate_size=wide,
        tie_word_embeddings=config.flag("tied_embeddings", default=False),
        max_position_embeddings=config.raw.get("max_seq_len"),
    )
    style = Style(family="params_json", windows=windows(named, always))
    experts = config.part("moe")
    if not experts.has("num_experts"):
        return read_decoder(named, name, style=style)
    routed = {key: experts.whole(key) for key in ("num_experts", "num_experts_per_tok")}
    return read_mixture(named.over(**routed), name, style=style, mixture=Mixture(shared=False))
