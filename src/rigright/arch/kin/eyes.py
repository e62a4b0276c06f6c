"""Language models with an eye of their own making."""

from __future__ import annotations

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.conv import depths
from rigright.arch.defaults import full, part
from rigright.arch.merging import cubes, grid_patches
from rigright.arch.multimodal import join, language
from rigright.arch.pick import read_family
from rigright.arch.record import Arch, Layer, Tower, Weight
from rigright.arch.stack import Stack, at, conv, eye_tower, linear, table, vector
from rigright.arch.vision import patches, sides
from rigright.base.record import replace
from rigright.base.words import say


def read_llama4_vl(config: Config, name: str) -> Arch:
    """Llama 4 with its eye: a vision transformer, patches folded four to one, two projections."""
    config = full(config.over(model_type="llama4"), "llama4")
    arch = language(config, name, kind="llama4_text")
    return join(config, arch, towers=(_llama4_vl_eye(part(config, "vision_config"), arch.trunk.hidden),))


def _llama4_vl_eye(eye: Config, number: int) -> Tower:
    hidden, seen = eye.size("hidden_size"), patches(eye)
    stack = Stack(
        hidden=hidden,
        heads=eye.size("num_attention_heads"),
        width=eye.size("intermediate_size"),
        tok=seen + 1,
    )
    folded = int(hidden / eye.number("pixel_shuffle_ratio") ** 2)
    tok = seen * hidden // folded
    wide, handed = eye.size("projector_input_dim"), eye.size("projector_output_dim")
    biased = eye.flag("multi_modal_projector_bias", default=False)
    pixels = eye.size("num_channels") * eye.size("patch_size") ** 2
    return eye_tower(
        stack,
        eye.layers("num_hidden_layers"),
        outer=(
            *conv("patch", (hidden, pixels), bias=False, sites=seen),
            *vector(hidden),
            *table(seen + 1, hidden),
            *norm(hidden, bias=True) * 2,
            *linear("project", (wide, eye.size("intermediate_size")), bias=biased, sites=tok),
            *linear("project", (handed, handed), bias=biased, sites=tok),
            *linear("project", (number, eye.size("vision_output_dim")), bias=False, sites=tok),
        ),
    )


_GUESSED = frozenset({"kimi_k3"})


def read_kimi_k25(config: Config, name: str) -> Arch:
    """Kimi K2.5 and its successors: an eye of any image size, four patches merged, a large decoder."""
    text = config.word("model_type", default="kimi_k25")
    own = config.part("text_config").flag("tie_word_embeddings", default=False)
    told_ties = text == "kimi_k25" or "tie_word_embeddings" in config
    config = full(config if told_ties else config.over(tie_word_embeddings=own), "kimi_k25")
    arch = language(config, name, kind="deepseek_v3")
    eye = part(config, "vision_config", kind="kimi_k25_vision")
    whole = join(config.over(model_type=text), arch, towers=(_kimi_k25_eye(eye, arch.trunk.hidden),))
    if text not in _GUESSED:
        return whole
    doubt = say(
        "the vision tower of {kind} is not fully published: treating it as that of Kimi K2.5", kind=text
    )
    return replace(whole, warnings=(*whole.warnings, doubt))


