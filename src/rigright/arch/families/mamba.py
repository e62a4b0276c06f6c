"""Mamba and Falcon-Mamba: layers of one state-space mixer each, no feed-forward."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Sizes, Style, layer, text_arch
from rigright.arch.defaults import full
from rigright.arch.plan import kind_of
from rigright.arch.record import Arch
from rigright.arch.ssm import Mamba, mamba

MATCHES = ("mamba", "MambaForCausalLM", "MambaLMHeadModel", "falcon_mamba", "FalconMambaForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a Mamba config, of Transformers or of its authors (d_model, n_layer, ssm_cfg)."""
    kind = kind_of(config, MATCHES)
    # the authors' own keys, where they stand instead of Transformers'
    pairs = {"d_model": "hidden_size", "n_layer": "num_hidden_layers"}
    own = {new: config.raw[old] for old, new in pairs.items() if old in config.raw and new not in config.raw}
    multiple = config.whole("pad_vocab_size_multiple", default=1) or 1
    if own and multiple > 1:
        own["vocab_size"] = -(-config.size("vocab_size") // multiple) * multiple
    config = full(config.over(**own) if own else config, kind)
    hidden = config.size("hidden_size")
    dims = Mamba(
        hidden=hidden,
        inner=config.size("intermediate_size", "d_inner", default=config.size("expand", default=2) * hidden),
        state=config.size("state_size"),
        conv=config.size("conv_kernel"),
        dt_rank=dt_rank(config, "time_step_rank", hidden=hidden),
        bias=config.flag("use_bias", default=False),
        conv_bias=config.flag("use_conv_bias", default=True),
    )
    style = Style(family=kind, norms=1)
    size = bare_sizes(config, tied=config.flag("tie_word_embeddings", default=True))
    same = layer(hidden, style, mamba(dims))
    return text_arch(config, name, style=style, size=size, layers=(same,) * size.layers)


def bare_sizes(config: Config, *, tied: bool) -> Sizes:
    """Sizes of a model without attention."""
    return Sizes(
        hidden=config.size("hidden_size"),
        layers=config.layers("num_hidden_layers"),
        heads=1,
        kv_heads=1,
        head_dim=1,
        width=1,
        vocab=config.size("vocab_size"),
        tied=tied,
    )


def dt_rank(config: Config, key: str, *, hidden: int) -> int:
    """The rank of the time steps: told, or a sixteenth of the width."""
    return -(-hidden // 16) if config.raw.get(key) in ("auto", None) else config.size(key)
