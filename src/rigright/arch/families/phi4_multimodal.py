"""Phi-4 Multimodal: a SigLIP eye, a conformer ear with two projections, a Phi-3 decoder."""

from __future__ import annotations

from rigright.arch.blocks import matrix, norm
from rigright.arch.config import Config
from rigright.arch.defaults import full, part
from rigright.arch.multimodal import join
from rigright.arch.pick import read_family
from rigright.arch.record import Arch, Cut, Ffn, Layer, Mix, Mixer, Tower, Weight
from rigright.arch.stack import at, conv, linear, table, vector
from rigright.arch.vision import patches, vit_tower

MATCHES = ("phi4_multimodal", "Phi4MultimodalForCausalLM", "phi4mm", "Phi4MMForCausalLM")
_FRAMES = 3000  # of 30 seconds


def read(config: Config, name: str) -> Arch:
    """Read a Phi-4 Multimodal config."""
    config = full(config, "phi4_multimodal").over(model_type="phi4_multimodal")
    flat = {key: value for key, value in config.raw.items() if not key.endswith("_config")}
    arch = read_family(Config(flat, config.where).over(model_type="phi3", architectures=None), name)
    said = arch.trunk.hidden
    eye = part(config, "vision_config", kind="phi4_multimodal_vision")
    seen = patches(eye)
    hidden = eye.size("hidden_size")
    projected = (*vector(hidden) * 2, *_pair(said, hidden, tok=seen))
    vision = vit_tower(eye, "siglip_vision_model", after=projected)
    return join(
        config, arch, towers=(vision, _ear(part(config, "audio_config", kind="phi4_multimodal_audio"), said))
    )


def _pair(said: int, width: int, *, tok: int) -> tuple[Weight, ...]:
    return (*linear("project", (said, width), sites=tok), *linear("project", (said, said), sites=tok))


def _ear(ear: Config, said: int) -> Tower:
    """A stem of strided convolutions, conformer layers, one projection for sound alone, one beside images."""
    hidden, channels = ear.size("hidden_size"), ear.size("nemo_conv_channels")
    halvings = ear.size("time_reduction").bit_length() - 1
    tok = _FRAMES >> halvings
    bands = -(-ear.size("input_size") >> halvings) or 1
    stem = (
        *conv("conv", (channels, 1, 3, 3), sites=tok * bands * 4 ** (halvings - 1)),
        *(conv("conv", (channels, 1, 3, 3)) + conv("conv", (channels, channels, 1, 1))) * (halvings - 1),
        *linear("patch", (hidden, channels * bands), sites=tok),
    )
    furthest = ear.size("bias_max_distance")
    rows = furthest if ear.flag("bias_symmetric", default=False) else 2 * furthest
    width, heads = ear.size("intermediate_size"), ear.size("num_attention_heads")
    wide = ear.size("ext_pw_out_channel")
    deep = ear.size("depthwise_separable_out_channel")
    spread = hidden * ear.size("depthwise_multiplier")
    half = (
        *norm(hidden, bias=True),
        *matrix("ffn.gate_up", 2 * width, inputs=hidden, cut=Cut.OUT, bias=True),
        *matrix("ffn.down", hidden, inputs=width, cut=Cut.IN, bias=True),
    )
    gated = (
        *norm(hidden, bias=True),
        *vector(wide) * 2,
        *conv("mixer.in", (2 * wide, hidden, 1)),
        *conv("mixer.conv", (spread, 1, ear.size("kernel_size"))),
        *conv("mixer.conv", (deep, spread, 1)),
        *conv("mixer.out", (wide, deep, 1)),
    )
    square = matrix("attn.q", hidden, inputs=hidden, cut=Cut.OUT, bias=True) * 4
    head = hidden // heads
    return Tower(
        name="audio",
        hidden=hidden,
        layers=(
            Layer(
                weights=at((*half, *half, *gated, *square, *norm(hidden, bias=True) * 2), tok),
                mixer=Mixer(kind=Mix.BOTH, heads=heads, kv_heads=heads, key_dim=head, value_dim=head),
                ffn=Ffn(width=width, gated=True),
            ),
        )
        * ear.layers("num_blocks"),
        outer=(
            *stem,
            *table(rows, ear.size("num_attention_heads")),
            *_pair(said, hidden, tok=tok) * 2,
        ),
        sample_tok=tok,
    )
