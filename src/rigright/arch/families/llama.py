"""Llama and the many that share its shape: RMSNorm, rotary GQA, gated ffn, no biases unless asked."""

from __future__ import annotations

from rigright.arch import blocks
from rigright.arch.config import Config
from rigright.arch.record import Arch, Layer, Tower

MATCHES = ("llama", "LlamaForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a Llama config."""
    hidden = config.size("hidden_size")
    heads = config.size("num_attention_heads")
    vocab = config.size("vocab_size")
    tied = config.flag("tie_word_embeddings", default=False)
    biased = config.flag("attention_bias", default=False)
    mixer = blocks.gqa(
        heads,
        config.size("num_key_value_heads", default=heads),
        config.size("head_dim", default=hidden // heads),
    )
    attention = blocks.attention(hidden, mixer, qkv_bias=biased, out_bias=biased)
    ffn = blocks.dense(hidden, config.size("intermediate_size"), bias=config.flag("mlp_bias", default=False))
    layer = Layer(
        weights=(*blocks.norm(hidden), *attention.weights, *blocks.norm(hidden), *ffn.weights),
        mixer=mixer,
        ffn=ffn.ffn,
    )
    tower = Tower(
        name="text",
        hidden=hidden,
        layers=(layer,) * config.layers("num_hidden_layers"),
        outer=(
            *blocks.embedding(vocab, hidden),
            *blocks.norm(hidden),
            *blocks.head(vocab, hidden, tied=tied),
        ),
    )
    return Arch(
        name=name,
        family="llama",
        task="text",
        towers=(tower,),
        vocab=vocab,
        tied=tied,
        max_context_tok=config.maybe("max_position_embeddings"),
        dtype=config.word("torch_dtype", "dtype", default="bfloat16"),
    )
