"""Language models behind a known eye and a bridge of their own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rigright.arch import merging
from rigright.arch.blocks import attention as attend
from rigright.arch.blocks import dense, embedding, gqa, head, matrix, norm
from rigright.arch.config import Config
from rigright.arch.defaults import full, part
from rigright.arch.merging import grid_patches
from rigright.arch.multimodal import join, language
from rigright.arch.pick import read_family
from rigright.arch.record import Arch, Cut, Ffn, Layer, Mix, Mixer, Tower, Weight
from rigright.arch.stack import Stack, at, conv, eye_tower, layer, linear, table, vector
from rigright.arch.vision import patches, vit_tower
from rigright.base.record import replace

_LARGE = {
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "image_size": 336,
    "patch_size": 14,
}


def read_phi3_v(config: Config, name: str) -> Arch:
    """Phi-3 Vision: CLIP's large eye at 336 pixels, four patches folded into one, a Phi-3 decoder."""
    arch = read_family(config.over(model_type="phi3", architectures=None), name)
    number = arch.trunk.hidden
    folded = 4 * config.part("img_processor").size("image_dim_out", default=1024)
    projected = (
        *linear("project", (number, folded), sites=144),
        *linear("project", (number, number), sites=144),
        *vector(folded) * 2,  # separators of rows and of the whole image
    )
    eye = vit_tower(
        full(Config(_LARGE, config.where), "clip_vision_model"), "clip_vision_model", after=projected
    )
    return join(config.over(model_type="phi3_v"), arch, towers=(eye,))


_WIDER = 4  # the feed-forward of the merger within


