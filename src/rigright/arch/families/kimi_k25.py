"""Kimi K2.5 and its successors: an eye of any image size, four patches merged, a large decoder."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.defaults import full, part
from rigright.arch.merging import grid_patches
from rigright.arch.multimodal import join, language
from rigright.arch.record import Arch, Tower
from rigright.arch.stack import Stack, conv, layer, linear, table
from rigright.base.words import say

MATCHES = (
    "kimi_k25",
    "KimiK25ForConditionalGeneration",
    "Kimi_K25ForConditionalGeneration",
    "kimi_k3",
    "kimi_vl",
)
_GUESSED = frozenset({"kimi_k3"})


def read(config: Config, name: str) -> Arch:
    """Read a Kimi K2.5 config, or one built on it."""
    told = config.word("model_type", default="kimi_k25")
    own = config.part("text_config").flag("tie_word_embeddings", default=False)
    told_ties = told == "kimi_k25" or "tie_word_embeddings" in config
    config = full(config if told_ties else config.over(tie_word_embeddings=own), "kimi_k25")
    arch = language(config, name, kind="deepseek_v3")
    eye = part(config, "vision_config", kind="kimi_k25_vision")
    whole = join(config.over(model_type=told), arch, towers=(_eye(eye, arch.trunk.hidden),))
    if told not in _GUESSED:
        return whole
    doubt = say(
        "the vision tower of {kind} is not fully published: treating it as that of Kimi K2.5", kind=told
    )
    return replace(whole, warnings=(*whole.warnings, doubt))


def _eye(eye: Config, said: int) -> Tower:
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
    return Tower(
        name="vision",
        hidden=hidden,
        layers=(layer(stack),) * eye.layers("vt_num_hidden_layers", "num_hidden_layers"),
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
            *linear("project", (said, wide), sites=tok // area),
        ),
        sample_tok=tok,
    )
