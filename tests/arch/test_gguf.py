"""GGUF: the header alone tells sizes and architecture, in either byte order, whole or split."""

from __future__ import annotations

import csv
import struct
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from made_files import TYPES, gguf_bytes, llama_gguf, write_gguf
from rigright.arch import cache, count
from rigright.arch.config import Config
from rigright.arch.pick import known
from rigright.arch.sources import gguf, zoo
from rigright.arch.sources.gguf import read_header
from rigright.arch.sources.gguf_config import tables
from rigright.arch.sources.open import examine
from rigright.base.errors import DataError, RigError
from rigright.base.tables import DATA
from rigright.facts.formats import mixes
from spoken import values

LLAMA8B = (32, 4096, 32, 8, 14336, 128256, 128)
SMALL = (2, 256, 4, 2, 512, 1000, 64)


def opened(tmp_path, metadata, tensors, **how):
    return examine(str(write_gguf(tmp_path / "model.gguf", metadata, tensors, **how)))


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("version", [2, 3])
def test_both_byte_orders_and_versions_are_read(tmp_path, order, version):
    metadata, tensors = llama_gguf(SMALL, kind="Q8_0")
    found = opened(tmp_path, metadata, tensors, order=order, version=version)
    assert found.arch.family == "llama"
    assert found.arch.name == "small llama"
    assert found.arch.max_context_tok == 4096
    assert found.files.size_bytes == (tmp_path / "model.gguf").stat().st_size
    assert found.files.params == count.params(found.arch)
    assert not found.arch.warnings