def read_minicpmv4_6(config: Config, name: str) -> Arch:
    """MiniCPM-V 4.6 and 4.7: a SigLIP eye that merges patches half-way through, and again behind it."""
    kind = "minicpmv4_7" if config.raw.get("model_type") == "minicpmv4_7" else "minicpmv4_6"
    config = full(config, kind)
    arch = language(config, name, kind="qwen3_5_text")
    eye = part(config, "vision_config", kind=f"{kind}_vision")
    hidden, tok = eye.size("hidden_size"), patches(eye)
    tower = vit_tower(eye, "siglip_vision_model", tail=False)
    # attention inside windows of four patches, which then become one
    four = 4 * hidden
    merged = (
        *linear("attn.qkv", (3 * hidden, hidden), sites=tok),
        *linear("attn.o", (hidden, hidden), sites=tok),
        *norm(hidden, bias=True),
        *norm(four, bias=True),
        *linear("ffn.up", (_WIDER * four, four), sites=tok // 4),
        *linear("ffn.down", (hidden, _WIDER * four), sites=tok // 4),
        *_behind(config, hidden, number=arch.trunk.hidden, tok=tok // 4),
    )
    return join(config, arch, towers=(replace(tower, outer=(*tower.outer, *merged)),))


def _behind(config: Config, hidden: int, *, number: int, tok: int) -> tuple[Weight, ...]:
    """Four to one once or more, the last time into the language model."""
    area = 1
    for side in config.sizes("merge_kernel_size", default=[2, 2]):
        area *= side
    weights: tuple[Weight, ...] = ()
    times = max(config.layers("merger_times", default=1), 1)
    for index in range(times):
        tok //= area
        wide = hidden * area
        weights += norm(wide, bias=True)
        weights += linear("project", (wide, wide), sites=max(tok, 1))
        weights += linear("project", (number if index + 1 == times else hidden, wide), sites=max(tok, 1))
    return weights


def read_idefics2(config: Config, name: str) -> Arch:
    """Idefics 2: a SigLIP eye, a gated projection, a resampler to few tokens, a Mistral decoder."""
    arch = language(config, name, kind="mistral")
    text = part(config, "text_config", kind="mistral")
    eye = part(config, "vision_config", kind="idefics2_vision")
    hidden, tok = eye.size("hidden_size"), patches(eye)
    number, wide = arch.trunk.hidden, text.size("intermediate_size")
    gated = (
        *linear("project", (wide, hidden), bias=False, sites=tok) * 2,
        *linear("project", (number, wide), bias=False, sites=tok),
    )
    resampler = _resampler(part(config, "perceiver_config", kind="idefics2_perceiver"), tok)
    return join(config, arch, towers=(vit_tower(eye, "idefics2_vision", after=gated), resampler))


def _resampler(config: Config, tok: int) -> Tower:
    """Learned tokens that look at the image and at themselves."""
    hidden, few = config.size("hidden_size"), config.size("resampler_n_latents")
    stack = Stack(
        hidden=hidden,
        heads=config.size("resampler_n_heads"),
        kv_heads=config.size("num_key_value_heads"),
        head_dim=config.size("resampler_head_dim"),
        width=4 * hidden,
        gated=True,
        biases="",
        norms=3,
        norm_bias=False,
        kind=Mix.BOTH,
        tok=few,
    )
    own = layer(stack)
    looks = ("attn.k", "attn.v")
    placed = tuple(
        replace(weight, sites=few + tok) if weight.role.startswith(looks) else weight
        for weight in own.weights
    )
    return Tower(
        name="vision",
        hidden=hidden,
        layers=(replace(own, weights=placed),) * config.layers("resampler_depth"),
        outer=(*vector(few, hidden), *norm(hidden)),
        sample_tok=few,
    )


def read_blip_2(config: Config, name: str) -> Arch:
    """BLIP-2: an eye, a querying transformer between, a language model."""
    kind = "instructblip" if config.raw.get("model_type") == "instructblip" else "blip-2"
    stem = "instructblip" if kind == "instructblip" else "blip_2"
    config = full(config, kind)
    arch = language(config, name, kind="opt")
    eye = part(config, "vision_config", kind=f"{stem}_vision_model")
    bridge = part(config, "qformer_config", kind=f"{stem}_qformer")
    between = _bridge(
        config, bridge, tok=patches(eye) + 1, number=arch.trunk.hidden, instructed=kind == "instructblip"
    )
    return join(config, arch, towers=(vit_tower(eye, f"{stem}_vision_model"), between))


def _bridge(config: Config, bridge: Config, *, tok: int, number: int, instructed: bool) -> Tower:
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
        replace(item, weights=(*item.weights, *spoken))
        for item in (
            own if index % period else looking for index in range(bridge.layers("num_hidden_layers"))
        )
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
            *linear("project", (number, hidden), sites=queries),
        ),
        sample_tok=queries,
    )


# kind -> how its eye is built, the kind of the eye's config and of the language part's
_KINDS: dict[str, tuple[Callable[[Config], Tower], str, str]] = {
    "qwen2_vl": (merging.qwen2, "qwen2_vl_vision", "qwen2_vl_text"),
    "qwen2_5_vl": (merging.qwen25, "qwen2_5_vl_vision", "qwen2_5_vl_text"),
    "qwen3_vl": (merging.qwen3, "qwen3_vl_vision", "qwen3_vl_text"),
    "qwen3_vl_moe": (merging.qwen3, "qwen3_vl_moe_vision", "qwen3_vl_moe_text"),
    "qwen3_5": (merging.qwen3, "qwen3_5_vision", "qwen3_5_text"),
    "qwen3_5_moe": (merging.qwen3, "qwen3_5_moe_vision", "qwen3_5_moe_text"),
    "qwen4_exp": (merging.qwen3, "qwen4_exp_vision", "qwen4_exp_text"),
    "glm4v": (merging.glm, "glm4v_vision", "glm4v_text"),
    "glm46v": (merging.glm, "glm4v_vision", "glm4v_text"),
    "glm4v_moe": (merging.glm, "glm4v_moe_vision", "glm4v_moe_text"),
    "glm_ocr": (partial(merging.glm, ocr=True), "glm_ocr_vision", "glm_ocr_text"),
    "glmga": (merging.glm, "glm4v_vision", "glm4v_text"),
    "glm5_next": (partial(merging.glm, ocr=True), "glm5_next_vision", "glm5_next_text"),
    "cosmos3_omni": (merging.qwen3, "qwen3_vl_vision", "qwen3_vl_text"),
    "exaone4_5": (merging.qwen25, "exaone4_5_vision", "exaone4"),
}


def read_qwen2_vl(config: Config, name: str) -> Arch:
    """Vision-language models whose eye merges patches: Qwen2-VL to Qwen3.5, GLM-4V and their kin."""
    kind = config.word("model_type", default="qwen2_vl")
    eye, eye_kind, text_kind = _KINDS[kind if kind in _KINDS else "qwen2_vl"]
    config = full(config, kind)
    fields: dict[str, Any] = {"attention_bias": False, "head_dim": None} if kind == "glm_ocr" else {}
    arch = language(config, name, kind=text_kind, **fields)
    seen = part(config, "vision_config", kind=eye_kind).over(sample_size=config.raw.get("image_size"))
    return join(config, arch, towers=(eye(seen),))


def read_hyperclovax_vision_v2(config: Config, name: str) -> Arch:
    """HyperCLOVA X SEED Vision 2: Qwen2.5-VL's eye, one projection, a HyperCLOVA X decoder."""
    arch = language(config, name, kind="hyperclovax")
    eye = part(config, "vision_config", kind="qwen2_5_vl_vision").over(
        sample_size=config.raw.get("image_size")
    )
    tower = merging.qwen25(eye)
    sites = (tower.sample_tok or 1) // eye.size("spatial_merge_size") ** 2
    handed = linear("project", (arch.trunk.hidden, eye.size("out_hidden_size")), sites=sites)
    return join(config, arch, towers=(replace(tower, outer=(*tower.outer, *handed)),))


_WIDTHS = (1536, 512)  # of an expert for words and of one for images, where not said


def read_ernie4_5_vl_moe(config: Config, name: str) -> Arch:
    """ERNIE 4.5 VL: an eye, a resampler over space and time, experts for words and for images."""
    config = full(config.over(model_type="ernie4_5_vl_moe"), "ernie4_5_vl_moe")
    text = part(config, "text_config", kind="ernie4_5_vl_moe_text")
    value = text.raw.get("moe_intermediate_size")
    widths = value if isinstance(value, list | tuple) and len(value) == 2 else _WIDTHS
    # the first layer with experts
    kinds = text.items("mlp_layer_types", default=["dense", "sparse"])
    fields: dict[str, Any] = {
        "moe_intermediate_size": widths[0],
        "moe_layer_start_index": next(
            (index for index, kind in enumerate(kinds) if kind != "dense"), len(kinds)
        ),
    }
    arch = language(config, name, kind="ernie4_5_vl_moe_text", **fields, model_type="ernie4_5_moe")
    trunk = arch.trunk
    layers = tuple(_with_image_experts(layer, trunk.hidden, width=int(widths[1])) for layer in trunk.layers)
    eye = part(config, "vision_config", kind="ernie4_5_vl_moe_vision")
    hidden, tok = eye.size("hidden_size"), grid_patches(eye)
    merge, frames = eye.size("spatial_merge_size"), eye.size("temporal_merge_size")
    wide, sites = hidden * merge**2, tok // merge**2
    stack = Stack(hidden=hidden, heads=eye.size("num_heads"), width=eye.size("intermediate_size"), tok=tok)
    pixels = eye.size("in_channels") * eye.size("patch_size") ** 2
    seen = join(
        config,
        arch,
        towers=(
            eye_tower(
                stack,
                eye.layers("depth"),
                outer=(
                    *conv("patch", (hidden, pixels), bias=False, sites=tok),
                    *norm(hidden, bias=True),
                    *linear("project", (wide, wide), sites=sites) * 2,
                    *linear("project", (wide, wide * frames), sites=sites),
                    *linear("project", (wide, wide), sites=sites),
                    *norm(wide, bias=True) * 2,
                    *linear("project", (trunk.hidden, wide), sites=sites),
                    *norm(trunk.hidden),
                ),
            ),
        ),
    )
    towers = tuple(replace(tower, layers=layers) if tower is trunk else tower for tower in seen.towers)
    return replace(seen, towers=towers)


def _with_image_experts(layer: Layer, hidden: int, *, width: int) -> Layer:
    """As many experts again, narrower, that only tokens of images go to."""
    if layer.ffn is None or not layer.ffn.experts:
        return layer
    many = layer.ffn.experts
    shapes = (
        ("expert.gate", (width, hidden)),
        ("expert.up", (width, hidden)),
        ("expert.down", (hidden, width)),
    )
    experts = tuple(
        Weight(role=role, shape=shape, cut=Cut.EXPERT, copies=many, used=0) for role, shape in shapes
    )
    router = (Weight(role="router", shape=(many, hidden)), Weight(role="router.bias", shape=(many,)))
    return replace(layer, weights=(*layer.weights, *router, *experts))


_CROSSING = (3, 8, 13, 18, 23, 28, 33, 38)


_SPARE_WORDS = 8  # rows of the token table beyond the vocabulary, for the image token


def read_mllama(config: Config, name: str) -> Arch:
    """Llama 3.2 Vision: an eye of two transformers, and a decoder with layers that look at the image."""
    alone = config.raw.get("model_type") == "mllama_text_model"
    config = full(config, "mllama_text_model" if alone else "mllama")
    text = config if alone else part(config, "text_config", kind="mllama_text_model")
    hidden, heads, vocab = text.size("hidden_size"), text.size("num_attention_heads"), text.size("vocab_size")
    mixer = gqa(heads, text.size("num_key_value_heads", default=heads), head_dim=hidden // heads)
    own = attend(hidden, mixer)
    looks = attend(hidden, replace(mixer, kind=Mix.CROSS), qk_norm=hidden // heads, part="cross")
    ffn = dense(hidden, text.size("intermediate_size"))
    shared = (*norm(hidden) * 2, *ffn.weights)
    plain = Layer(weights=(*own.weights, *shared), mixer=mixer, ffn=ffn.ffn)
    crossing = Layer(weights=(*looks.weights, *shared, *vector(1) * 2), cross=looks.mixer, ffn=ffn.ffn)
    value = text.raw.get("cross_attention_layers")
    at = set(_CROSSING if value is None else text.sizes("cross_attention_layers"))
    count = text.layers("num_hidden_layers")
    decoder = Tower(
        name="text",
        hidden=hidden,
        layers=tuple(crossing if index in at else plain for index in range(count)),
        outer=(
            *embedding(vocab + _SPARE_WORDS, hidden),
            *norm(hidden),
            *head(vocab, hidden, tied=_tied(text)),
        ),
    )
    towers = (decoder,) if alone else (decoder, _eye(part(config, "vision_config"), decoder.hidden))
    return Arch(
        name=name,
        family="mllama",
        task="image-text",
        towers=towers,
        vocab=text.size("vocab_size"),
        tied=_tied(text),
        max_context_tok=text.maybe("max_position_embeddings"),
    )


def _tied(text: Config) -> bool:
    return text.flag("tie_word_embeddings", default=False)


def _eye(eye: Config, number: int) -> Tower:
    """Tiles of an image, each with its positions, seen alone and then together."""
    hidden, tiles = eye.size("hidden_size"), eye.layers("max_num_tiles")
    seen = patches(eye)
    tok = tiles * (seen + 1)
    stack = Stack(
        hidden=hidden,
        heads=eye.size("attention_heads", "num_attention_heads"),
        width=eye.size("intermediate_size"),
        biases="ud",
        tok=tok,
    )
    local = layer(replace(stack, window_tok=seen + 1))
    whole = layer(replace(stack, extra=vector(1) * 2))
    shapes = len(eye.items("supported_aspect_ratios", default=[])) or _ratios(tiles)
    # A class token; positions in a tile, of tiles before and after, and of both, each with a gate
    per_shape = shapes + 1
    return Tower(
        name="vision",
        hidden=hidden,
        layers=(
            *(local,) * eye.layers("num_hidden_layers"),
            *(whole,) * eye.layers("num_global_layers"),
        ),
        outer=(
            *conv("patch", (hidden, 3, *(eye.size("patch_size"),) * 2), bias=False, sites=tiles * seen),
            *vector(hidden),
            *table(seen + 1, hidden),
            *table(per_shape, tiles * (seen + 1) * hidden),
            *table(per_shape, tiles * hidden) * 2,
            *vector(1) * 3,
            *norm(hidden, bias=True) * 2,
            *linear("project", (number, eye.size("vision_output_dim")), sites=tok),
        ),
        sample_tok=tok,
    )


def _ratios(tiles: int) -> int:
    """Aspect ratios of up to so many tiles: widths times heights."""
    return sum(tiles // wide for wide in range(1, tiles + 1))


_FRAMES = 3000  # of 30 seconds


def read_phi4_multimodal(config: Config, name: str) -> Arch:
    """Phi-4 Multimodal: a SigLIP eye, a conformer ear with two projections, a Phi-3 decoder."""
    config = full(config, "phi4_multimodal").over(model_type="phi4_multimodal")
    flat = {key: value for key, value in config.raw.items() if not key.endswith("_config")}
    arch = read_family(Config(flat, config.where).over(model_type="phi3", architectures=None), name)
    number = arch.trunk.hidden
    eye = part(config, "vision_config", kind="phi4_multimodal_vision")
    seen = patches(eye)
    hidden = eye.size("hidden_size")
    projected = (*vector(hidden) * 2, *_pair(number, hidden, tok=seen))
    vision = vit_tower(eye, "siglip_vision_model", after=projected)
    return join(
        config,
        arch,
        towers=(vision, _ear(part(config, "audio_config", kind="phi4_multimodal_audio"), number)),
    )


def _pair(number: int, width: int, *, tok: int) -> tuple[Weight, ...]:
    return (*linear("project", (number, width), sites=tok), *linear("project", (number, number), sites=tok))


def _ear(ear: Config, number: int) -> Tower:
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
            *_pair(number, hidden, tok=tok) * 2,
        ),
        sample_tok=tok,
    )
