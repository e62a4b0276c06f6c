"""A model's folder: what its files hold, exactly, and why that differs from its parameters."""

from __future__ import annotations

import json
from math import prod

import pytest

from made_files import write_safetensors
from rigright.arch import count
from rigright.arch.sources.open import examine, open_model
from rigright.base.errors import DataError, MissingError
from spoken import values

CONFIG = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "vocab_size": 100,
    "torch_dtype": "bfloat16",
}
PARAMS = 86_848
LAYER = {
    "self_attn.q_proj": (64, 64),
    "self_attn.k_proj": (32, 64),
    "self_attn.v_proj": (32, 64),
    "self_attn.o_proj": (64, 64),
    "mlp.gate_proj": (128, 64),
    "mlp.up_proj": (128, 64),
    "mlp.down_proj": (64, 128),
}


def tensors(dtype="BF16", pack=None):
    held = {
        "model.embed_tokens.weight": (dtype, (100, 64)),
        "lm_head.weight": (dtype, (100, 64)),
        "model.norm.weight": (dtype, (64,)),
    }
    for index in range(2):
        stem = f"model.layers.{index}"
        held |= {
            f"{stem}.{name}.weight": (dtype, (64,))
            for name in ("input_layernorm", "post_attention_layernorm")
        }
        for name, shape in LAYER.items():
            held |= pack(f"{stem}.{name}", shape) if pack else {f"{stem}.{name}.weight": (dtype, shape)}
    return held


def folder(path, held, config=None):
    (path / "config.json").write_text(json.dumps({**CONFIG, **(config or {})}), encoding="utf-8")
    write_safetensors(path / "model.safetensors", held, metadata={"format": "pt"})
    return str(path)


def notes(found):
    """The values of each note."""
    return [values(note) for note in found.files.notes]


def test_a_plain_folder_holds_what_its_config_tells(tmp_path):
    found = examine(folder(tmp_path, tensors()))
    assert found.files.params == PARAMS == count.params(found.arch)
    assert found.files.tensors_bytes == 2 * PARAMS
    assert found.files.size_bytes == (tmp_path / "model.safetensors").stat().st_size
    assert found.files.elems_by_dtype == {"BF16": PARAMS}
    assert notes(found) == [{"params": "86,848"}]
    assert not found.arch.warnings


def test_a_tied_head_stored_twice_is_told(tmp_path):
    found = examine(folder(tmp_path, tensors(), {"tie_word_embeddings": True}))
    assert found.files.params == PARAMS - 6400 == count.params(found.arch)
    assert {"count": "6,400"} in notes(found)


def test_buffers_are_no_parameters(tmp_path):
    held = tensors() | {
        "model.layers.0.self_attn.rotary_emb.inv_freq": ("F32", (8,)),
        "model.layers.1.attn.bias": ("BOOL", (1, 1, 16, 16)),
    }
    found = examine(folder(tmp_path, held))
    assert found.files.params == PARAMS
    assert {"count": "264"} in notes(found)


def test_biases_that_balance_experts_are_buffers_where_the_config_counts_them_so(tmp_path):
    held = tensors() | {"model.layers.1.mlp.gate.e_score_correction_bias": ("F32", (8,))}
    found = examine(folder(tmp_path, held))
    assert found.files.params == PARAMS
    assert {"count": "8"} in notes(found)


def test_layers_that_predict_further_are_told(tmp_path):
    held = tensors() | {
        "model.layers.2.eh_proj.weight": ("BF16", (64, 128)),
        "mtp.norm.weight": ("BF16", (64,)),
    }
    found = examine(folder(tmp_path, held))
    assert found.files.params == PARAMS
    assert {"count": "8,256"} in notes(found)


