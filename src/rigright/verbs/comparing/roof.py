"""Rooflines"""

from __future__ import annotations

import math

from rigright.arch import count
from rigright.arch.record import Arch
from rigright.cost.layers import lanes
from rigright.demand import Serving
from rigright.facts.chips import Chip
from rigright.predict.timed import Speed
from rigright.search.record import Plan
from rigright.verbs.comparing.compared import RankPass, Roof


def roof_of(arch: Arch, plan: Plan, *, speed: Speed) -> Roof:
    """The roof of one card, and both passes of one of its ranks."""
    weights = plan.work.weights if isinstance(plan.work, Serving) else "bf16"
    # passes that make everybody's next token: a rank of a pipeline works on one part after another
    layout, memory = plan.layout, plan.ranks[0]
    seqs = speed.running / layout.dp / layout.pp
    context = speed.prompt_tok + speed.output_tok / 2
    ranks = layout.tp * layout.pp
    value = max(plan.work.context_tok, 1) if isinstance(plan.work, Serving) else 1
    caches = float(memory.cache_bytes + memory.states_bytes) / layout.pp * min(context / value, 1.0)
    read = float(memory.weights_bytes) * _touched(arch, seqs) + caches
    return Roof(
        peak_flops_per_s=_stated_flops_per_s(plan.chip, weights),
        bytes_per_s=plan.chip.mem_bytes_per_s,
        token=RankPass(
            flops=layout.pp * seqs * _flops_per_tok(arch, context) / ranks,
            size_bytes=layout.pp * read,
            time_s=speed.token_pass.total_s,
        ),
        prompt=_prompt(arch, plan, speed=speed),
    )


def _stated_flops_per_s(chip: Chip, weights: str) -> float:
    """The dense rate a vendor states for weights of a format; 16 bit for what the chip cannot multiply."""
    plain = chip.training_flops_per_s or chip.fp16_flops_per_s or chip.fp32_flops_per_s or 0.0
    if weights.startswith("fp8"):
        return chip.fp8_flops_per_s or plain
    if weights in {"nvfp4", "mxfp4"}:
        return chip.fp4_flops_per_s or plain
    return chip.int8_ops_per_s or plain if weights == "int8" else plain


def _prompt(arch: Arch, plan: Plan, *, speed: Speed) -> RankPass:
    """The passes of one prompt: each reads the weights once, and writes what it caches."""
    ranks = plan.layout.tp * plan.layout.pp
    flops = speed.prompt_tok * _flops_per_tok(arch, speed.prompt_tok / 2)
    return RankPass(
        flops=flops / ranks,
        size_bytes=float(plan.ranks[0].weights_bytes) * _touched(arch, speed.prompt_tok),
        time_s=speed.prompt_pass.total_s,
    )


def _flops_per_tok(arch: Arch, context_tok: float) -> float:
    pairs = sum(
        times * count.flops_per_pair(mixer) * min(context_tok, mixer.window_tok or context_tok)
        for mixer, times in lanes(arch).items()
    )
    return count.flops_per_tok(arch.trunk, head_tied=arch.tied) + pairs


def _touched(arch: Arch, tok: float) -> float:
    """Share of the weights that so many tokens go through, all experts as likely."""
    whole, active = count.params(arch), count.active_params(arch)
    ffn = next(
        (layer.ffn for layer in arch.trunk.layers if layer.ffn is not None and layer.ffn.experts), None
    )
    if ffn is None or active >= whole:
        return 1.0
    missed = math.pow(1 - ffn.per_tok / ffn.experts, max(tok, 1.0))
    routed = (whole - active) / (1 - ffn.per_tok / ffn.experts)
    return 1 - routed * missed / whole