def _kimi_k25_eye(eye: Config, number: int) -> Tower:
    hidden = eye.size("vt_hidden_size", "hidden_size")
    area = 1
    for side in eye.sizes("merge_kernel_size", default=[2, 2]):
        area *= side
    tok = grid_patches(eye)
    heads = eye.size("vt_num_attention_heads", "num_attention_heads")
    shifts = eye.word("norm_type", default="layernorm") != "rmsnorm"
    biases = "qkvo" * eye.flag("attn_bias", default=True) + "ud" * eye.flag("linear_bias", default=True)
    stack = Stack(
        hidden=hidden,
        heads=heads,
        head_dim=eye.size("qkv_hidden_size", default=hidden) // heads,
        width=eye.size("vt_intermediate_size", "intermediate_size"),
        biases=biases,
        norm_bias=shifts,
        tok=tok,
    )
    patch, wide = eye.size("patch_size"), hidden * area
    rows = eye.size("init_pos_emb_height", "pos_emb_height") * eye.size("init_pos_emb_width", "pos_emb_width")
    return eye_tower(
        stack,
        eye.layers("vt_num_hidden_layers", "num_hidden_layers"),
        outer=(
            *conv(
                "patch",
                (hidden, 3, patch, patch),
                bias=eye.flag("patch_embed_proj_bias", default=True),
                sites=tok,
            ),
            *table(rows, hidden),
            *norm(hidden, bias=shifts) * 2,
            *linear("project", (wide, wide), sites=tok // area),
            *linear("project", (number, wide), sites=tok // area),
        ),
    )


_DEPTHS = 2  # layers of the eye that are looked at together


_ROWS = 729  # places of a picture of 378 pixels


def read_molmo2(config: Config, name: str) -> Arch:
    """Molmo 2: an eye read at two depths, attention that pools its patches, a gated projection."""
    text = part(config, "text_config")
    arch = language(config, name, kind="molmo2_text", model_type="qwen3")
    eye, adapter = part(config, "vision_config"), part(config, "adapter_config")
    # the token table with rows for marks in images; the head has none
    marks = text.whole("additional_vocab_size", default=0)
    outer = tuple(
        replace(weight, shape=(weight.shape[0] + marks, weight.shape[1]))
        if weight.role == "embed"
        else weight
        for weight in arch.trunk.outer
    )
    words = replace(arch, towers=(replace(arch.trunk, outer=outer),))
    hidden, side = eye.size("hidden_size"), eye.size("patch_size")
    high, wide = sides(eye.raw.get("image_size"), 378)
    tok = (high // side) * (wide // side)
    biased = eye.flag("attention_bias", default=True)
    stack = Stack(
        hidden=hidden,
        heads=eye.size("num_attention_heads"),
        kv_heads=eye.maybe("num_key_value_heads"),
        head_dim=eye.maybe("head_dim"),
        width=eye.size("intermediate_size"),
        biases="qkvoud" if biased else "ud",
        tok=tok,
    )
    pixels = eye.size("num_channels") * side**2
    return join(
        config,
        words,
        towers=(
            eye_tower(
                stack,
                eye.layers("num_hidden_layers"),
                outer=(
                    *conv("patch", (hidden, pixels), sites=tok),
                    *table(eye.maybe("num_position_embeddings") or _ROWS, hidden),
                    *_pooling(adapter, hidden, tok=tok),
                ),
            ),
        ),
    )


def _pooling(adapter: Config, seen: int, *, tok: int) -> tuple[Weight, ...]:
    """Groups of four patches looked at by their mean, then a gate into the language model."""
    head = adapter.size("head_dim")
    queries, keys = adapter.size("num_attention_heads") * head, adapter.size("num_key_value_heads") * head
    biased = adapter.flag("attention_bias", default=True)
    wide, number = adapter.size("intermediate_size"), adapter.size("text_hidden_size")
    gated = adapter.flag("mlp_bias", default=False)
    inputs = _DEPTHS * seen
    return (
        *linear("project", (queries, inputs), bias=biased, sites=tok // 4),
        *linear("project", (keys, inputs), bias=biased, sites=tok) * 2,
        *linear("project", (adapter.size("hidden_size"), queries), bias=biased, sites=tok // 4),
        *linear("project", (wide, adapter.size("hidden_size")), bias=gated, sites=tok // 4) * 2,
        *linear("project", (number, wide), bias=gated, sites=tok // 4),
    )


def read_minimax_m3_vl(config: Config, name: str) -> Arch:
    """MiniMax M3 with its eye: a CLIP-like transformer over frames, four patches merged after projection."""
    config = full(config.over(model_type="minimax_m3_vl"), "minimax_m3_vl")
    arch = language(config, name, kind="minimax_m3_vl_text")
    eye = full(config.part("vision_config"), "minimax_m3_vl_vision")
    wide = config.size("projector_hidden_size")
    hidden, tok = eye.size("hidden_size"), patches(eye)
    area = eye.size("spatial_merge_size") ** 2
    stack = Stack(
        hidden=hidden,
        heads=eye.size("num_attention_heads"),
        width=eye.size("intermediate_size"),
        tok=tok,
    )
    return join(
        config,
        arch,
        towers=(
            eye_tower(
                stack,
                eye.layers("num_hidden_layers"),
                outer=(
                    *cubes(eye, hidden, bias=False, sites=tok),
                    *norm(hidden, bias=True),
                    *linear("project", (wide, hidden), sites=tok),
                    *linear("project", (arch.trunk.hidden, wide), sites=tok),
                    *linear("project", (wide, arch.trunk.hidden * area), sites=tok // area),
                    *linear("project", (arch.trunk.hidden, wide), sites=tok // area),
                ),
            ),
        ),
    )


def read_inkling2(config: Config, name: str) -> Arch:
    """Inkling 2: an eye of flat patches with layer scale, four patches merged without biases."""
    arch = language(config, name, kind="inkling2_text")
    return join(config, arch, towers=(_inkling2_eye(part(config, "vision_config"), arch.trunk.hidden),))


def _inkling2_eye(eye: Config, number: int) -> Tower:
    hidden, tok = eye.size("hidden_size"), grid_patches(eye)
    area, wide = eye.size("spatial_merge_size") ** 2, eye.size("projection_hidden_dim")
    biased = eye.flag("projector_bias", default=False)
    stack = Stack(
        hidden=hidden,
        heads=eye.size("num_attention_heads"),
        width=eye.maybe("intermediate_size") or int(hidden * eye.number("mlp_ratio")),
        scales=2,
        tok=tok + 1,
    )
    pixels = eye.size("num_channels") * eye.size("patch_size") ** 2
    return eye_tower(
        stack,
        eye.layers("num_hidden_layers"),
        outer=(
            *conv("patch", (hidden, pixels), bias=False, sites=tok),
            *vector(2, hidden),  # the class token and its place
            *table(eye.size("posemb_grid_size") ** 2, hidden),
            *norm(hidden, bias=True),
            *linear("project", (wide, hidden * area), bias=biased, sites=tok // area),
            *linear("project", (number, wide), bias=biased, sites=tok // area),
        ),
    )


_SAMPLES = 480_000  # of 30 seconds at 16 kHz


def read_muse_spark(config: Config, name: str) -> Arch:
    """Muse Spark: an eye over pairs of frames, an ear of four stages of convolutions, a sparse decoder."""
    arch = language(config, name, kind="muse_spark_text")
    number, wide = arch.trunk.hidden, config.size("projector_hidden_size")
    eye, ear = part(config, "vision_config"), part(config, "audio_config")
    bridge = (
        *linear("project", (wide, config.size("out_hidden_size")), bias=False),
        *linear("project", (wide, wide), bias=False),
        *linear("project", (number, wide), bias=False),
    )
    return join(config, arch, towers=(_muse_spark_eye(eye, bridge), _ear(ear)))


def _muse_spark_eye(eye: Config, bridge: tuple[Weight, ...]) -> Tower:
    hidden, tok = eye.size("hidden_size"), grid_patches(eye)
    stack = Stack(
        hidden=hidden,
        heads=eye.size("num_attention_heads"),
        width=eye.size("intermediate_size"),
        tok=tok,
    )
    pixels = 3 * eye.size("patch_temporal") * eye.size("patch_size") ** 2
    return eye_tower(
        stack,
        eye.layers("num_hidden_layers"),
        outer=(
            *conv("patch", (hidden, pixels), bias=False, sites=tok),
            *table(eye.size("max_position_embeddings"), hidden),
            *norm(hidden, bias=True) * 2,
            *at(bridge, max(tok // eye.size("merge_size") ** 2, 1)),
        ),
    )


def _ear(ear: Config) -> Tower:
    """Each stage folds some frames into one and mixes near ones, a channel at a time."""
    frames, inputs = _SAMPLES, 1
    layers: list[Layer] = []
    steps = ear.aligned(
        patch_sizes=ear.sizes("patch_sizes"),
        hidden_sizes=ear.sizes("hidden_sizes"),
        depths=depths(ear, "depths"),
    )
    for folded, width, depth in steps:
        frames = max(frames // folded, 1)
        entry = (*linear("patch", (width, inputs * folded), sites=frames), *norm(width))
        wide = int(width * ear.number("mlp_ratio"))
        weights = (
            *conv("mixer.conv", (width, 1, ear.size("conv_kernel_size")), sites=frames),
            *norm(width),
            *linear("ffn.up", (wide, width), sites=frames),
            *linear("ffn.down", (width, wide), sites=frames),
        )
        layers += [Layer(weights=entry), *(Layer(weights=weights),) * depth]
        inputs = width
    handed = ear.size("out_hidden_size")
    outer = (*norm(inputs), *linear("project", (handed, inputs), sites=frames), *norm(handed))
    return Tower(name="audio", hidden=inputs, layers=tuple(layers), outer=outer, sample_tok=frames)


def read_step3p7(config: Config, name: str) -> Arch:
    """Step 3.7: an eye with two strided convolutions behind it, a mixture-of-experts decoder."""
    text = part(config, "text_config", kind="step3p5")
    arch = read_family(text.over(model_type="step3p5", architectures=None), name)
    eye = part(config, "vision_config", kind="step3p5_vision")
    hidden, tok = eye.size("hidden_size"), patches(eye)
    stack = Stack(
        hidden=hidden,
        heads=eye.size("num_attention_heads"),
        width=int(hidden * eye.number("mlp_ratio")),
        scales=2,
        tok=tok,
    )
    whole = join(
        config.over(model_type="step3p7"),
        arch,
        towers=(
            eye_tower(
                stack,
                eye.layers("num_hidden_layers"),
                outer=(
                    *conv("patch", (hidden, 3, *(eye.size("patch_size"),) * 2), bias=False, sites=tok),
                    *table(eye.size("max_position_embeddings"), hidden),
                    *norm(hidden, bias=True),
                    *conv("project", (2 * hidden, hidden, 3, 3), sites=tok // 4),
                    *conv("project", (4 * hidden, 2 * hidden, 3, 3), sites=tok // 16),
                    *linear(
                        "project",
                        (arch.trunk.hidden, 4 * hidden),
                        bias=config.flag("projector_bias", default=False),
                        sites=tok // 16,
                    ),
                ),
            ),
        ),
    )
    return _bare(whole) if "Step3p7FlashForCausalLM" in config.items("architectures", default=[]) else whole


def _bare(arch: Arch) -> Arch:
    """The model without its output matrix: no class of that name is known, and its bare model has none."""
    trunk = arch.trunk
    head = sum(weight.shape[0] * weight.shape[1] for weight in trunk.outer if weight.role == "head")
    outer = tuple(weight for weight in trunk.outer if weight.role != "head")
    towers = tuple(replace(tower, outer=outer) if tower is trunk else tower for tower in arch.towers)
    doubt = say("counted without an output head, which would add {params} parameters", params=head)
    return replace(arch, towers=towers, warnings=(*arch.warnings, doubt))