def test_bytes_are_those_of_the_blocks(tmp_path):
    found = opened(tmp_path, *llama_gguf(SMALL, kind="Q4_0"))
    layers, hidden, heads, kv, ffn, vocab, dim = SMALL
    matrices = (
        layers * (2 * heads * dim * hidden + 2 * kv * dim * hidden + 3 * ffn * hidden) + 2 * vocab * hidden
    )
    norms = (2 * layers + 1) * hidden
    assert found.files.bytes_by_dtype == {"Q4_0": matrices // 32 * 18, "F32": norms * 4}
    assert found.files.elems_by_dtype == {"Q4_0": matrices, "F32": norms}


CASES = {
    "llama": (llama_gguf(LLAMA8B), "meta-llama/Llama-3.1-8B"),
    "qwen2": (
        llama_gguf((28, 3584, 28, 4, 18944, 152064, 128), arch="qwen2", biased=True),
        "Qwen/Qwen2.5-7B",
    ),
    "qwen3": (llama_gguf((36, 4096, 32, 8, 12288, 151936, 128), arch="qwen3", qk_norm=True), "Qwen/Qwen3-8B"),
}


@pytest.mark.parametrize(("made", "name"), CASES.values(), ids=CASES)
def test_metadata_is_read_by_the_family(tmp_path, made, name):
    found, meant = opened(tmp_path, *made, data=False).arch, zoo.arch(name)
    assert count.params(found) == count.params(meant)
    assert cache.kv_bytes_per_token(found) == cache.kv_bytes_per_token(meant)
    assert found.trunk.layers[0].mixer == meant.trunk.layers[0].mixer


def with_experts(sizes, arch, experts, *, extra=None, qk_norm=True):
    """A mixture of experts: the feed-forward of a Llama-like file put aside for routed ones."""
    layers, hidden = sizes[0], sizes[1]
    number, used, width = experts
    told = {
        f"{arch}.expert_count": number,
        f"{arch}.expert_used_count": used,
        f"{arch}.expert_feed_forward_length": width,
        **(extra or {}),
    }
    metadata, tensors = llama_gguf(sizes, arch=arch, qk_norm=qk_norm, extra=told)
    dense = (".ffn_gate.", ".ffn_up.", ".ffn_down.")
    tensors = [tensor for tensor in tensors if not any(name in tensor[0] for name in dense)]
    for index in range(layers):
        tensors += [
            (f"blk.{index}.ffn_gate_inp.weight", (number, hidden), "F32"),
            (f"blk.{index}.ffn_gate_exps.weight", (number, width, hidden), "Q4_K"),
            (f"blk.{index}.ffn_up_exps.weight", (number, width, hidden), "Q4_K"),
            (f"blk.{index}.ffn_down_exps.weight", (number, hidden, width), "F16"),
        ]
    return metadata, tensors


def test_experts_are_counted_and_one_token_goes_through_few(tmp_path):
    made = with_experts((48, 2048, 32, 4, 6144, 151936, 128), "qwen3moe", (128, 8, 768))
    found, meant = opened(tmp_path, *made, data=False).arch, zoo.arch("Qwen/Qwen3-30B-A3B")
    assert count.params(found) == count.params(meant)
    assert count.active_params(found) == count.active_params(meant)


def test_a_llama_file_with_experts_is_mixtral(tmp_path):
    made = with_experts((32, 4096, 32, 8, 14336, 32000, 128), "llama", (8, 2, 14336), qk_norm=False)
    found = opened(tmp_path, *made, data=False).arch
    assert found.family == "mixtral"
    assert count.params(found) == count.params(zoo.arch("mistralai/Mixtral-8x7B-v0.1"))


def deepseek(arch="deepseek2"):
    hidden, layers, vocab = 7168, 61, 129280
    told = {
        "block_count": layers,
        "embedding_length": hidden,
        "feed_forward_length": 18432,
        "context_length": 163840,
        "attention.head_count": 128,
        "attention.head_count_kv": 1,
        "attention.q_lora_rank": 1536,
        "attention.kv_lora_rank": 512,
        "attention.key_length": 576,
        "attention.value_length": 512,
        "attention.key_length_mla": 192,
        "attention.value_length_mla": 128,
        "rope.dimension_count": 64,
        "leading_dense_block_count": 3,
        "expert_count": 256,
        "expert_used_count": 8,
        "expert_feed_forward_length": 2048,
        "expert_shared_count": 1,
    }
    metadata = {"general.architecture": arch, "general.file_type": 15}
    metadata |= {f"{arch}.{key}": value for key, value in told.items()}
    attention = {
        "attn_norm.weight": (hidden,),
        "ffn_norm.weight": (hidden,),
        "attn_q_a.weight": (1536, hidden),
        "attn_q_a_norm.weight": (1536,),
        "attn_q_b.weight": (128 * 192, 1536),
        "attn_kv_a_mqa.weight": (576, hidden),
        "attn_kv_a_norm.weight": (512,),
        "attn_k_b.weight": (128, 512, 128),
        "attn_v_b.weight": (128, 128, 512),
        "attn_output.weight": (hidden, 128 * 128),
    }
    dense = {
        "ffn_gate.weight": (18432, hidden),
        "ffn_up.weight": (18432, hidden),
        "ffn_down.weight": (hidden, 18432),
    }
    routed = {
        "ffn_gate_inp.weight": (256, hidden),
        "exp_probs_b.bias": (256,),
        "ffn_gate_exps.weight": (256, 2048, hidden),
        "ffn_up_exps.weight": (256, 2048, hidden),
        "ffn_down_exps.weight": (256, hidden, 2048),
        "ffn_gate_shexp.weight": (2048, hidden),
        "ffn_up_shexp.weight": (2048, hidden),
        "ffn_down_shexp.weight": (hidden, 2048),
    }
    tensors = [("token_embd.weight", (vocab, hidden), "F16"), ("output.weight", (vocab, hidden), "F16")]
    tensors += [("output_norm.weight", (hidden,), "F32")]
    for index in range(layers):
        own = attention | (dense if index < 3 else routed)
        tensors += [(f"blk.{index}.{name}", shape, "F16") for name, shape in own.items()]
    return metadata, tensors


@pytest.mark.parametrize("arch", ["deepseek2", "a-stranger"])
def test_latent_attention_is_read_by_the_family_and_from_the_list_alike(tmp_path, arch):
    found, meant = opened(tmp_path, *deepseek(arch), data=False).arch, zoo.arch("deepseek-ai/DeepSeek-V3")
    assert count.params(found) == count.params(meant)
    assert count.active_params(found) == count.active_params(meant)
    assert cache.kv_bytes_per_token(found) == 70_272
    assert found.stored == "gguf:Q4_K_M"
    assert any("a-stranger" in values(warning).values() for warning in found.warnings) == (
        arch == "a-stranger"
    )


def test_what_the_metadata_forgets_the_list_has(tmp_path):
    metadata, tensors = llama_gguf(SMALL)
    tensors.append(("blk.0.extra.weight", (256, 256), "F16"))
    found = opened(tmp_path, metadata, tensors)
    plain = opened(tmp_path, *llama_gguf(SMALL))
    assert count.params(found.arch) == count.params(plain.arch) + 256 * 256
    assert found.arch.trunk.layers[0].mixer == plain.arch.trunk.layers[0].mixer
    totals = (count.params(found.arch), count.params(plain.arch))
    assert values(found.arch.warnings[0]) == dict(
        zip(("held", "told"), map("{:,}".format, totals), strict=True)
    )


def test_frequencies_are_no_parameters_and_later_layers_are_spare(tmp_path):
    metadata, tensors = llama_gguf((3, *SMALL[1:]), extra={"llama.nextn_predict_layers": 1})
    tensors.append(("rope_freqs.weight", (32,), "F32"))
    found = opened(tmp_path, metadata, tensors)
    assert count.params(found.arch) == count.params(opened(tmp_path, *llama_gguf(SMALL)).arch)
    assert len(found.arch.trunk.layers) == 2
    assert len(found.files.notes) == 2


def test_heads_may_differ_from_layer_to_layer(tmp_path):
    metadata, tensors = llama_gguf(SMALL, arch="mosaic")
    metadata |= {"mosaic.attention.head_count": [4, 4], "mosaic.attention.head_count_kv": [2, 1]}
    narrow = {"blk.1.attn_k.weight", "blk.1.attn_v.weight"}
    tensors = [(name, (64, 256) if name in narrow else shape, kind) for name, shape, kind in tensors]
    found = opened(tmp_path, metadata, tensors).arch
    assert [layer.mixer.kv_heads for layer in found.trunk.layers] == [2, 1]
    assert cache.kv_bytes_per_token(found) == (2 + 1) * 2 * 64 * 2


def test_layers_of_states_and_of_attention_are_told_apart_by_their_tensors(tmp_path):
    meant = zoo.arch("nvidia/NVIDIA-Nemotron-Nano-9B-v2")
    pattern = zoo.config(meant.name)["hybrid_override_pattern"]
    hidden, inner, heads, state, groups, arch = 4480, 10240, 128, 128, 8, "nemotron_h"
    told = {
        "block_count": len(pattern),
        "embedding_length": hidden,
        "attention.head_count": 40,
        "attention.head_count_kv": [8 if kind == "*" else 0 for kind in pattern],
        "attention.key_length": 128,
        "attention.value_length": 128,
        "ssm.conv_kernel": 4,
        "ssm.inner_size": inner,
        "ssm.state_size": state,
        "ssm.time_step_rank": heads,
        "ssm.group_count": groups,
    }
    channels = inner + 2 * groups * state
    mamba = {
        "ssm_in.weight": (inner + channels + heads, hidden),
        "ssm_conv1d.weight": (channels, 4),
        "ssm_conv1d.bias": (channels,),
        "ssm_dt.bias": (heads,),
        "ssm_a": (heads, 1),
        "ssm_d": (heads, 1),
        "ssm_norm.weight": (groups, inner // groups),
        "ssm_out.weight": (hidden, inner),
    }
    attention = {
        "attn_q.weight": (5120, hidden),
        "attn_k.weight": (1024, hidden),
        "attn_v.weight": (1024, hidden),
        "attn_output.weight": (hidden, 5120),
    }
    dense = {"ffn_up.weight": (15680, hidden), "ffn_down.weight": (hidden, 15680)}
    kinds = {"M": mamba, "*": attention, "-": dense}
    tensors = [(name, (131072, hidden), "F16") for name in ("token_embd.weight", "output.weight")]
    tensors.append(("output_norm.weight", (hidden,), "F32"))
    for index, kind in enumerate(pattern):
        own = {"attn_norm.weight": (hidden,), **kinds[kind]}
        tensors += [(f"blk.{index}.{name}", shape, "F32") for name, shape in own.items()]
    metadata = {"general.architecture": arch, **{f"{arch}.{key}": value for key, value in told.items()}}
    found = opened(tmp_path, metadata, tensors, data=False).arch
    assert count.params(found) == count.params(meant)
    assert cache.kv_bytes_per_token(found) == cache.kv_bytes_per_token(meant)
    assert cache.kv_constant_bytes(found) == cache.kv_constant_bytes(meant)


def test_every_model_type_of_the_table_is_a_family():
    for row in tables()["archs"].values():
        for model_type in row["types"]:
            assert known(Config({"model_type": model_type}, "x")) is not None, model_type


def split(tmp_path, parts=3):
    metadata, tensors = llama_gguf(SMALL)
    shares = [tensors[start::parts] for start in range(parts)]
    paths = []
    for number, share in enumerate(shares):
        told = {"split.no": number, "split.count": parts, "split.tensors.count": len(tensors)}
        told = {**metadata, **told} if number == 0 else told
        path = tmp_path / f"small-{number + 1:05}-of-{parts:05}.gguf"
        paths.append(write_gguf(path, told, share))
    return paths


@pytest.mark.parametrize("named", [0, 2])
def test_a_split_model_is_one_model_whichever_file_is_named(tmp_path, named):
    paths = split(tmp_path)
    found = examine(str(paths[named]))
    assert found.files.files == 3
    assert found.files.size_bytes == sum(path.stat().st_size for path in paths)
    assert count.params(found.arch) == count.params(opened(tmp_path, *llama_gguf(SMALL)).arch)
    assert not found.arch.warnings


def test_metadata_of_a_split_model_is_that_of_its_first_file(tmp_path):
    metadata, tensors = llama_gguf(SMALL)
    other = {**metadata, "general.name": "another", "llama.context_length": 7}
    for number, told in enumerate((metadata, other)):
        split_in = {"split.no": number, "split.count": 2, "split.tensors.count": len(tensors)}
        path = tmp_path / f"small-0000{number + 1}-of-00002.gguf"
        write_gguf(path, told | split_in, tensors[number::2])
    for number in (1, 2):
        found = examine(str(tmp_path / f"small-0000{number}-of-00002.gguf")).arch
        assert (found.name, found.max_context_tok) == ("small llama", 4096)


def test_missing_files_of_a_split_model_are_named(tmp_path):
    paths = split(tmp_path)
    paths[1].unlink()
    found = examine(str(paths[0]))
    assert "small-00002-of-00003.gguf" in str(found.arch.warnings[-1])
    assert not found.files.complete
    assert count.params(found.arch) == count.params(opened(tmp_path, *llama_gguf(SMALL)).arch)


def test_a_renamed_first_file_knows_that_it_has_fellows(tmp_path):
    path = split(tmp_path)[0].rename(tmp_path / "renamed.gguf")
    assert "2 of 3" in str(examine(str(path)).arch.warnings[-1])


def test_a_folder_of_one_model_is_that_model(tmp_path):
    split(tmp_path)
    assert examine(str(tmp_path)).files.files == 3
    write_gguf(tmp_path / "other.gguf", *llama_gguf(SMALL))
    with pytest.raises(DataError) as refused:
        examine(str(tmp_path))
    assert values(refused.value.sentence)["names"] == "other.gguf, small-00001-of-00003.gguf"


def test_a_file_cut_off_says_so(tmp_path):
    path = write_gguf(tmp_path / "m.gguf", *llama_gguf(SMALL))
    whole = path.stat().st_size
    path.write_bytes(path.read_bytes()[:-100_000])
    told = values(examine(str(path)).arch.warnings[-1])
    assert told == {"path": "m.gguf", "size": f"{whole - 100_000:,}", "ends": f"{whole:,}"}


def test_a_type_of_another_program_is_measured_by_its_place(tmp_path):
    raw = gguf_bytes(*llama_gguf(SMALL, kind="F16"))
    changed = raw.replace(struct.pack("<IQ", 1, 0), struct.pack("<IQ", 199, 0), 1)
    (tmp_path / "m.gguf").write_bytes(changed)
    found = examine(str(tmp_path / "m.gguf"))
    assert (
        found.files.tensors_bytes
        == examine(str(write_gguf(tmp_path / "n.gguf", *llama_gguf(SMALL)))).files.tensors_bytes
    )
    assert any("199" in str(warning) for warning in found.arch.warnings)


def test_a_projector_is_no_whole_model(tmp_path):
    with pytest.raises(DataError, match="mmproj"):
        opened(tmp_path, {"general.architecture": "clip", "general.type": "mmproj"}, [])


def header(tensors=0, keys=0, rest=b"", version=3):
    return b"GGUF" + struct.pack("<IQQ", version, tensors, keys) + rest


def key(name, kind, value=b""):
    return struct.pack("<Q", len(name)) + name.encode() + struct.pack("<I", kind) + value


def info(name="a", dims=(32,), kind=0, place=0):
    shape = struct.pack("<I", len(dims)) + b"".join(struct.pack("<Q", dim) for dim in dims)
    return struct.pack("<Q", len(name)) + name.encode() + shape + struct.pack("<IQ", kind, place)


BROKEN = {
    "empty": b"",
    "another file": b"PK\x03\x04" + b"\0" * 100,
    "magic alone": b"GGUF",
    "version 1": header(version=1),
    "version 77": header(version=77),
    "tensors beyond the file": header(tensors=2**60),
    "keys beyond the file": header(keys=2**63),
    "text beyond the file": header(keys=1, rest=struct.pack("<Q", 2**50) + b"x" * 64),
    "key of no kind": header(keys=1, rest=key("a", 99) + b"\0" * 64),
    "array beyond the file": header(keys=1, rest=key("a", 9, struct.pack("<IQ", 4, 2**61)) + b"\0" * 64),
    "strings beyond the file": header(keys=1, rest=key("a", 9, struct.pack("<IQ", 8, 2**61)) + b"\0" * 64),
    "many strings cut": header(keys=1, rest=key("a", 9, struct.pack("<IQ", 8, 5000)) + b"\0" * 9000),
    "arrays in arrays": header(keys=1, rest=key("a", 9, struct.pack("<IQ", 9, 1) * 50) + b"\0" * 64),
    "a key twice": header(keys=2, rest=key("a", 4, b"\1\0\0\0") * 2 + b"\0" * 64),
    "a tensor twice": header(tensors=2, rest=info() + info(place=128) + b"\0" * 512),
    "nine dimensions": header(tensors=1, rest=info(dims=(1,) * 9) + b"\0" * 64),
    "impossible shape": header(tensors=1, rest=info(dims=(2**40, 2**40)) + b"\0" * 64),
    "rows no block fits": header(tensors=1, rest=info(dims=(33,), kind=2) + b"\0" * 64),
    "one on another": header(tensors=2, rest=info() + info("b", place=64) + b"\0" * 512),
    "alignment 0": header(keys=1, rest=key("general.alignment", 4, struct.pack("<I", 0)) + b"\0" * 64),
    "no architecture": header(rest=b"\0" * 64),
}


def test_no_two_tensors_lie_on_one_place(tmp_path):
    path = tmp_path / "m.gguf"
    for place in (64, 124):
        path.write_bytes(header(tensors=2, rest=info() + info("b", place=place) + b"\0" * 512))
        with pytest.raises(DataError):
            read_header(path)
    path.write_bytes(header(tensors=2, rest=info() + info("b", place=128) + b"\0" * 512))
    assert [one.size_bytes for one in read_header(path).tensors] == [128, 128]


@pytest.mark.parametrize("raw", BROKEN.values(), ids=BROKEN)
def test_a_header_that_lies_is_refused(tmp_path, raw):
    path = tmp_path / "m.gguf"
    path.write_bytes(raw)
    with pytest.raises(DataError):
        examine(str(path))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_no_bytes_break_the_reader(tmp_path, data):
    raw = bytearray(gguf_bytes(*llama_gguf((1, 64, 2, 1, 64, 32, 32)), data=False))
    for _ in range(data.draw(st.integers(1, 6))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "m.gguf"
    path.write_bytes(bytes(raw[: data.draw(st.integers(0, len(raw)))]))
    tracemalloc.start()
    try:
        assert count.params(examine(str(path)).arch) > 0
    except RigError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 2**24


def test_types_are_whole_and_numbered_once():
    with (DATA / "gguf_types.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    numbers = [int(row["id"]) for row in rows]
    assert all(one < two for one, two in pairwise(numbers))
    assert len({row["name"] for row in rows}) == len(rows)
    for row in rows:
        assert 0 < int(row["bytes"]) * 8 / int(row["block"]) <= 64
        assert row["source"]
    for name, (number, block, size) in TYPES.items():
        assert gguf.types()[number] == gguf._Ggml(name, block, size)


def test_file_types_are_known_mixes():
    with (DATA / "gguf_file_types.csv").open(encoding="utf-8", newline="") as file:
        assert {row["mix"] for row in csv.DictReader(file)} <= set(mixes())


def test_types_agree_with_the_reference():
    constants = pytest.importorskip("gguf.constants", reason="the gguf package is not installed")
    for kind, sizes in constants.GGML_QUANT_SIZES.items():
        if kind.name == "Q8_1":  # never in a file; 36 bytes in ggml itself
            continue
        mine = gguf.types()[int(kind)]
        assert (mine.name, mine.block_elems, mine.block_bytes) == (kind.name, *sizes)


def test_the_reference_reads_what_we_read(tmp_path):
    reader = pytest.importorskip("gguf", reason="the gguf package is not installed").GGUFReader
    path = write_gguf(tmp_path / "m.gguf", *llama_gguf(SMALL, kind="Q4_0"))
    theirs = {tensor.name: (int(tensor.n_bytes), int(tensor.n_elements)) for tensor in reader(path).tensors}
    assert theirs == {tensor.name: (tensor.size_bytes, tensor.elems) for tensor in read_header(path).tensors}
