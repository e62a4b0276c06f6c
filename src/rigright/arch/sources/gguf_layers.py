"""An Arch from a GGUF tensor list alone: every weight as the file has it, mixers as metadata tells."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from rigright.arch.config import MAX_LAYERS
from rigright.arch.record import Arch, Cut, Ffn, Layer, Mix, Mixer, Tower, Weight
from rigright.arch.sources.gguf_config import GgufHead
from rigright.arch.sources.opened import Tensor
from rigright.base.errors import DataError
from rigright.base.tables import DATA, read_rows, text
from rigright.base.words import say

_PLACE = re.compile(
    r"(?:(?P<tower>[a-z]+)\.)?blk\.(?P<layer>\d{1,5})\.(?P<name>.+?)(?:\.(?P<end>weight|bias))?\Z"
)
_OUTER = re.compile(r"(?P<name>.+?)(?:\.(?P<end>weight|bias))?\Z")
_BUFFER = re.compile(r"(?:rope_freqs|rope_factors_\w+|attn_rot_embd)(?:\.weight)?\Z")
_STATEFUL = ("ssm_in", "ssm_conv1d", "ssm_out", "shortconv.conv", "time_mix_key")


@cache
def _roles() -> dict[str, tuple[str, Cut]]:
    """A tensor's name -> its role and how it is cut."""
    rows = read_rows(DATA / "gguf_roles.csv", {"tensor": text, "role": text, "cut": text})
    return {row["tensor"]: (row["role"], Cut(row["cut"])) for row in rows}


def is_buffer(tensor: Tensor) -> bool:
    """Whether a tensor is no parameter: a table of frequencies, a bias that balances experts."""
    return _BUFFER.search(tensor.name) is not None or is_balance(tensor)


def is_balance(tensor: Tensor) -> bool:
    """Whether a tensor balances the load of experts: training moves it, but by a rule, not by gradients."""
    return ".exp_probs_b" in tensor.name


def _layer_of(tensor: Tensor) -> int | None:
    """The layer of the trunk a tensor belongs to; None outside."""
    place = _PLACE.match(tensor.name)
    return int(place["layer"]) if place and place["tower"] != "enc" else None


def is_spare(tensor: Tensor, layers: int) -> bool:
    """Whether a tensor belongs to layers that only predict further tokens (MTP)."""
    layer = _layer_of(tensor)
    return (layer is not None and layer >= layers) or ".nextn." in tensor.name


def weight(tensor: Tensor, file: GgufHead) -> Weight:
    """A tensor as a weight; stacked experts as copies."""
    place = _PLACE.match(tensor.name) or _OUTER.match(tensor.name)
    name = place["name"] if place else tensor.name
    role, cut = _roles().get(name, ("norm" if "norm" in name else "other", Cut.WHOLE))
    shape, copies = tensor.shape, 1
    if cut == Cut.EXPERT and len(shape) > 1:
        shape, copies = shape[1:], shape[0]
    if place and place["end"] == "bias":
        role, cut = f"{role}.bias", Cut.WHOLE if cut == Cut.IN else cut
    used = min(file.count("expert_used_count") or copies, copies) if cut == Cut.EXPERT else None
    return Weight(role=role, shape=shape, cut=cut, copies=copies, used=used)


def from_tensors(
    name: str, tensors: Sequence[Tensor], *, file: GgufHead, mixers: Sequence[Layer] = ()
) -> Arch:
    """Count from the list; `mixers` are layers of a family that knows the attention better than metadata."""
    layers = file.layers
    if not 0 < layers <= MAX_LAYERS:
        raise DataError(say("{name} lists no layers: its metadata lacks {key}", name=name, key="block_count"))
    own = [tensor for tensor in tensors if not is_buffer(tensor) and not is_spare(tensor, layers)]
    by_layer: dict[int, list[Tensor]] = {index: [] for index in range(layers)}
    outer: list[Tensor] = []
    for tensor in own:
        index = _layer_of(tensor)
        (outer if index is None else by_layer[index]).append(tensor)
    hidden = file.count("embedding_length")
    vocab = file.shapes.get("token_embd.weight", (0,))[0]
    tower = Tower(
        name="text",
        hidden=hidden,
        layers=tuple(
            _layer(result, file, index=index, known=mixers[index] if index < len(mixers) else None)
            for index, result in by_layer.items()
        ),
        outer=tuple(weight(tensor, file) for tensor in outer),
    )
    return Arch(
        name=name,
        family=file.arch or "gguf",
        task="text",
        towers=(tower,),
        vocab=vocab,
        tied="output.weight" not in file.shapes,
        max_context_tok=file.count("context_length") or None,
    )


