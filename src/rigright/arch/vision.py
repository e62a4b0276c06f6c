"""Vision transformers: an image cut into patches, layers over them, and what a kind adds.

`vit_tower` builds the tower of any kind in `KINDS`, for an image classifier, one side of a CLIP,
or the eye of a language model.
"""

from __future__ import annotations

from collections.abc import Callable

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.record import Tower, Weight
from rigright.arch.stack import Stack, conv, layer, linear, table, vector
from rigright.base.errors import DataError
from rigright.base.record import dataclass, replace
from rigright.base.words import say

MAX_SIDE = 100_000  # pixels or latent places; no image is larger


@dataclass(frozen=True, slots=True, kw_only=True)
class Eye:
    """One vision transformer, but for the number of patches."""

    stack: Stack
    layers: int
    prefix: int = 0  # tokens before the patches: class, distillation, registers
    position_rows: int | None = None  # None: as many as patches and class tokens; 0: no table
    patch_bias: bool = True
    flat_patch: bool = False  # a linear layer over the patch's pixels, not a convolution
    norms: int = 1  # over the whole: before the layers, after them
    norm_bias: bool = True
    extra: tuple[Weight, ...] = ()


def sides(value: object, default: int) -> tuple[int, int]:
    """Height and width of an image or patch, written as one number, a list, or a mapping."""
    if isinstance(value, dict):
        value = [value.get("height", default), value.get("width", default)]
    if isinstance(value, int | float):
        value = [value]
    pair = (value[0], value[-1]) if isinstance(value, list | tuple) and value else (default, default)
    if not all(isinstance(side, int | float) and 1 <= side <= MAX_SIDE for side in pair):
        raise DataError(say("invalid image or patch size {sides}", sides=repr(pair)[:60]))
    return int(pair[0]), int(pair[1])


