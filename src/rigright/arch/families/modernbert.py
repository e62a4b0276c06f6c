"""ModernBERT: rotary, gated, pre-normed, most layers seeing only a window."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.blocks import embedding, norm
from rigright.arch.config import Config
from rigright.arch.defaults import full
from rigright.arch.heads import labels, task, vocab_head
from rigright.arch.record import Arch, Tower, Weight
from rigright.arch.stack import Stack, layer, linear

MATCHES = ("modernbert", "ModernBertModel", "ModernBertForMaskedLM")
_LABELS = {"ForSequenceClassification", "ForTokenClassification"}


def read(config: Config, name: str) -> Arch:
    """Read a ModernBERT config."""
    config = full(config, "modernbert")
    asked = task(config, "" if "architectures" not in config else "ForMaskedLM")
    hidden = config.size("hidden_size")
    count = config.layers("num_hidden_layers")
    period = config.size("global_attn_every_n_layers", default=3)
    told = config.items("layer_types", default=[])
    slides = [
        told[index] == "sliding_attention" if index < len(told) else bool(index % period)
        for index in range(count)
    ]
    biases = "qkvo" * config.flag("attention_bias", default=False) + "gud" * config.flag(
        "mlp_bias", default=False
    )
    whole = Stack(
        hidden=hidden,
        heads=config.size("num_attention_heads"),
        width=config.size("intermediate_size"),
        gated=True,
        biases=biases,
        norm_bias=_shifts(config),
    )
    window = config.size("local_attention", "sliding_window", default=128)
    local = replace(whole, window_tok=window)
    stacks = [local if slide else whole for slide in slides]
    tower = Tower(
        name="encoder",
        hidden=hidden,
        layers=tuple(layer(replace(stack, norms=2 if index else 1)) for index, stack in enumerate(stacks)),
        outer=(
            *embedding(config.size("vocab_size"), hidden),
            *norm(hidden, bias=_shifts(config)) * 2,
            *_head(config, asked, hidden=hidden),
        ),
    )
    return Arch(
        name=name,
        family="modernbert",
        task="embed",
        towers=(tower,),
        vocab=config.size("vocab_size"),
        tied=asked == "ForMaskedLM" and config.flag("tie_word_embeddings", default=True),
        max_context_tok=config.maybe("max_position_embeddings"),
        dtype="fp32",
    )


def _shifts(config: Config) -> bool:
    return config.flag("norm_bias", default=False)


def _head(config: Config, asked: str, *, hidden: int) -> tuple[Weight, ...]:
    if not asked:
        return ()
    shared = (
        *linear("project", (hidden, hidden), bias=config.flag("classifier_bias", default=False)),
        *norm(hidden, bias=_shifts(config)),
    )
    if asked == "ForMaskedLM":
        biased = config.flag("decoder_bias", default=True)
        tied = config.flag("tie_word_embeddings", default=True)
        return (*shared, *vocab_head(config.size("vocab_size"), hidden, tied=tied, bias=biased))
    classes = labels(config) if asked in _LABELS else {"ForMultipleChoice": 1}.get(asked, 2)
    return (*shared, *linear("head", (classes, hidden)))