def _layer(tensors: list[Tensor], file: GgufHead, *, index: int, known: Layer | None) -> Layer:
    weights = tuple(weight(tensor, file) for tensor in tensors)
    if known is not None:
        return Layer(weights=weights, mixer=known.mixer, ffn=known.ffn, cross=known.cross)
    names = {place["name"]: tensor.shape for tensor in tensors if (place := _PLACE.match(tensor.name))}
    return Layer(weights=weights, mixer=_mixer(names, file, index=index), ffn=_ffn(names, file))


def _mixer(names: Mapping[str, tuple[int, ...]], file: GgufHead, *, index: int) -> Mixer | None:
    if "attn_kv_a_mqa" in names:
        return Mixer(
            kind=Mix.LATENT,
            heads=file.count("attention.head_count"),
            kv_heads=1,
            key_dim=file.count("attention.key_length_mla") or file.count("attention.key_length"),
            value_dim=file.count("attention.value_length_mla") or file.count("attention.value_length"),
            latent_dim=file.count("attention.kv_lora_rank") + file.count("rope.dimension_count"),
        )
    if any(name in names for name in ("attn_k", "attn_qkv")) and not names.keys() & set(_STATEFUL):
        heads = file.each("attention.head_count", file.layers)[index]
        if heads < 1:
            raise DataError(say("attention needs at least one head of at least one dimension"))
        key_dim = file.count("attention.key_length") or file.count("embedding_length") // heads
        window = file.count("attention.sliding_window") or None
        slides = window is not None and bool(
            file.each("attention.sliding_window_pattern", file.layers)[index]
        )
        return Mixer(
            kind=Mix.WINDOW if slides else Mix.FULL,
            heads=heads,
            kv_heads=file.each("attention.head_count_kv", file.layers)[index] or heads,
            key_dim=key_dim,
            value_dim=file.count("attention.value_length") or key_dim,
            window_tok=window if slides else None,
        )
    return _state(file) if names.keys() & set(_STATEFUL) else None


def _state(file: GgufHead) -> Mixer:
    """A state-space or linear layer: its state in fp32, what its convolution keeps in 16 bit."""
    inner, state = file.count("ssm.inner_size"), file.count("ssm.state_size")
    groups, heads = file.count("ssm.group_count"), file.count("ssm.time_step_rank")
    return Mixer(
        kind=Mix.SSM,
        heads=heads,
        kv_heads=groups or heads,
        key_dim=state,
        value_dim=inner // max(heads, 1),
        state32_elems=inner * state,
        state16_elems=file.count("ssm.conv_kernel") * (inner + 2 * groups * state),
    )


def _ffn(names: Mapping[str, tuple[int, ...]], file: GgufHead) -> Ffn | None:
    up = names.get("ffn_up_exps") or names.get("ffn_gate_up_exps")
    if up is not None and len(up) == 3:
        joined = "ffn_gate_up_exps" in names
        shared = names.get("ffn_up_shexp", (0,))[0]
        return Ffn(
            width=up[1] // 2 if joined else up[1],
            gated=joined or "ffn_gate_exps" in names,
            experts=up[0],
            per_tok=min(file.count("expert_used_count"), up[0]),
            shared_width=shared,
        )
    dense = names.get("ffn_up")
    if dense is None or not dense:
        return None
    down = names.get("ffn_down", dense)
    return Ffn(width=down[-1], gated="ffn_gate" in names or dense[0] == 2 * down[-1])
