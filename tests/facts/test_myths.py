"""Every myth of the guides: each figure of the table is what our tables and laws compute."""

from __future__ import annotations

import csv
import math
import re
from functools import cache

import pytest

from refusals import refused
from rigright.arch import cache as kv_cache
from rigright.arch import count as counts
from rigright.arch.sources.open import open_model
from rigright.base.errors import AskError
from rigright.base.units import GIB, GIGA, MEGA, TERA
from rigright.base.words import Sentence, sentences, tell
from rigright.cost.training.acts import activations
from rigright.cost.training.setup import stage_of
from rigright.demand import Layout, Training
from rigright.facts.chips import by_id, chips
from rigright.facts.clouds import find_instance
from rigright.facts.cpus import cpus
from rigright.facts.engines import find_engine
from rigright.facts.fabrics import pcie_bytes_per_s, pcie_raw_bytes_per_s
from rigright.facts.guides import MythValue, find_myth, myths
from rigright.facts.parts import platforms
from rigright.facts.software import tensorflow_releases, torch_builds, version_of
from rigright.terms.memory import weights_bytes
from rigright.terms.training import set_up

UNITS = (  # how a field's name ends -> base units in one of the table
    ("_flops_per_s", TERA), ("transfers_per_s", MEGA), ("_bytes_per_s", GIGA), ("mem_bytes", GIB),
)  # fmt: skip


def field(record, name):
    """A field in the unit that the table says it in."""
    value = getattr(record, name)
    scale = next((scale for ending, scale in UNITS if name.endswith(ending)), 1.0)
    return value / scale if isinstance(value, int | float) else value


def chip(name, asked):
    return field(by_id()[name], asked)


def among(kind, **where):
    ((name, start),) = where.items()
    return [one for one in kind if str(getattr(one, name)).startswith(start)]


def most(asked, **where):
    return max(field(one, asked) or 0 for one in among(chips(), **where))


def count(asked, **where):
    return sum(getattr(one, asked) is not None for one in among(chips(), **where))


def cpu(name, asked):
    (found,) = (one for one in cpus() if one.id == name)
    return field(found, asked)


def platform(name, asked):
    (found,) = (one for one in platforms() if one.id == name)
    return field(found, asked)


def cloud(name, asked):
    if asked == "network_gbit_per_s":
        return find_instance(name).network_bytes_per_s * 8 / GIGA
    return field(find_instance(name), asked)


def engine(name, asked):
    return field(find_engine(name), asked)


def weights(model, form):
    return weights_bytes(open_model(model), form) / GIGA


def cards_for(model, form, name):
    return math.ceil(weights_bytes(open_model(model), form) / by_id()[name].mem_usable_bytes)


@cache
def params(model):
    return counts.params(open_model(model)) / GIGA


def kv(model, tokens):
    return kv_cache.kv_bytes_per_token(open_model(model)) * tokens / GIGA


def saved(model, tokens, recompute):
    arch = open_model(model)
    setup = set_up(Training(seq_tok=tokens, recompute=recompute), hidden=arch.trunk.hidden)
    return float(activations(stage_of(arch, setup, layout=Layout(), index=0)).kept) / GIGA


def pcie(gen, lanes):
    return pcie_bytes_per_s(gen, lanes) / GIGA


def pcie_raw(gen, lanes):
    return pcie_raw_bytes_per_s(gen, lanes) / GIGA


def built_for(capability):
    wanted = tuple(map(int, capability.split(".")))
    builds = [one for one in torch_builds() if wanted in one.capabilities and one.confidence != "low"]
    return sorted(builds, key=lambda one: version_of(one.torch))


def torch_first(capability):
    return built_for(capability)[0].torch


def torch_last(capability):
    newest = built_for(capability)[-1].torch
    return (
        f"{newest} ({', '.join(sorted(one.build for one in built_for(capability) if one.torch == newest))})"
    )


def torch_min_cc(version, name):
    (found,) = [one for one in torch_builds() if (one.torch, one.build) == (version, name)]
    return "{}.{}".format(*min(found.capabilities))


def torch_python(version):
    return among(torch_builds(), torch=version)[0].python


def torch_variants():
    builds = {one.build for one in torch_builds() if one.build.startswith("cu")}
    return ", ".join(sorted(builds, key=lambda name: int(name.removeprefix("cu"))))


def tensorflow(version, name):
    (found,) = among(tensorflow_releases(), tensorflow=version)
    return getattr(found, name)


