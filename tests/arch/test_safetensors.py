"""Safetensors headers: counted exactly, and never trusted."""

from __future__ import annotations

import json
import struct
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from made_files import ST_BYTES, safetensors_bytes, write_safetensors
from rigright.arch.sources.safetensors import bits_by_dtype, read_header
from rigright.base.errors import DataError, RigError

GOOD = {"a": ("BF16", (4, 6)), "b": ("F32", (3,)), "c": ("I64", ())}


def framed(head, data=b""):
    raw = head if isinstance(head, bytes) else json.dumps(head).encode()
    return struct.pack("<Q", len(raw)) + raw + data


def entry(dtype="F32", shape=(1,), span=(0, 4)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(span)}


def test_a_sound_file_is_counted(tmp_path):
    path = write_safetensors(tmp_path / "m.safetensors", GOOD, metadata={"format": "pt"})
    header = read_header(path)
    assert {tensor.name: (tensor.dtype, tensor.shape, tensor.elems) for tensor in header.tensors} == {
        "a": ("BF16", (4, 6), 24),
        "b": ("F32", (3,), 3),
        "c": ("I64", (), 1),
    }
    assert sum(tensor.size_bytes for tensor in header.tensors) == 48 + 12 + 8
    assert header.size_bytes == path.stat().st_size
    assert header.metadata == {"format": "pt"}


def test_the_types_are_those_the_test_knows():
    assert {name: bits_by_dtype()[name] for name in ST_BYTES} == {
        name: size * 8 for name, size in ST_BYTES.items()
    }


BROKEN = {
    "empty": b"",
    "short": b"\x01\x02",
    "length alone": struct.pack("<Q", 2),
    "length of a universe": struct.pack("<Q", 2**63) + b"{}",
    "length beyond the file": struct.pack("<Q", 100) + b"{}",
    "no JSON": framed(b"{nonsense"),
    "binary": framed(b"\xff\xfe\x00\x01"),
    "a list": framed(b"[]"),
    "deep": framed(b'{"a":' * 20_000 + b"1" + b"}" * 20_000),
    "twice": framed(
        b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}',
        b"00",
    ),
    "unknown type": framed({"a": entry("F99")}, b"0000"),
    "type is a list": framed({"a": entry(["F32"])}, b"0000"),
    "shape is no list": framed({"a": {"dtype": "F32", "shape": 4, "data_offsets": [0, 4]}}, b"0000"),
    "negative shape": framed({"a": entry(shape=(-1, -1))}, b"0000"),
    "shape of floats": framed({"a": entry(shape=(1.0,))}, b"0000"),
    "shape of truths": framed({"a": entry(shape=(True,))}, b"0000"),
    "endless shape": framed({"a": entry(shape=(1,) * 100_000)}, b"0000"),
    "impossible shape": framed({"a": entry(shape=(2**40, 2**40))}, b"0000"),
    "span too short": framed({"a": entry(shape=(2,))}, b"0000"),
    "span beyond the file": framed({"a": entry(span=(0, 4))}, b"00"),
    "span turned round": framed({"a": entry(span=(4, 0))}, b"0000"),
    "no span": framed({"a": {"dtype": "F32", "shape": [1]}}, b"0000"),
    "entry is a number": framed({"a": 1}),
    "overlap": framed({"a": entry(), "b": entry(span=(2, 6))}, b"000000"),
    "gap": framed({"a": entry(), "b": entry(span=(8, 12))}, b"0" * 12),
    "data left over": framed({"a": entry()}, b"0" * 9),
}


@pytest.mark.parametrize("raw", BROKEN.values(), ids=BROKEN)
def test_a_header_that_lies_is_refused(tmp_path, raw):
    path = tmp_path / "m.safetensors"
    path.write_bytes(raw)
    with pytest.raises(DataError):
        read_header(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_bytes_break_the_reader(tmp_path, data):
    raw = bytearray(safetensors_bytes(GOOD))
    for _ in range(data.draw(st.integers(1, 8))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    raw = bytes(raw[: data.draw(st.integers(0, len(raw)))])
    path = tmp_path / "m.safetensors"
    path.write_bytes(raw)
    tracemalloc.start()
    try:
        header = read_header(path)
        assert all(tensor.size_bytes <= len(raw) for tensor in header.tensors)
    except RigError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 2**21


def test_another_program_agrees(tmp_path):
    torch_free = pytest.importorskip("safetensors", reason="safetensors is not installed")
    numpy = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    np = pytest.importorskip("numpy")
    path = tmp_path / "m.safetensors"
    numpy.save_file({"x": np.zeros((3, 5), np.float16), "y": np.zeros(7, np.int8)}, path)
    held = {tensor.name: tensor for tensor in read_header(path).tensors}
    with torch_free.safe_open(path, framework="np") as file:
        assert set(file.keys()) == set(held)
        for name in file.keys():  # noqa: SIM118 - no dict
            assert tuple(file.get_slice(name).get_shape()) == held[name].shape
