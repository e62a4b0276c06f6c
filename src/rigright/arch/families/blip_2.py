"""BLIP-2: an eye, a querying transformer between, a language model."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.defaults import full, part
from rigright.arch.multimodal import join, language
from rigright.arch.record import Arch, Tower, Weight
from rigright.arch.stack import Stack, layer, linear, table, vector
from rigright.arch.vision import patches, vit_tower

MATCHES = (
    "blip-2",
    "Blip2ForConditionalGeneration",
    "instructblip",
    "InstructBlipForConditionalGeneration",
)


def read(config: Config, name: str) -> Arch:
    """Read a BLIP-2 or InstructBLIP config."""
    kind = "instructblip" if config.raw.get("model_type") == "instructblip" else "blip-2"
    stem = "instructblip" if kind == "instructblip" else "blip_2"
    config = full(config, kind)
    arch = language(config, name, kind="opt")
    eye = part(config, "vision_config", kind=f"{stem}_vision_model")
    bridge = part(config, "qformer_config", kind=f"{stem}_qformer")
    between = _bridge(
        config, bridge, tok=patches(eye) + 1, said=arch.trunk.hidden, instructed=kind == "instructblip"
    )
    return join(config, arch, towers=(vit_tower(eye, f"{stem}_vision_model"), between))


def _bridge(config: Config, bridge: Config, *, tok: int, said: int, instructed: bool) -> Tower:
    """Learned queries that look at the image in every second layer; instructed ones read a text as well."""
    hidden, queries = bridge.size("hidden_size"), config.size("num_query_tokens")
    base = Stack(
        hidden=hidden,
        heads=bridge.size("num_attention_heads"),
        width=bridge.size("intermediate_size"),
        tok=queries,
    )
    own = layer(base)
    looking = layer(replace(base, cross_hidden=bridge.size("encoder_hidden_size")))
    sight = tuple(
        replace(weight, sites=tok) if weight.role.startswith(("cross.k", "cross.v")) else weight
        for weight in looking.weights
    )
    looking = replace(looking, weights=sight)
    reads = instructed or bridge.flag("use_qformer_text_input", default=False)
    spoken: tuple[Weight, ...] = ()
    if reads:
        width = base.width
        spoken = (
            *linear("ffn.up", (width, hidden)),
            *linear("ffn.down", (hidden, width)),
            *norm(hidden, bias=True),
        )
    period = bridge.size("cross_attention_frequency", default=2)
    layers = tuple(
        replace(one, weights=(*one.weights, *spoken))
        for one in (own if index % period else looking for index in range(bridge.layers("num_hidden_layers")))
    )
    words = (
        *table(bridge.size("vocab_size"), hidden),
        *table(bridge.size("max_position_embeddings"), hidden),
    )
    return Tower(
        name="vision",
        hidden=hidden,
        layers=layers,
        outer=(
            *vector(queries, hidden),
            *norm(hidden, bias=True),
            *(words if instructed else ()),
            *linear("project", (said, hidden), sites=queries),
        ),
        sample_tok=queries,
    )
