"""Small GGUF and safetensors files, written byte by byte for the tests."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path

# name -> (block elements, block bytes), as the formats define them
TYPES = {
    "F32": (0, 1, 4),
    "F16": (1, 1, 2),
    "Q4_0": (2, 32, 18),
    "Q8_0": (8, 32, 34),
    "Q4_K": (12, 256, 144),
    "Q6_K": (14, 256, 210),
}
KINDS = {"u32": (4, "I"), "i32": (5, "i"), "f32": (6, "f"), "bool": (7, "?"), "u64": (10, "Q")}


class Signed(int):
    """A number that a GGUF file stores with its sign."""


def gguf_bytes(metadata, tensors, *, order="<", version=3, alignment=32, data=True, filled=()):
    """A GGUF file: metadata {key: int | float | bool | str | list}, tensors [(name, torch shape, type)].

    Weights are zero, but for those `filled`: {name: the bytes it begins with}.
    """

    def text(word):
        raw = word.encode()
        return struct.pack(f"{order}Q", len(raw)) + raw

    def value(item):
        if isinstance(item, str):
            return struct.pack(f"{order}I", 8) + text(item)
        if isinstance(item, list):
            inner = value(item[0])
            kind = inner[:4]
            body = b"".join(value(one)[4:] for one in item)
            return struct.pack(f"{order}I", 9) + kind + struct.pack(f"{order}Q", len(item)) + body
        kinds = (("bool", bool), ("f32", float), ("i32", Signed))
        kind = next((name for name, kind in kinds if isinstance(item, kind)), "u32")
        return struct.pack(f"{order}I{KINDS[kind][1]}", KINDS[kind][0], item)

    head = b"GGUF" + struct.pack(f"{order}IQQ", version, len(tensors), len(metadata))
    head += b"".join(text(key) + value(item) for key, item in metadata.items())
    place, places = 0, {}
    for name, shape, kind in tensors:
        places[name] = place
        number, block, size = TYPES[kind]
        head += text(name) + struct.pack(f"{order}I", len(shape))
        head += b"".join(struct.pack(f"{order}Q", dim) for dim in reversed(shape))
        head += struct.pack(f"{order}IQ", number, place)
        place += -(-(math.prod(shape) // block * size) // alignment) * alignment
    if not data:
        return head
    body = bytearray(place)
    for name, raw in dict(filled).items():
        body[places[name] : places[name] + len(raw)] = raw
    return head + b"\0" * (-len(head) % alignment) + body


def write_gguf(path: Path, metadata, tensors, **how):
    path.write_bytes(gguf_bytes(metadata, tensors, **how))
    return path


ST_BYTES = {"F32": 4, "BF16": 2, "F16": 2, "U8": 1, "I8": 1, "I32": 4, "F8_E4M3": 1, "BOOL": 1, "I64": 8}


def safetensors_bytes(tensors, *, metadata=None):
    """A safetensors file: {name: (dtype, shape)}."""
    head, at = {}, 0
    for name, (dtype, shape) in tensors.items():
        size = math.prod(shape) * ST_BYTES[dtype]
        head[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    if metadata:
        head["__metadata__"] = metadata
    raw = json.dumps(head).encode()
    return struct.pack("<Q", len(raw)) + raw + b"\0" * at


def write_safetensors(path: Path, tensors, **how):
    path.write_bytes(safetensors_bytes(tensors, **how))
    return path


def llama_gguf(config, *, kind="F16", biased=False, tied=False, arch="llama", extra=None, qk_norm=False):
    """Metadata and tensors of a Llama-like GGUF of the given sizes."""
    layers, hidden, heads, kv, ffn, vocab, dim = config
    metadata = {
        "general.architecture": arch,
        "general.name": f"small {arch}",
        f"{arch}.block_count": layers,
        f"{arch}.embedding_length": hidden,
        f"{arch}.feed_forward_length": ffn,
        f"{arch}.attention.head_count": heads,
        f"{arch}.attention.head_count_kv": kv,
        f"{arch}.attention.key_length": dim,
        f"{arch}.attention.value_length": dim,
        f"{arch}.context_length": 4096,
        **(extra or {}),
    }
    tensors = [("token_embd.weight", (vocab, hidden), kind), ("output_norm.weight", (hidden,), "F32")]
    if not tied:
        tensors.append(("output.weight", (vocab, hidden), kind))
    for index in range(layers):
        tensors += [
            (f"blk.{index}.{name}.weight", shape, kind)
            for name, shape in (
                ("attn_q", (heads * dim, hidden)),
                ("attn_k", (kv * dim, hidden)),
                ("attn_v", (kv * dim, hidden)),
                ("attn_output", (hidden, heads * dim)),
                ("ffn_gate", (ffn, hidden)),
                ("ffn_up", (ffn, hidden)),
                ("ffn_down", (hidden, ffn)),
            )
        ]
        norms = [("attn_norm", hidden), ("ffn_norm", hidden)]
        norms += [("attn_q_norm", dim), ("attn_k_norm", dim)] if qk_norm else []
        tensors += [(f"blk.{index}.{name}.weight", (width,), "F32") for name, width in norms]
        if biased:
            widths = (("attn_q", heads), ("attn_k", kv), ("attn_v", kv))
            tensors += [(f"blk.{index}.{name}.bias", (count * dim,), "F32") for name, count in widths]
    return metadata, tensors
