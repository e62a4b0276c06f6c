"""Step 3.7: an eye with two strided convolutions behind it, a mixture-of-experts decoder."""

from __future__ import annotations

from dataclasses import replace

from rigright.arch.blocks import norm
from rigright.arch.config import Config
from rigright.arch.defaults import full, part
from rigright.arch.multimodal import join
from rigright.arch.pick import read_family
from rigright.arch.record import Arch, Tower
from rigright.arch.stack import Stack, conv, layer, linear, table
from rigright.arch.vision import patches
from rigright.base.words import say

MATCHES = ("step3p7", "Step3p7ForConditionalGeneration", "Step3p7FlashForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a Step 3.7 config; a flat one tells nothing the class reads, and stands for its defaults."""
    config = full(config, "step3p7")
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
            Tower(
                name="vision",
                hidden=hidden,
                layers=(layer(stack),) * eye.layers("num_hidden_layers"),
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
                sample_tok=tok,
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
