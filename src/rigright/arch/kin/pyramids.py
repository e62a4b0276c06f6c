"""Vision transformers of several stages, or of several frames."""

from __future__ import annotations

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.conv import depths
from rigright.arch.defaults import full
from rigright.arch.heads import labels, task
from rigright.arch.record import Arch, Layer, Tower, Weight
from rigright.arch.stack import Stack, conv, layer, linear, table, vector
from rigright.arch.vision import patches, sides
from rigright.base.record import replace

_POSITION_WIDTH = 512  # inner width of the second form's network for relative positions


def read_swin(config: Config, name: str) -> Arch:
    """Swin, first and second form: windows of attention over a map that halves from stage to stage."""
    kind = "swinv2" if config.raw.get("model_type") == "swinv2" else "swin"
    config = full(config, kind)
    image, patch = sides(config.raw.get("image_size"), 224), sides(config.raw.get("patch_size"), 4)
    high, wide = image[0] // patch[0], image[1] // patch[1]
    width = config.size("embed_dim")
    numbers, heads = depths(config, "depths"), config.sizes("num_heads")
    absolute = config.flag("use_absolute_embeddings", default=False)
    outer = (
        *conv("patch", (width, config.size("num_channels"), *patch), sites=high * wide),
        *norm(width, bias=True),
        *(table(high * wide + (kind == "swinv2"), width) if absolute else ()),
    )
    layers: list[Layer] = []
    for index, (depth, count) in enumerate(config.aligned(depths=numbers, num_heads=heads)):
        stage = _stage(config, kind, width=width, heads=count, tok=high * wide)
        layers += [stage] * depth
        if index + 1 < len(numbers):
            high, wide = (high + 1) // 2, (wide + 1) // 2
            # four neighbours become one of twice the width
            tok = high * wide
            normed = norm(4 * width if kind == "swin" else 2 * width, bias=True)
            weights: tuple[Weight, ...] = (
                *linear("project", (2 * width, 4 * width), bias=False, sites=tok),
                *normed,
            )
            maps = (4 * width * tok, 4 * width * tok, 2 * width * tok)
            layers.append(Layer(weights=weights, map_elems=maps, kept_elems=8 * width * tok))
            width *= 2
    asked = task(config, "ForImageClassification")
    head = linear("head", (labels(config), width)) if asked == "ForImageClassification" else ()
    tower = Tower(
        name="vision",
        hidden=width,
        layers=tuple(layers),
        outer=(*outer, *norm(width, bias=True), *head),
        sample_tok=high * wide,
    )
    return Arch(name=name, family=kind, task="vision", towers=(tower,), dtype="fp32")


def _stage(config: Config, kind: str, *, width: int, heads: int, tok: int) -> Layer:
    """One layer of a stage: attention inside windows, with what it learns of relative places."""
    window = config.size("window_size")
    extra = table((2 * window - 1) ** 2, heads)
    biases = "qkvogud" if config.flag("qkv_bias", default=True) else "ogud"
    if kind == "swinv2":
        biases = biases.replace("k", "")
        extra = (
            *vector(heads, 1, 1),
            *linear("other", (_POSITION_WIDTH, 2), sites=1),
            *linear("other", (heads, _POSITION_WIDTH), bias=False, sites=1),
        )
    stack = Stack(
        hidden=width,
        heads=heads,
        width=int(config.number("mlp_ratio") * width),
        biases=biases,
        window_tok=min(window**2, tok),
        tok=tok,
    )
    own = layer(stack)
    return replace(own, weights=(*own.weights, *extra))


