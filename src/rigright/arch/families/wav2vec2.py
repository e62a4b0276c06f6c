"""wav2vec 2.0 and its kin: convolutions over the sound itself, then layers of BERT's kind."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.defaults import full
from rigright.arch.heads import labels, task
from rigright.arch.record import Arch, Layer, Tower, Weight
from rigright.arch.stack import Stack, conv, layer, linear, table, vector

MATCHES = (
    "wav2vec2",
    "hubert",
    "wavlm",
    "unispeech",
    "unispeech-sat",
    "data2vec-audio",
    "Wav2Vec2ForCTC",
    "Wav2Vec2Model",
    "HubertModel",
    "WavLMModel",
)
_KINDS = ("wav2vec2", "hubert", "wavlm", "unispeech", "unispeech-sat", "data2vec-audio")
SAMPLES = 160_000  # ten seconds at 16 kHz


def read(config: Config, name: str) -> Arch:
    """Read the config of any of them."""
    told = config.word("model_type", default="wav2vec2")
    kind = told if told in _KINDS else "wav2vec2"
    config = full(config, kind)
    asked = task(config, "ForCTC")
    hidden = config.size("hidden_size")
    # the convolutions over samples, and how many frames they leave
    weights: list[Weight] = []
    length, channels = SAMPLES, 1
    groups = config.word("feat_extract_norm", default="group") == "group" and kind != "data2vec-audio"
    steps = config.aligned(**{key: config.sizes(key) for key in ("conv_dim", "conv_kernel", "conv_stride")})
    for index, (outputs, kernel, stride) in enumerate(steps):
        length = (length - kernel) // stride + 1
        biased = config.flag("conv_bias", default=False)
        weights += conv("conv", (outputs, channels, kernel), bias=biased, sites=length)
        weights += norm(outputs, bias=True) if index == 0 or not groups else ()
        channels = outputs
    stem, tok = tuple(weights), length
    stack = Stack(
        hidden=hidden,
        heads=config.size("num_attention_heads"),
        width=config.size("intermediate_size"),
        tok=tok,
    )
    tower = Tower(
        name="audio",
        hidden=hidden,
        layers=_layers(config, kind, stack=stack),
        outer=(
            *stem,
            *_entry(config, kind, hidden=hidden, tok=tok),
            *norm(hidden, bias=True),
            *_head(config, asked, hidden=hidden, tok=tok),
        ),
        sample_tok=tok,
    )
    return Arch(name=name, family=kind, task="speech", towers=(tower,), dtype="fp32")


def _entry(config: Config, kind: str, *, hidden: int, tok: int) -> tuple[Weight, ...]:
    """From the stem's width to the layers', a token for what is masked, positions from a convolution."""
    channels = config.sizes("conv_dim")[-1]
    masks = kind == "unispeech-sat" or any(
        config.number(key, default=usual) > 0
        for key, usual in (("mask_time_prob", 0.05), ("mask_feature_prob", 0))
    )
    kernel, groups = (
        config.size("num_conv_pos_embeddings"),
        config.size("num_conv_pos_embedding_groups", default=16),
    )
    if kind == "data2vec-audio":
        depth, width = (
            config.layers("num_conv_pos_embeddings"),
            config.size("conv_pos_kernel_size", default=19),
        )
        near = conv("conv", (hidden, hidden // groups, width), sites=tok) * depth
    else:
        near = (*conv("conv", (hidden, hidden // groups, kernel), sites=tok), *vector(1, 1, kernel))
        if config.flag("conv_pos_batch_norm", default=False):
            near = (*conv("conv", (hidden, hidden // groups, kernel), sites=tok), *norm(hidden, bias=True))
    normed = config.flag("feat_proj_layer_norm", default=True)
    return (
        *(norm(channels, bias=True) if normed else ()),
        *linear("project", (hidden, channels), sites=tok),
        *(vector(hidden) if masks else ()),
        *near,
    )


def _layers(config: Config, kind: str, *, stack: Stack) -> tuple[Layer, ...]:
    """Equal layers; WavLM's know of relative places, the first with the table of them."""
    count = config.layers("num_hidden_layers")
    adapts = config.maybe("adapter_attn_dim")
    narrow: tuple[Weight, ...] = ()
    if adapts:
        hidden = stack.hidden
        narrow = (
            *norm(hidden, bias=True),
            *linear("other", (adapts, hidden)),
            *linear("other", (hidden, adapts)),
        )
    if kind != "wavlm":
        return (layer(replace(stack, extra=narrow)),) * count
    gates = (*vector(1, stack.heads, 1, 1), *linear("other", (8, stack.hidden // stack.heads)))
    rest = layer(replace(stack, extra=gates))
    first = layer(replace(stack, extra=(*gates, *table(config.size("num_buckets"), stack.heads))))
    return (first, *(rest,) * (count - 1))


def _head(config: Config, asked: str, *, hidden: int, tok: int) -> tuple[Weight, ...]:
    if asked == "ForCTC":
        return linear("head", (config.size("vocab_size"), hidden), sites=tok)
    if asked in {"ForSequenceClassification", "ForAudioFrameClassification"}:
        weighted = config.flag("use_weighted_layer_sum", default=False)
        mixed = vector(config.layers("num_hidden_layers") + 1) if weighted else ()
        if asked == "ForAudioFrameClassification":
            return (*mixed, *linear("head", (labels(config), hidden), sites=tok))
        width = config.size("classifier_proj_size")
        return (
            *mixed,
            *linear("project", (width, hidden), sites=tok),
            *linear("head", (labels(config), width)),
        )
    if asked == "ForPreTraining":
        groups, entries = config.size("num_codevector_groups"), config.size("num_codevectors_per_group")
        code, shared = config.size("codevector_dim"), config.size("proj_codevector_dim")
        return (
            *vector(1, groups * entries, code // groups),
            *linear("other", (groups * entries, config.sizes("conv_dim")[-1])),
            *linear("project", (shared, hidden)),
            *linear("project", (shared, code)),
        )
    return ()