# what tables and laws compute; other figures are words of the row's own source
# fmt: off
COMPUTED = {
    1: lambda: {"with_link": count("link", architecture="Ada"), "ada": count("id", architecture="Ada")},
    2: lambda: {
        "link": chip("rtx-4090", "link"), "gen": chip("rtx-4090", "pcie_gen"),
        "lanes": chip("rtx-4090", "pcie_lanes"), "pcie": pcie(4, 16),
    },
    3: lambda: {
        "a100": chip("a100-sxm4-80gb", "link_both_ways_bytes_per_s"),
        "h100": chip("h100-sxm5-80gb", "link_both_ways_bytes_per_s"),
        "b200": chip("b200-sxm", "link_both_ways_bytes_per_s"),
    },
    4: lambda: {
        "raw": 2 * pcie_raw(4, 16), "pcie": 2 * pcie(4, 16),
        "ratio": chip("a100-sxm4-80gb", "link_both_ways_bytes_per_s") / (2 * pcie_raw(4, 16)),
    },
    5: lambda: {"one": pcie_raw(4, 16), "both": 2 * pcie_raw(4, 16), "net": pcie(4, 16)},
    6: lambda: {
        "a100": chip("a100-sxm4-80gb", "link_both_ways_bytes_per_s"),
        "h100": chip("h100-sxm5-80gb", "link_both_ways_bytes_per_s"),
    },
    7: lambda: {
        "one": chip("a100-sxm4-80gb", "fp16_flops_per_s"),
        "four": 4 * chip("a100-sxm4-80gb", "fp16_flops_per_s"),
        "sparse": 2 * chip("a100-sxm4-80gb", "fp16_flops_per_s"),
    },
    8: lambda: {
        "pcie": chip("a100-pcie-80gb", "mem_bytes_per_s"),
        "sxm": chip("a100-sxm4-80gb", "mem_bytes_per_s"),
        "four_pcie": 4 * chip("a100-pcie-80gb", "mem_bytes_per_s"),
        "four_sxm": 4 * chip("a100-sxm4-80gb", "mem_bytes_per_s"),
        "small": chip("a100-sxm4-40gb", "mem_bytes_per_s"),
    },
    9: lambda: {
        "small": chip("a100-sxm4-40gb", "mem_bytes_per_s"),
        "pcie": chip("a100-pcie-80gb", "mem_bytes_per_s"),
        "sxm": chip("a100-sxm4-80gb", "mem_bytes_per_s"),
    },
    10: lambda: {
        "dense": chip("rtx-4090", "fp16_flops_per_s"), "sparse": 2 * chip("rtx-4090", "fp16_flops_per_s"),
        "acc32": chip("rtx-4090", "fp16_acc32_flops_per_s"),
    },
    11: lambda: {
        "sparse": 2 * chip("rtx-a6000", "fp16_flops_per_s"),
        "dense": chip("rtx-a6000", "fp16_flops_per_s"),
        "a100": chip("a100-sxm4-80gb", "fp16_flops_per_s"),
    },
    12: lambda: {
        "r4090": chip("rtx-4090", "fp16_acc32_flops_per_s"),
        "a6000": chip("rtx-a6000", "fp16_acc32_flops_per_s"),
        "ada": chip("rtx-6000-ada", "fp16_acc32_flops_per_s"),
    },
    13: lambda: {"slots": chip("rtx-4090", "slots")},
    14: lambda: {
        "h200": chip("h200-nvl-141gb", "tdp_w"), "pro": chip("rtx-pro-6000-blackwell-ws", "tdp_w"),
        "bridge": chip("h200-nvl-141gb", "link_both_ways_bytes_per_s"),
    },
    15: lambda: {"domain": chip("h100-sxm5-80gb", "link_max_chips")},
    16: lambda: {"launch": chip("v100-sxm2-32gb", "launch"), "now": platform("hgx-h100-h200-8", "name")},
    17: lambda: {"gib": 81920 / 1024},
    18: lambda: {
        "gtx": chip("gtx-1080-ti", "mem_bytes_per_s"), "p100": chip("tesla-p100-sxm2", "mem_bytes_per_s"),
        "v100": chip("v100-sxm2-32gb", "mem_bytes_per_s"),
        "a100": chip("a100-sxm4-40gb", "mem_bytes_per_s"),
    },
    19: lambda: {
        "ada": chip("rtx-4090", "launch"), "hopper": chip("h100-sxm5-80gb", "launch"),
        "blackwell": chip("b200-sxm", "launch"), "ultra": chip("b300-sxm", "launch"),
    },
    20: lambda: {"turing": chip("rtx-2080-ti", "isa")},
    21: lambda: {
        "one": chip("a100-sxm4-40gb", "link_both_ways_bytes_per_s"),
        "all": 8 * chip("a100-sxm4-40gb", "link_both_ways_bytes_per_s"),
        "n": cloud("p4d.24xlarge", "n_chips"), "mem": chip("a100-sxm4-40gb", "mem_bytes"),
    },
    22: lambda: {
        "high": cloud("a3-highgpu-8g", "network_gbit_per_s"),
        "mega": cloud("a3-megagpu-8g", "network_gbit_per_s"),
    },
    23: lambda: {"inside": chip("h100-sxm5-80gb", "link_both_ways_bytes_per_s"), "between": 8 * 400 / 8},
    24: lambda: {
        "own": chip("h100-sxm5-80gb", "fp8_flops_per_s") / chip("h100-sxm5-80gb", "fp16_flops_per_s"),
        "a100": chip("h100-sxm5-80gb", "fp8_flops_per_s") / chip("a100-sxm4-80gb", "fp16_flops_per_s"),
    },
    26: lambda: {
        "bw": chip("rtx-3090", "mem_bytes_per_s"),
        "ratio": chip("rtx-3090", "mem_bytes_per_s") / chip("rtx-4090", "mem_bytes_per_s"),
    },
    27: lambda: {
        "a": weights("deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", "bf16"),
        "b": weights("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "bf16"),
        "c": weights("deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "bf16"),
        "d": weights("deepseek-ai/DeepSeek-R1-Distill-Qwen-14B", "bf16"),
        "e": weights("deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", "bf16"),
        "f": weights("deepseek-ai/DeepSeek-R1-Distill-Llama-70B", "bf16"),
        "q4": weights("deepseek-ai/DeepSeek-R1-Distill-Llama-70B", "gguf:Q4_K_M"),
    },
    28: lambda: {
        "fp8": weights("deepseek-ai/DeepSeek-R1", "fp8-block"),
        "bf16": weights("deepseek-ai/DeepSeek-R1", "bf16"),
        "cards": 16 * chip("a100-sxm4-80gb", "mem_bytes"),
        "a100": chip("a100-sxm4-80gb", "fp8_flops_per_s"),
    },
    29: lambda: {"mem": chip("rtx-3070", "mem_bytes")},
    30: lambda: {
        "most": most("mem_bytes", name="GeForce RTX 30"),
        "weights": weights("meta-llama/Meta-Llama-3-70B", "bf16"),
        "n": cards_for("meta-llama/Meta-Llama-3-70B", "bf16", "rtx-3090"),
    },
    31: lambda: {
        "params": params("meta-llama/Llama-3.1-70B"),
        "q4": weights("meta-llama/Llama-3.1-70B", "gguf:Q4_K_M"),
        "awq": weights("meta-llama/Llama-3.1-70B", "awq4"),
    },
    32: lambda: {"weights": weights("bigscience/bloom", "bf16"), "states": 16 * params("bigscience/bloom")},
    33: lambda: {
        "bf16": weights("meta-llama/Llama-3.1-70B", "bf16"),
        "fp8": weights("meta-llama/Llama-3.1-70B", "fp8"), "card": chip("h100-sxm5-80gb", "mem_bytes"),
    },
    34: lambda: {
        "weights": weights("meta-llama/Llama-3.1-70B", "fp16"),
        "cards": 4 * chip("rtx-4090", "mem_bytes"),
    },
    35: lambda: {
        "nf4": weights("meta-llama/Llama-3.1-70B", "nf4"),
        "awq": weights("meta-llama/Llama-3.1-70B", "awq4"),
        "q4": weights("meta-llama/Llama-3.1-70B", "gguf:Q4_K_M"),
    },
    36: lambda: {
        "weights": weights("facebook/opt-175b", "fp16"), "states": 16 * params("facebook/opt-175b"),
    },
    37: lambda: {
        "weights": weights("facebook/opt-175b", "fp16"),
        "q4": weights("facebook/opt-175b", "gguf:Q4_K_M"),
    },
    38: lambda: {
        "states": 16 * params("meta-llama/Llama-2-7b-hf"),
        "weights": weights("meta-llama/Llama-2-7b-hf", "bf16"),
    },
    39: lambda: {"states": 10 * 16, "card": chip("a100-sxm4-80gb", "mem_bytes")},
    40: lambda: {
        "short": kv("meta-llama/Llama-3.1-8B", 2048), "long": kv("meta-llama/Llama-3.1-8B", 32768),
    },
    41: lambda: {"spread": 16 / 2},
    42: lambda: {
        "params": params("zai-org/AutoGLM-Phone-9B"),
        "weights": weights("zai-org/AutoGLM-Phone-9B", "bf16"),
    },
    43: lambda: {
        "full": saved("meta-llama/Llama-3.1-8B", 4096, "none"),
        "kept": saved("meta-llama/Llama-3.1-8B", 4096, "full"),
    },
    44: lambda: {
        "params": params("stabilityai/stable-diffusion-2-1#unet"),
        "weights": weights("stabilityai/stable-diffusion-2-1#unet", "fp16"),
    },
    45: lambda: {"cores": cpu("amd-epyc-7763", "cores")},
    46: lambda: {
        "type": cpu("amd-epyc-7763", "mem_type"), "speed": cpu("amd-epyc-7763", "mem_transfers_per_s"),
        "ch": cpu("amd-epyc-7763", "mem_channels"), "type2": cpu("amd-epyc-9654", "mem_type"),
        "ch2": cpu("amd-epyc-9654", "mem_channels"),
    },
    47: lambda: {"price": cpu("amd-epyc-7763", "list_price_usd")},
    48: lambda: {"cpu": cpu("amd-epyc-7763", "pcie_gen")},
    50: lambda: {"four": 4 * chip("a100-pcie-80gb", "tdp_w")},
    51: lambda: {"lanes": 4 * 16, "epyc": cpu("amd-epyc-7763", "pcie_lanes")},
    52: lambda: {"one": chip("rtx-a4000", "msrp_usd"), "four": 4 * chip("rtx-a4000", "msrp_usd")},
    53: lambda: {
        "q4": weights("meta-llama/Llama-3.1-70B", "gguf:Q4_K_M"),
        "n": cards_for("meta-llama/Llama-3.1-70B", "gguf:Q4_K_M", "rtx-4090"),
    },
    54: lambda: {"slow": 1 * 10 / 8, "ratio": 400 / 10},
    55: lambda: {
        "intel": cpu("intel-core-i9-14900k", "pcie_lanes_free"),
        "amd": cpu("amd-ryzen-9-7950x", "pcie_lanes_free"),
    },
    57: lambda: {"variants": torch_variants()},
    58: lambda: {"a": tensorflow("2.14.0", "cuda"), "b": tensorflow("2.15.0", "cuda")},
    62: lambda: {"python": torch_python("2.9")},
    65: lambda: {
        "volta": torch_first("7.0"), "ampere": torch_first("8.0"), "ga10x": torch_first("8.6"),
        "pascal": torch_last("6.0"),
    },
    66: lambda: {
        "old": torch_min_cc("2.8", "cu128"), "new": torch_min_cc("2.11", "cu128"),
        "cu130": torch_min_cc("2.11", "cu130"),
    },
    69: lambda: {"cores": chip("rtx-4090", "cores")},
    73: lambda: {"block": engine("vllm", "block_tok")},
}
# fmt: on


@pytest.mark.parametrize("number", sorted(COMPUTED))
def test_a_figure_of_the_table_is_what_is_computed(number):
    found = find_myth(str(number)).figures
    for name, value in COMPUTED[number]().items():
        shown = found[name].value
        if isinstance(value, str):
            assert str(shown) == value, name
        else:
            assert shown == (value and pytest.approx(value, rel=1e-5)), name


def test_only_words_are_not_computed():
    """Two disks stand in no table of ours."""
    typed = {
        (myth.id, name)
        for myth in myths()
        for name, figure in myth.figures.items()
        if isinstance(figure.value, float) and name not in COMPUTED.get(myth.id, dict)()
    }
    assert typed == {(48, "gen"), (48, "read"), (49, "x16"), (49, "x18")}
    assert [myth.id for myth in myths()] == list(range(1, 77))


def test_the_list_of_claims_is_covered(shared):
    with (shared / "facts" / "claims.csv").open(encoding="utf-8") as file:
        assert {int(row["id"]) for row in csv.DictReader(file)} == {myth.id for myth in myths()}


@pytest.mark.parametrize("myth", myths(), ids=lambda myth: str(myth.id))
def test_both_languages_say_it_with_the_same_figures(myth):
    chinese = sentences("zh")
    for text in (myth.claim.text, myth.right):
        told = chinese.get(text, text)
        assert set(re.findall(r"{(\w+)}", text)) == set(re.findall(r"{(\w+)}", told))
        if text not in chinese:
            assert not re.search(
                r"[a-z]{4,} [a-z]{4,}", re.sub(r"{\w+}", "", text).replace("pip install", "")
            )
    assert "{" not in tell(myth.correction, "en")
    assert "{" not in tell(myth.correction, "zh")


def test_words_of_figures_are_told_in_both_languages():
    chinese = sentences("zh")
    for myth in myths():
        for figure in myth.figures.values():
            words = str(figure.value)
            assert not re.search(r"[a-z]{3,} [a-z]{3,}", words) or words in chinese


@pytest.mark.parametrize("asked", ["77", "0", "x"])
def test_a_number_that_no_myth_has(asked):
    with refused(AskError, asked):
        find_myth(asked)


def test_figures_are_shown_with_their_unit():
    assert find_myth("6").figures["a100"].shown == "600 GB/s"
    assert find_myth("7").figures["four"].shown == "1,248 TFLOPS"
    assert isinstance(MythValue(None).shown, Sentence)
