"""What weight files hold against what the architecture needs: each difference gets its reason."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rigright.arch import count
from rigright.arch.record import Arch
from rigright.arch.sources.opened import Files, Tensor
from rigright.base.words import Sentence, say

# the end of a tensor's name -> what it is beside parameters
_SCALE = re.compile(
    r"(?:scales?|scale_inv|scale_2|input_scale|k_scale|v_scale|qzeros|g_idx|absmax|quant_map|quant_state\.\w+"
    r"|nested_\w+|SCB|zeros|zero_point|weight_shape|input_global_scale|weight_global_scale|perm|biases"
    r"|tensor_scale|smoothing_factor|smooth_scale|_scales)\Z"
)
_BUFFER = re.compile(
    r"(?:inv_freq|position_ids|token_type_ids|masked_bias|attn\.bias|attention\.bias|num_batches_tracked"
    r"|running_mean|running_var|rope\.freqs|rotary_emb\.\w+|relative_position_index|causal_mask|embed_positions\.weights)\Z"
)
_BALANCE = re.compile(r"e_score_correction_bias\Z")  # a buffer in most families, a parameter in some
_SPARE = re.compile(r"(?:^|\.)(?:mtp|mtp_layers|nextn|next_n)(?:\.|_)")
_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks|block)\.(\d{1,5})\.")
_PACKED = re.compile(r"(?:qweight|weight_packed|weight|_blocks|\.blocks|_packed|proj)\Z")
_HEAD = re.compile(r"(?:lm_head|output|embed_out)\.weight\Z")
_WORDS = frozenset({"I32", "U32"})
_FLOATS = frozenset({"F64", "F32", "F16", "BF16"})
WORD_BITS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sorted:
    """Elements by what they are."""

    params: int
    packed: int  # of these, undone from packing
    scales: int
    buffers: int
    spare: int
    copies: int


def tally(tensors: Iterable[Tensor], arch: Arch | None, *, config: Mapping[str, Any]) -> Files:
    """Counts by dtype, parameters, and the reasons why these differ; how many files, the caller knows."""
    tensors = tuple(tensors)
    elems: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for tensor in tensors:
        elems[tensor.dtype] += tensor.elems
        sizes[tensor.dtype] += tensor.size_bytes
    result = _sort(tensors, arch, bits=_packed_bits(config))
    return Files(
        tensors_bytes=sum(sizes.values()),
        elems_by_dtype=dict(elems),
        bytes_by_dtype=dict(sizes),
        params=result.params,
        notes=tuple(_reasons(result)),
    )


def _sort(tensors: tuple[Tensor, ...], arch: Arch | None, *, bits: int) -> _Sorted:
    sums: Counter[str] = Counter()
    names = {tensor.name for tensor in tensors}
    layers = len(arch.trunk.layers) if arch is not None else None
    for tensor in tensors:
        kind = _kind(tensor, layers, names=names)
        if kind == "params" and arch is not None and arch.tied and _is_copy(tensor, names):
            kind = "copies"
        number = (
            _unpacked(tensor, bits, names=names) if kind in {"params", "spare", "copies"} else tensor.elems
        )
        sums[kind] += number
        sums["packed"] += number if number != tensor.elems else 0
    is_trained = arch is not None and sums["params"] + sums["balance"] == count.params(arch)
    sums["params" if is_trained else "buffers"] += sums["balance"]
    return _Sorted(**{key: sums[key] for key in ("params", "packed", "scales", "buffers", "spare", "copies")})


def _kind(tensor: Tensor, layers: int | None, *, names: set[str]) -> str:
    name = tensor.name
    if _BUFFER.search(name) and not _is_weighted_bias(tensor):
        return "buffers"
    if _BALANCE.search(name):
        return "balance"
    if _SCALE.search(name) and not name.endswith((".norm.scale", "layer_scale")) and _beside(name, names):
        return "scales"
    layer = _LAYER.search(name)
    if _SPARE.search(name) or (
        layer is not None and layers and int(layer[1]) >= layers and "vis" not in name
    ):
        return "spare"
    return "params"


def _is_weighted_bias(tensor: Tensor) -> bool:
    """`attn.bias` is a causal mask where it has more than one dimension, a real bias where it has one."""
    return tensor.name.endswith("attn.bias") and len(tensor.shape) == 1 and tensor.dtype in _FLOATS


def _beside(name: str, names: set[str]) -> bool:
    """A scale belongs to a matrix: something else of the same module, or of the same stem, is there."""
    stem = name.rpartition(".")[0]
    ends = (".weight", ".qweight", ".weight_packed", "_blocks", ".blocks", "_packed")
    short = re.sub(r"_scales?(?:_inv|_2)?\Z", "", name)
    return bool({stem, short} & names) or any({f"{stem}{end}", f"{short}{end}"} & names for end in ends)


def _is_copy(tensor: Tensor, names: set[str]) -> bool:
    return bool(_HEAD.search(tensor.name)) and any("embed" in name or "wte" in name for name in names)


def _unpacked(tensor: Tensor, bits: int, *, names: set[str]) -> int:
    """Parameters of one tensor: whole words hold several, and so do bytes of 4-bit formats."""
    if not _PACKED.search(tensor.name):
        return tensor.elems
    stem = tensor.name.rpartition(".")[0]
    if tensor.dtype in _WORDS:
        return tensor.elems * WORD_BITS // bits
    scaled = any(
        f"{base}{end}" in names
        for base in (stem, tensor.name)
        for end in (".weight_scale", ".absmax", "_scale", "_scales", ".weight_scale_2")
    ) or tensor.name.endswith(("_blocks", ".blocks"))
    if tensor.dtype == "U8" and scaled:
        return tensor.elems * 2
    return tensor.elems


def _packed_bits(config: Mapping[str, Any]) -> int:
    """Bits of an integer that whole words hold several of."""
    for key in ("quantization_config", "quantization"):
        value = config.get(key)
        if isinstance(value, Mapping):
            bits = value.get("bits", value.get("w_bit", _grouped_bits(value)))
            if isinstance(bits, int) and not isinstance(bits, bool) and 1 <= bits <= 8:
                return bits
    return 4


def _grouped_bits(fields: Mapping[str, Any]) -> Any:
    groups = fields.get("config_groups")
    for group in groups.values() if isinstance(groups, Mapping) else ():
        weights = group.get("weights") if isinstance(group, Mapping) else None
        if isinstance(weights, Mapping):
            return weights.get("num_bits")
    return None


def _reasons(result: _Sorted) -> Iterable[Sentence]:
    if result.packed:
        yield say("{count} parameters are packed, several per stored element", count=f"{result.packed:,}")
    if result.scales:
        yield say("{count} elements are scales of quantised weights", count=f"{result.scales:,}")
    if result.buffers:
        yield say("{count} elements are buffers, not parameters", count=f"{result.buffers:,}")
    if result.copies:
        yield say("{count} elements duplicate the tied output head", count=f"{result.copies:,}")
    if result.spare:
        yield say("{count} parameters are in MTP layers (multi-token prediction)", count=f"{result.spare:,}")


def compare(arch: Arch, files: Files) -> Sentence:
    """Whether the files hold what the architecture needs."""
    needs = count.params(arch)
    if not files.complete:
        return say("weight files are incomplete: parameter count not compared")
    if files.params == needs:
        return say("the files have exactly the {params} parameters of the config", params=f"{needs:,}")
    return say(
        "the files have {held} parameters, the config says {needs}: off by {difference}",
        held=f"{files.params:,}",
        needs=f"{needs:,}",
        difference=f"{(files.params or 0) - needs:+,}",
    )