def gptq(stem, shape):
    out, inputs = shape
    return {
        f"{stem}.qweight": ("I32", (inputs // 8, out)),
        f"{stem}.qzeros": ("I32", (1, out // 8)),
        f"{stem}.scales": ("F16", (1, out)),
        f"{stem}.g_idx": ("I32", (inputs,)),
    }


def awq(stem, shape):
    out, inputs = shape
    return {
        f"{stem}.qweight": ("I32", (inputs, out // 8)),
        f"{stem}.qzeros": ("I32", (1, out // 8)),
        f"{stem}.scales": ("F16", (1, out)),
    }


def fp8(stem, shape):
    return {f"{stem}.weight": ("F8_E4M3", shape), f"{stem}.weight_scale_inv": ("F32", (1, 1))}


def nvfp4(stem, shape):
    out, inputs = shape
    return {
        f"{stem}.weight": ("U8", (out, inputs // 2)),
        f"{stem}.weight_scale": ("F8_E4M3", (out, inputs // 16)),
        f"{stem}.weight_scale_2": ("F32", ()),
        f"{stem}.input_scale": ("F32", ()),
    }


def nf4(stem, shape):
    out, inputs = shape
    return {
        f"{stem}.weight": ("U8", (out * inputs // 2, 1)),
        f"{stem}.weight.absmax": ("U8", (out * inputs // 64,)),
        f"{stem}.weight.quant_map": ("F32", (16,)),
        f"{stem}.weight.nested_absmax": ("F32", (1,)),
        f"{stem}.weight.nested_quant_map": ("F32", (256,)),
        f"{stem}.weight.quant_state.bitsandbytes__nf4": ("U8", (80,)),
    }


def int8(stem, shape):
    return {f"{stem}.weight": ("I8", shape), f"{stem}.SCB": ("F32", (shape[0],))}


def mlx(stem, shape):
    out, inputs = shape
    return {
        f"{stem}.weight": ("I32", (out, inputs // 8)),
        f"{stem}.scales": ("F16", (out, inputs // 64)),
        f"{stem}.biases": ("F16", (out, inputs // 64)),
    }


def compressed(stem, shape):
    out, inputs = shape
    return {
        f"{stem}.weight_packed": ("I32", (out, inputs // 8)),
        f"{stem}.weight_scale": ("BF16", (out, 1)),
        f"{stem}.weight_shape": ("I64", (2,)),
    }


SCHEMES = {
    "gptq": (gptq, {"quant_method": "gptq", "bits": 4, "group_size": 128}),
    "awq": (awq, {"quant_method": "awq", "bits": 4}),
    "fp8": (fp8, {"quant_method": "fp8", "weight_block_size": [128, 128]}),
    "nvfp4": (nvfp4, {"quant_algo": "NVFP4"}),
    "bitsandbytes nf4": (nf4, {"quant_method": "bitsandbytes", "load_in_4bit": True}),
    "bitsandbytes int8": (int8, {"quant_method": "bitsandbytes", "load_in_8bit": True}),
    "mlx": (mlx, {"bits": 4, "group_size": 64}),
    "compressed-tensors": (
        compressed,
        {"quant_method": "compressed-tensors", "config_groups": {"g": {"weights": {"num_bits": 4}}}},
    ),
}


@pytest.mark.parametrize(("pack", "told"), SCHEMES.values(), ids=SCHEMES)
def test_packing_and_scales_are_undone(tmp_path, pack, told):
    held = tensors(pack=pack)
    found = examine(folder(tmp_path, held, {"quantization_config": told}))
    assert found.files.params == PARAMS
    weights = (".weight", ".qweight", ".weight_packed")
    scales = sum(prod(shape) for name, (_, shape) in held.items() if not name.endswith(weights))
    assert {"count": f"{scales:,}"} in notes(found)


def test_files_that_do_not_fit_the_config_warn(tmp_path):
    found = examine(folder(tmp_path, tensors() | {"model.extra.weight": ("BF16", (10, 10))}))
    assert "off by +100" in str(found.arch.warnings[-1])


def sharded(path):
    held = tensors()
    names = list(held)
    (path / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    places = {}
    for number, share in enumerate((names[:7], names[7:]), 1):
        name = f"model-{number:05}-of-00002.safetensors"
        write_safetensors(path / name, {key: held[key] for key in share})
        places |= dict.fromkeys(share, name)
    index = {"metadata": {"total_size": 2 * PARAMS}, "weight_map": places}
    (path / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")


def test_shards_are_counted_together(tmp_path):
    sharded(tmp_path)
    found = examine(str(tmp_path))
    assert (found.files.files, found.files.params) == (2, PARAMS)
    assert found.files.size_bytes == sum(path.stat().st_size for path in tmp_path.glob("*.safetensors"))


def test_shards_that_are_not_here_are_named(tmp_path):
    sharded(tmp_path)
    (tmp_path / "model-00002-of-00002.safetensors").unlink()
    found = examine(str(tmp_path))
    assert not found.files.complete
    assert found.files.tensors_bytes == 2 * PARAMS
    assert found.files.params is None
    assert any(
        "model-00002-of-00002.safetensors" in value for note in notes(found) for value in note.values()
    )
    assert found.arch.warnings


def test_an_index_may_not_point_out_of_its_folder(tmp_path):
    sharded(tmp_path)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "../secret.safetensors"}}), encoding="utf-8")
    with pytest.raises(DataError, match="weight_map"):
        examine(str(tmp_path))


def test_a_tensor_in_two_shards_is_an_error(tmp_path):
    sharded(tmp_path)
    first, second = sorted(tmp_path.glob("*.safetensors"))
    second.write_bytes(first.read_bytes())
    with pytest.raises(DataError) as refused:
        examine(str(tmp_path))
    assert values(refused.value.sentence)["name"] in tensors()


def test_a_weight_file_named_by_itself(tmp_path):
    folder(tmp_path, tensors())
    assert examine(str(tmp_path / "model.safetensors")).files.params == PARAMS
    (tmp_path / "config.json").unlink()
    with pytest.raises(MissingError, match=r"config\.json"):
        examine(str(tmp_path / "model.safetensors"))


def adapter(path, base):
    path.mkdir(exist_ok=True)
    told = {
        "peft_type": "LORA",
        "r": 8,
        "target_modules": ["q_proj", "v_proj"],
        "base_model_name_or_path": base,
    }
    (path / "adapter_config.json").write_text(json.dumps(told), encoding="utf-8")
    write_safetensors(
        path / "adapter_model.safetensors",
        {"a.lora_A.weight": ("F32", (8, 64)), "a.lora_B.weight": ("F32", (64, 8))},
    )
    return str(path)


def test_an_adapter_opens_its_base_model(tmp_path):
    found = examine(adapter(tmp_path / "lora", "meta-llama/Llama-3.1-8B"))
    assert found.arch.name == "meta-llama/Llama-3.1-8B"
    assert (found.adapter.rank, found.adapter.params, found.adapter.targets) == (
        8,
        1024,
        ("q_proj", "v_proj"),
    )
    assert values(found.arch.warnings[-1])["params"] == "1,024"


def test_an_adapter_beside_its_model_is_noted(tmp_path):
    folder(tmp_path, tensors())
    adapter(tmp_path, "x")
    found = examine(str(tmp_path))
    assert found.files.params == PARAMS
    assert found.adapter.params == 1024
    assert {"kind": "LORA", "rank": "8", "params": "1,024"} in notes(found)


def test_adapters_in_a_circle_end(tmp_path):
    adapter(tmp_path / "two", str(tmp_path / "one"))
    with pytest.raises(DataError, match="adapter"):
        examine(adapter(tmp_path / "one", str(tmp_path / "two")))
    with pytest.raises(DataError, match="adapter"):
        examine(adapter(tmp_path / "self", str(tmp_path / "self")))


def test_an_adapter_without_a_base_says_so(tmp_path):
    with pytest.raises(DataError) as refused:
        examine(adapter(tmp_path / "lora", None))
    assert values(refused.value.sentence) == {"path": str(tmp_path / "lora")}


def pipeline(path):
    parts = {
        "_class_name": "Pipeline",
        "text_encoder": ["transformers", "LlamaModel"],
        "tokenizer": ["transformers", "LlamaTokenizer"],
        "scheduler": ["diffusers", "DDIMScheduler"],
        "safety_checker": [None, None],
        "transformer": ["diffusers", "Something"],
    }
    (path / "model_index.json").write_text(json.dumps(parts), encoding="utf-8")
    for part in ("text_encoder", "transformer"):
        (path / part).mkdir()
        folder(path / part, tensors())
    return str(path)


def test_a_pipeline_is_all_its_parts_and_each_can_be_named(tmp_path):
    found = examine(pipeline(tmp_path))
    assert [tower.name for tower in found.arch.towers] == ["text_encoder", "transformer"]
    assert found.arch.trunk.name == "transformer"
    assert count.params(found.arch) == 2 * PARAMS == found.files.params
    assert found.files.files == 2
    assert count.params(open_model(f"{tmp_path}#transformer")) == PARAMS
    with pytest.raises(DataError, match="text_encoder, transformer"):
        open_model(f"{tmp_path}#vae")


def test_a_part_that_cannot_be_read_is_named(tmp_path):
    path = pipeline(tmp_path)
    (tmp_path / "text_encoder" / "config.json").unlink()
    found = examine(path)
    assert count.params(found.arch) == PARAMS
    assert "text_encoder" in str(found.arch.warnings[-1])
    assert not found.files.complete


def test_pipelines_of_images_add_up(tmp_path, shared):
    parts = {"unet": "unet", "vae": "vae"}
    (tmp_path / "model_index.json").write_text(
        json.dumps({part: ["diffusers", "X"] for part in parts}), encoding="utf-8"
    )
    total = 0
    for part in parts:
        config = shared / "models" / "configs" / f"stable-diffusion-v1-5__stable-diffusion-v1-5#{part}.json"
        (tmp_path / part).mkdir()
        (tmp_path / part / "config.json").write_bytes(config.read_bytes())
        total += count.params(open_model(f"stable-diffusion-v1-5/stable-diffusion-v1-5#{part}"))
    found = open_model(str(tmp_path))
    assert count.params(found) == total
    assert found.trunk.name.startswith("unet")