def patches(config: Config) -> int:
    """Patches of one image."""
    image, patch = sides(config.raw.get("image_size"), 224), sides(config.raw.get("patch_size"), 16)
    return (image[0] // patch[0]) * (image[1] // patch[1])


def vit_tower(
    config: Config, kind: str, *, name: str = "vision", after: tuple[Weight, ...] = (), tail: bool = True
) -> Tower:
    """The tower of one kind; `after` follows its layers, `tail` keeps the kind's own pooling."""
    if kind not in KINDS:
        raise DataError(say('{where}: unknown vision tower "{kind}"', where=config.where, kind=kind[:60]))
    eye = KINDS[kind](config)
    grid = patches(config)
    tok = grid + eye.prefix
    hidden = eye.stack.hidden
    high, wide = sides(config.raw.get("patch_size"), 16)
    channels = config.size("num_channels", "in_channels", "in_chans", default=3)
    pixels = (channels * high * wide,) if eye.flat_patch else (channels, high, wide)
    rows = grid + eye.prefix if eye.position_rows is None else eye.position_rows
    return Tower(
        name=name,
        hidden=hidden,
        layers=(layer(replace(eye.stack, tok=tok)),) * eye.layers,
        outer=(
            *conv("patch", (hidden, *pixels), bias=eye.patch_bias, sites=grid),
            *(table(rows, hidden) if rows else ()),
            *norm(hidden, bias=eye.norm_bias) * eye.norms,
            *eye.extra,
            *(TAILS[kind](config) if tail and kind in TAILS else ()),
            *after,
        ),
        sample_tok=tok,
    )


def _stack(config: Config, **more: object) -> Stack:
    hidden = config.size("hidden_size", "embed_dim")
    width = config.whole("intermediate_size", default=0) or int(
        hidden * config.number("mlp_ratio", default=4)
    )
    sizes = {"hidden": hidden, "width": width, "heads": config.size("num_attention_heads", "num_heads")}
    return Stack(**{**sizes, **more})  # type: ignore[arg-type]


def _count(config: Config) -> int:
    return config.layers("num_hidden_layers", "depth")


def _biases(config: Config, key: str, *, default: bool = True) -> str:
    return "qkvogud" if config.flag(key, default=default) else "ogud"


def _token(hidden: int, count: int = 1) -> tuple[Weight, ...]:
    return vector(count, hidden)


def _vit(config: Config) -> Eye:
    stack = _stack(config, biases=_biases(config, "qkv_bias"))
    return Eye(stack=stack, layers=_count(config), prefix=1, extra=_token(stack.hidden))


def _dinov2(config: Config) -> Eye:
    hidden = config.size("hidden_size")
    gated = config.flag("use_swiglu_ffn", default=False)
    width = int(hidden * config.number("mlp_ratio", default=4))
    if gated:
        width = (int(width * 2 / 3) + 7) // 8 * 8
    masks = config.flag("use_mask_token", default=True)
    registers = config.whole("num_register_tokens", default=0)
    stack = _stack(config, width=width, gated=gated, scales=2, biases=_biases(config, "qkv_bias"))
    return Eye(
        stack=stack,
        layers=_count(config),
        prefix=1 + registers,
        position_rows=patches(config) + 1,
        extra=_token(hidden, 1 + masks + registers),
    )


def _dinov3(config: Config) -> Eye:
    letters = {"q": "query_bias", "k": "key_bias", "v": "value_bias", "o": "proj_bias"}
    biases = "".join(letter for letter, key in letters.items() if config.flag(key, default=letter != "k"))
    registers = config.whole("num_register_tokens", default=0)
    stack = _stack(
        config,
        gated=config.flag("use_gated_mlp", default=False),
        scales=2,
        biases=biases + "gud" * config.flag("mlp_bias", default=True),
    )
    return Eye(
        stack=stack,
        layers=_count(config),
        prefix=1 + registers,
        position_rows=0,
        extra=_token(stack.hidden, 2 + registers),
    )


def _beit(config: Config) -> Eye:
    scaled = config.number("layer_scale_init_value", default=0.1) > 0
    high, wide = (a // b for a, b in zip(*_sizes(config), strict=True))
    heads = config.size("num_attention_heads")
    bias = table((2 * high - 1) * (2 * wide - 1) + 3, heads)
    own = bias if config.flag("use_relative_position_bias", default=False) else ()
    shared = bias if config.flag("use_shared_relative_position_bias", default=False) else ()
    stack = _stack(config, biases="qvoud", scales=2 * scaled, extra=own)
    return Eye(
        stack=stack,
        layers=_count(config),
        prefix=1,
        position_rows=None if config.flag("use_absolute_position_embeddings", default=False) else 0,
        norms=0 if config.flag("use_mean_pooling", default=True) else 1,
        extra=(*_token(stack.hidden, 1 + config.flag("use_mask_token", default=False)), *shared),
    )


def _sizes(config: Config) -> tuple[tuple[int, int], tuple[int, int]]:
    return sides(config.raw.get("image_size"), 224), sides(config.raw.get("patch_size"), 16)


def _clip(config: Config) -> Eye:
    stack = _stack(config)
    return Eye(
        stack=stack, layers=_count(config), prefix=1, patch_bias=False, norms=2, extra=vector(stack.hidden)
    )


def _siglip(config: Config) -> Eye:
    return Eye(stack=_stack(config), layers=_count(config))


def _blip(config: Config) -> Eye:
    stack = _stack(config, biases=_biases(config, "qkv_bias"))
    return Eye(stack=stack, layers=_count(config), prefix=1, extra=vector(1, stack.hidden))


def _siglip2(config: Config) -> Eye:
    rows = config.size("num_patches", default=256)
    return replace(_siglip(config), flat_patch=True, position_rows=rows)


def _pixtral(config: Config) -> Eye:
    stack = _stack(config, gated=True, biases="", norm_bias=False)
    return Eye(stack=stack, layers=_count(config), position_rows=0, patch_bias=False, norm_bias=False)


def _aimv2(config: Config) -> Eye:
    biases = "qkvo" * config.flag("qkv_bias", default=False) + "gud" * config.flag("mlp_bias", default=False)
    stack = _stack(config, gated=True, biases=biases, norm_bias=False)
    rows = 0 if config.flag("is_native", default=False) else None
    return Eye(stack=stack, layers=_count(config), position_rows=rows, norms=2, norm_bias=False)


def _internvl(config: Config) -> Eye:
    biases = "oud" + "qkv" * config.flag("attention_bias", default=False)
    shifts = config.word("norm_type", default="layer_norm") == "layer_norm"
    hidden = config.size("hidden_size")
    qk_norm = hidden if config.flag("use_qk_norm", default=False) else 0
    stack = _stack(config, biases=biases, scales=2, norm_bias=shifts, qk_norm=qk_norm)
    absolute = config.flag("use_absolute_position_embeddings", default=True)
    masks = config.flag("use_mask_token", default=False)
    return Eye(
        stack=stack,
        layers=_count(config),
        prefix=1,
        position_rows=None if absolute else 0,
        norms=0 if config.flag("use_mean_pooling", default=True) else 1,
        extra=_token(hidden, 1 + masks),
    )


def _probe(config: Config) -> tuple[Weight, ...]:
    """SigLIP's pooling: a learned query looks at all patches, then a feed-forward."""
    hidden, width = config.size("hidden_size"), config.size("intermediate_size")
    if not config.flag("vision_use_head", default=True):
        return ()
    return (
        *_token(hidden),
        *linear("attn.qkv", (3 * hidden, hidden), sites=patches(config)),
        *linear("attn.o", (hidden, hidden)),
        *norm(hidden, bias=True),
        *linear("ffn.up", (width, hidden)),
        *linear("ffn.down", (hidden, width)),
    )


def _aimv2_pool(config: Config) -> tuple[Weight, ...]:
    hidden = config.size("hidden_size")
    if not config.flag("use_head", default=True):
        return ()
    biased = config.flag("qkv_bias", default=False)
    looks = linear("attn.k", (hidden, hidden), bias=biased, sites=patches(config)) * 2
    return (*_token(hidden), *looks, *linear("attn.o", (hidden, hidden)))


KINDS: dict[str, Callable[[Config], Eye]] = {
    "vit": _vit,
    "vit_msn": _vit,
    "vit_mae": _vit,
    "deit": lambda config: replace(_vit(config), prefix=2, extra=_token(config.size("hidden_size"), 2)),
    "ijepa": lambda config: replace(_vit(config), prefix=0, extra=()),
    "dinov2": _dinov2,
    "dinov2_with_registers": _dinov2,
    "dinov3_vit": _dinov3,
    "beit": _beit,
    "data2vec-vision": _beit,
    "clip_vision_model": _clip,
    "chinese_clip_vision_model": _clip,
    "altclip_vision_model": _clip,
    "metaclip_2_vision_model": _clip,
    "clipseg_vision_model": _clip,
    "owlvit_vision_model": _clip,
    "owlv2_vision_model": _clip,
    "mlcd_vision_model": lambda config: replace(_clip(config), position_rows=0),
    "siglip_vision_model": _siglip,
    "siglip2_vision_model": _siglip2,
    "idefics2_vision": _siglip,
    "idefics3_vision": _siglip,
    "smolvlm_vision": _siglip,
    "paddleocr_vl_vision": _siglip,
    "video_llama_3_vision": lambda config: replace(_siglip(config), position_rows=0),
    "blip_vision_model": _blip,
    "blip_2_vision_model": _blip,
    "instructblip_vision_model": _blip,
    "pixtral": _pixtral,
    "aimv2_vision_model": _aimv2,
    "ovis2_vision": _aimv2,
    "internvl_vision": _internvl,
    "qianfan_ocr_vision": _internvl,
    "cosmos3_edge_vision": _siglip2,
}


def _pooled_norm(config: Config) -> tuple[Weight, ...]:
    hidden = config.size("hidden_size")
    return norm(hidden, bias=True) if config.flag("use_mean_pooling", default=True) else ()


def _class_rotation(config: Config) -> tuple[Weight, ...]:
    return vector(1, config.size("hidden_size") // config.size("num_attention_heads") // 2)


TAILS: dict[str, Callable[[Config], tuple[Weight, ...]]] = {
    "siglip_vision_model": _probe,
    "siglip2_vision_model": _probe,
    "aimv2_vision_model": _aimv2_pool,
    "beit": _pooled_norm,
    "data2vec-vision": _pooled_norm,
    "mlcd_vision_model": _class_rotation,
}
