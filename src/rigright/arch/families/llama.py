"""Llama and the many that share its shape: RMSNorm, rotary GQA, gated ffn, no biases unless asked."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder
from rigright.arch.record import Arch

MATCHES = (
    "llama",
    "LlamaForCausalLM",
    "LLaMAForCausalLM",
    "SolarForCausalLM",
    "solar",
    "Yi",
    "YiForCausalLM",
    "aquila",
    "AquilaForCausalLM",
    "AquilaModel",
    "iquestcoder",
    "IQuestCoderForCausalLM",
    "deepseek_llm",
    "skywork",
    "SkyworkForCausalLM",
    "xverse",
    "XverseForCausalLM",
    "emu3_text_model",
    "mllama_llama",
    "vicuna",
    "smollm",
)


def read(config: Config, name: str) -> Arch:
    """Read a Llama config."""
    biased = config.flag("attention_bias", default=False)
    style = Style(
        family="llama",
        qkv_bias=biased or config.flag("qkv_bias", default=False),
        out_bias=biased,
        ffn_bias=config.flag("mlp_bias", default=False),
    )
    return read_decoder(config, name, style=style)
