"""ChatGLM 2 and 3, CodeGeeX 2, and GLM-4 as first published; the first ChatGLM had LayerNorm and no gate."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import HEADS, Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("chatglm", "ChatGLMModel", "ChatGLMForConditionalGeneration")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    if config.has("inner_hidden_size"):
        style = Style(
            family="chatglm", qkv_bias=True, out_bias=True, ffn_bias=True, gated=False, norm="layer"
        )
        return read_decoder(config, name, style=style, width=config.size("inner_hidden_size"))
    everywhere = config.flag("add_bias_linear", default=False)
    style = Style(
        family="chatglm",
        qkv_bias=everywhere or config.flag("add_qkv_bias", default=False),
        out_bias=everywhere,
        ffn_bias=everywhere,
        norm="rms" if config.flag("rmsnorm", default=True) else "layer",
        last_norm=config.flag("post_layer_norm", default=True),
    )
    grouped = config.flag("multi_query_attention", default=False)
    heads = config.size(*HEADS)
    kv_heads = config.size("multi_query_group_num", default=1) if grouped else heads
    vocab = config.size("padded_vocab_size", "vocab_size")
    return read_decoder(config, name, style=style, kv_heads=kv_heads, vocab=vocab)
