"""Vision transformers over other things than one image: clips of video, spectrograms of sound."""

from __future__ import annotations

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.defaults import full
from rigright.arch.heads import labels
from rigright.arch.record import Arch, Tower, Weight
from rigright.arch.stack import Stack, conv, layer, linear, table, vector
from rigright.arch.vision import patches

MATCHES = (
    "videomae",
    "VideoMAEForVideoClassification",
    "VideoMAEModel",
    "audio-spectrogram-transformer",
    "ASTForAudioClassification",
    "ASTModel",
)
_SOUND = "audio-spectrogram-transformer"


def read(config: Config, name: str) -> Arch:
    """Read a VideoMAE or spectrogram transformer's config."""
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