def read_segformer(config: Config, name: str) -> Arch:
    """SegFormer: four stages of attention over maps whose keys are thinned out, and a light decoder."""
    high, wide = sides(config.raw.get("image_size"), 512)
    widths, strides = config.sizes("hidden_sizes"), config.sizes("strides")
    inputs = config.size("num_channels")
    layers: list[Layer] = []
    outer: list[Weight] = []
    finest = 0
    for index, depth in enumerate(depths(config, "depths")):
        width, kernel = widths[index], config.sizes("patch_sizes")[index]
        high, wide = -(-high // strides[index]), -(-wide // strides[index])
        tok = high * wide
        finest = finest or tok
        outer += (
            *conv("patch", (width, inputs, kernel, kernel), sites=tok),
            *norm(width, bias=True) * 2,
        )
        layers += [_layer(config, index, width=width, tok=tok)] * depth
        inputs = width
    tower = Tower(
        name="vision",
        hidden=widths[-1],
        layers=tuple(layers),
        outer=(*outer, *_head(config, widths, tok=finest)),
        sample_tok=high * wide,
    )
    return Arch(name=name, family="segformer", task="vision", towers=(tower,), dtype="fp32")


def _layer(config: Config, index: int, *, width: int, tok: int) -> Layer:
    """Attention to a thinned-out map, a feed-forward with a convolution a channel inside."""
    ratio, wide = config.sizes("sr_ratios")[index], int(width * config.sizes("mlp_ratios")[index])
    own = layer(Stack(hidden=width, heads=config.sizes("num_attention_heads")[index], width=wide, tok=tok))
    few = max(tok // ratio**2, 1)
    thinned = tuple(
        replace(weight, sites=few) if weight.role.startswith(("attn.k", "attn.v")) else weight
        for weight in own.weights
    )
    thins = (*conv("attn.conv", (width, width, ratio, ratio), sites=few), *norm(width, bias=True))
    mixes = conv("ffn.conv", (wide, 1, 3, 3), sites=tok)
    return replace(own, weights=(*thinned, *(thins if ratio > 1 else ()), *mixes))


def _head(config: Config, widths: list[int], *, tok: int) -> tuple[Weight, ...]:
    asked = str(config.items("architectures", default=["ForImageClassification"])[0])
    if asked.endswith("ForImageClassification"):
        return linear("head", (labels(config), widths[-1]))
    if not asked.endswith("ForSemanticSegmentation"):
        return ()
    shared = config.size("decoder_hidden_size")
    each = tuple(weight for width in widths for weight in linear("project", (shared, width), sites=tok))
    return (
        *each,
        *linear("project", (shared, shared * len(widths)), bias=False, sites=tok),
        *norm(shared, bias=True),
        *linear("head", (labels(config), shared), sites=tok),
    )


_SOUND = "audio-spectrogram-transformer"


def read_videomae(config: Config, name: str) -> Arch:
    """Vision transformers over other things than one image: clips of video, spectrograms of sound."""
    kind = _SOUND if config.raw.get("model_type") == _SOUND else "videomae"
    config = full(config, kind)
    classes = config.items("architectures", default=[])
    sorts = not classes or str(classes[0]).endswith("Classification")
    tower = _sound(config, sorts=sorts) if kind == _SOUND else _video(config, sorts=sorts)
    return Arch(
        name=name, family=kind, task="speech" if kind == _SOUND else "vision", towers=(tower,), dtype="fp32"
    )


def _layers(config: Config, tok: int, *, biases: str) -> Tower:
    hidden = config.size("hidden_size")
    stack = Stack(
        hidden=hidden,
        heads=config.size("num_attention_heads"),
        width=config.size("intermediate_size"),
        biases=biases,
        tok=tok,
    )
    many = (layer(stack),) * config.layers("num_hidden_layers")
    return Tower(name="vision", hidden=hidden, layers=many, sample_tok=tok)


def _with(tower: Tower, name: str, *outer: Weight) -> Tower:
    return Tower(
        name=name, hidden=tower.hidden, layers=tower.layers, outer=outer, sample_tok=tower.sample_tok
    )


def _video(config: Config, *, sorts: bool) -> Tower:
    """Cubes of a clip; positions are computed."""
    deep, side = config.size("tubelet_size"), config.size("patch_size")
    tok = patches(config) * (config.size("num_frames") // deep)
    tower = _layers(config, tok, biases="qvogud" if config.flag("qv_bias", default=True) else "ogud")
    hidden = tower.hidden
    pools = config.flag("use_mean_pooling", default=True)
    return _with(
        tower,
        "vision",
        *conv("patch", (hidden, config.size("num_channels"), deep, side, side), sites=tok),
        *(() if pools and not sorts else norm(hidden, bias=True)),
        *(linear("head", (labels(config), hidden)) if sorts else ()),
    )


def _sound(config: Config, *, sorts: bool) -> Tower:
    """Overlapping patches of a spectrogram, two tokens before them."""
    side = config.size("patch_size")
    bands = (config.size("num_mel_bins") - side) // config.size("frequency_stride") + 1
    frames = (config.size("max_length") - side) // config.size("time_stride") + 1
    tok = bands * frames
    tower = _layers(config, tok + 2, biases="qkvogud" if config.flag("qkv_bias", default=True) else "ogud")
    hidden = tower.hidden
    return _with(
        tower,
        "audio",
        *conv("patch", (hidden, 1, side, side), sites=tok),
        *table(tok + 2, hidden),
        *vector(2, hidden),
        *norm(hidden, bias=True) * (2 if sorts else 1),
        *(linear("head", (labels(config), hidden)) if sorts else ()),
    )
