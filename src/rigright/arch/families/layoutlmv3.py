"""LayoutLMv3: words, their places on a page, and the page's image in one encoder."""

from __future__ import annotations

from rigright.arch.blocks import embedding, norm
from rigright.arch.config import Config
from rigright.arch.defaults import full
from rigright.arch.heads import dense_label, labels, task
from rigright.arch.record import Arch, Tower, Weight
from rigright.arch.stack import Stack, conv, layer, linear, table, vector

MATCHES = ("layoutlmv3", "LayoutLMv3Model", "LayoutLMv3ForTokenClassification")


def read(config: Config, name: str) -> Arch:
    """Read a LayoutLMv3 config."""
    config = full(config, "layoutlmv3")
    hidden, heads = config.size("hidden_size"), config.size("num_attention_heads")
    stack = Stack(hidden=hidden, heads=heads, width=config.size("intermediate_size"))
    vocab = config.size("vocab_size")
    # where a word stands: left, top, height, width; and how far from the others
    rows = config.size("max_2d_position_embeddings")
    far = table(heads, config.size("rel_pos_bins"))
    across = table(heads, config.size("rel_2d_pos_bins")) * 2
    tower = Tower(
        name="encoder",
        hidden=hidden,
        layers=(layer(stack),) * config.layers("num_hidden_layers"),
        outer=(
            *embedding(vocab, hidden),
            *table(config.size("max_position_embeddings"), hidden),
            *table(config.size("type_vocab_size"), hidden),
            *norm(hidden, bias=True),
            *table(rows, config.size("coordinate_size")) * 2,
            *table(rows, config.size("shape_size")) * 2,
            *(far if config.flag("has_relative_attention_bias", default=True) else ()),
            *(across if config.flag("has_spatial_attention_bias", default=True) else ()),
            *(_page(config, hidden) if config.flag("visual_embed", default=True) else ()),
            *_head(config, hidden),
        ),
    )
    return Arch(
        name=name,
        family="layoutlmv3",
        task="embed",
        towers=(tower,),
        vocab=vocab,
        max_context_tok=config.maybe("max_position_embeddings"),
        dtype="fp32",
    )


def _page(config: Config, hidden: int) -> tuple[Weight, ...]:
    """The image of the page as patches behind the words."""
    side = config.size("patch_size")
    tok = (config.size("input_size") // side) ** 2
    return (
        *conv("patch", (hidden, config.size("num_channels"), side, side), sites=tok),
        *vector(1, hidden),
        *table(tok + 1, hidden),
        *norm(hidden, bias=True) * 2,
    )


def _head(config: Config, hidden: int) -> tuple[Weight, ...]:
    asked = task(config, "")
    if asked == "ForSequenceClassification":
        return dense_label(hidden, labels(config))
    if asked == "ForTokenClassification":
        classes = labels(config)
        return linear("head", (classes, hidden)) if classes < 10 else dense_label(hidden, classes)
    return dense_label(hidden, 2) if asked == "ForQuestionAnswering" else ()
