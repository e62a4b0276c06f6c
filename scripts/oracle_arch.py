"""Counts models twice, by rigright's families and by transformers on torch's meta device.

An independent second program to check a family against, over random small configs.
Run where torch and transformers are installed:

    python scripts/oracle_arch.py llama qwen3 gemma3_text     # these kinds, 12 random configs each
    python scripts/oracle_arch.py --tries 40 mistral
    python scripts/oracle_arch.py --cache mistral             # the cache of a forward pass too
    python scripts/oracle_arch.py                             # every causal language model there is
    python scripts/oracle_arch.py --classes                   # every class, as its config comes
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

import torch
import transformers
from transformers import CONFIG_MAPPING, AutoModelForCausalLM
from transformers.configuration_utils import PreTrainedConfig
from transformers.models.auto import modeling_auto
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from rigright.arch import cache, count
from rigright.arch.read import read_config
from rigright.arch.record import Arch
from rigright.base.errors import RigError

SHORT_TOK, LONG_TOK = 96, 160
# keys that say how large a model is -> small values to try
SIZES: dict[str, tuple[Any, ...]] = {
    "hidden_size": (64, 96, 128),
    "n_embd": (64, 96, 128),
    "d_model": (64, 96, 128),
    "emb_dim": (64, 128),
    "num_hidden_layers": (2, 5, 8),
    "n_layer": (2, 5),
    "n_layers": (2, 5),
    "num_layers": (2, 4),
    "decoder_layers": (2, 4),
    "encoder_layers": (2, 4),
    "num_attention_heads": (4, 8),
    "n_head": (4, 8),
    "n_heads": (4, 8),
    "num_heads": (4, 8),
    "attention_heads": (4, 8),
    "num_key_value_heads": (1, 2, 4),
    "num_kv_heads": (1, 2, 4),
    "head_dim": (None, 16, 24, 32),
    "intermediate_size": (80, 144, 256),
    "n_inner": (None, 80),
    "ffn_dim": (80, 144),
    "ffn_hidden_size": (None, 80),
    "dff": (80,),
    "dim_ff": (80,),
    "dim_head": (16, 24),
    "moe_intermediate_size": (48, 64),
    "shared_expert_intermediate_size": (32, 64),
    "shared_intermediate_size": (0, 64),
    "num_experts": (4, 8),
    "num_local_experts": (4, 8),
    "n_routed_experts": (4, 8),
    "n_shared_experts": (1, 2),
    "num_experts_per_tok": (1, 2),
    "first_k_dense_replace": (0, 1),
    "n_group": (1, 2),
    "topk_group": (1,),
    "vocab_size": (101, 256),
    "vocab_size_per_layer_input": (101,),
    "hidden_size_per_layer_input": (8, 16),
    "max_position_embeddings": (64, 200),
    "n_positions": (64, 200),
    "sliding_window": (None, 8, 33),
    "max_window_layers": (0, 2),
    "q_lora_rank": (None, 24),
    "kv_lora_rank": (16, 32),
    "qk_rope_head_dim": (8, 16),
    "qk_nope_head_dim": (16, 24),
    "v_head_dim": (16, 24),
    "index_n_heads": (2, 4),
    "index_head_dim": (16, 32),
    "num_kv_shared_layers": (0, 2),
    "laurel_rank": (8,),
}
# flags that change what a class does rather than what it holds
KEPT_FLAGS = frozenset(
    {"use_cache", "is_decoder", "is_encoder_decoder", "add_cross_attention", "causal", "is_encoder"}
    | {field.name for field in fields(PreTrainedConfig)}
)


@dataclass(frozen=True)
class Verdict:
    """What became of one random config."""

    raw: dict[str, Any]
    said: str  # "" where both agree
    skipped: bool = False  # transformers itself does not take it


def main() -> int:
    """Compare and print; the exit status says whether all agreed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*")
    parser.add_argument("--tries", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", action="store_true", help="run a forward pass and compare the cache")
    parser.add_argument("--classes", action="store_true", help="every class that an auto class can make")
    options = parser.parse_args()
    if options.classes:
        wrong = sum(not agrees(kind, name) for kind, name in classes(options.kinds))
        return min(wrong, 1)
    kinds = options.kinds or sorted(MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)
    agreed = [report(kind, options) for kind in kinds]
    return int(not all(agreed))


def report(kind: str, options: argparse.Namespace) -> bool:
    """One line for a kind, and one wrong config where there is any."""
    verdicts = list(compare(kind, tries=options.tries, seed=options.seed, with_cache=options.cache))
    wrong = [verdict for verdict in verdicts if verdict.said]
    taken = sum(not verdict.skipped for verdict in verdicts)
    print(
        f"{'WRONG' if wrong else 'ok' if taken else 'untried'} {kind}: {len(wrong)} of {taken} differ",
        flush=True,
    )
    for verdict in wrong[:2]:
        print("   ", verdict.said, json.dumps(verdict.raw, default=str)[:1500])
    return not wrong


def classes(kinds: list[str]) -> list[tuple[str, str]]:
    """Every kind of config with each class that an auto class makes of it; or of these kinds only."""
    found: dict[tuple[str, str], None] = {}
    for key, mapping in vars(modeling_auto).items():
        if key.startswith("MODEL_") and key.endswith("_MAPPING_NAMES"):
            for kind, names in mapping.items():
                every = (names,) if isinstance(names, str) else names
                found |= dict.fromkeys((kind, name) for name in every if not kinds or kind in kinds)
    return sorted(found)


def agrees(kind: str, name: str) -> bool:
    """One line for a class made of its config's own defaults."""
    try:
        config = CONFIG_MAPPING[kind]()
        with torch.device("meta"):
            model = getattr(transformers, name)(config)
    except Exception as error:  # noqa: BLE001 - whatever the other program refuses
        print(f"untried {kind} {name}: {error!r}"[:160], flush=True)
        return True
    said = difference({"model_type": kind, "architectures": [name]}, model, with_cache=False)
    print(f"{'WRONG' if said else 'ok'} {kind} {name}{said and ': '}{said}", flush=True)
    return not said


def compare(kind: str, *, tries: int, seed: int = 0, with_cache: bool = False) -> Iterator[Verdict]:
    """Random small configs of a kind, each counted by both; the class's own defaults come first."""
    rng = random.Random(f"{kind} {seed}")  # noqa: S311 - configs to try, no secret
    for turn in range(tries):
        raw = {"model_type": kind} if turn == 0 else variant(kind, rng)
        try:
            model = instantiate(kind, raw)
        except Exception as error:  # noqa: BLE001 - whatever the other program refuses
            yield Verdict(raw, "", skipped=True)
            if turn == 0:
                print("    its own defaults fail:", repr(error)[:160])
            continue
        named = {**raw, "architectures": [type(model).__name__]}
        yield Verdict(named, difference(named, model, with_cache=with_cache and turn > 0))


def variant(kind: str, rng: random.Random) -> dict[str, Any]:
    """A small config with random sizes and flags."""
    raw: dict[str, Any] = {"model_type": kind}
    for field in fields(CONFIG_MAPPING[kind]):
        if field.name in SIZES and not isinstance(field.default, list):
            raw[field.name] = rng.choice(SIZES[field.name])
        elif isinstance(field.default, bool) and field.name not in KEPT_FLAGS and rng.random() < 0.3:
            raw[field.name] = not field.default
        elif field.name in {"pad_token_id", "bos_token_id", "eos_token_id"}:
            raw[field.name] = 0
    return raw


def instantiate(kind: str, raw: dict[str, Any]) -> Any:
    """The model on the meta device: shapes without memory."""
    config = CONFIG_MAPPING[kind].from_dict({key: value for key, value in raw.items() if key != "model_type"})
    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(config).eval()


def difference(raw: dict[str, Any], model: Any, *, with_cache: bool) -> str:
    """What the two programs disagree on; "" for nothing."""
    theirs = sum(weight.numel() for weight in model.parameters())
    try:
        arch = read_config(raw, "oracle")
    except RigError as error:
        return f"refused: {error}"
    ours = count.params(arch)
    if ours != theirs:
        return f"{ours} parameters, not {theirs} ({ours - theirs:+d})"
    try:
        table = model.get_input_embeddings()
    except NotImplementedError:
        table = None
    if isinstance(table, torch.nn.Embedding) and table.weight.numel() != count.embedding_params(arch):
        return f"{count.embedding_params(arch)} in the token table, not {table.weight.numel()}"
    return cache_difference(arch, model) if with_cache else ""


def cache_difference(arch: Arch, model: Any) -> str:
    """Growth and constant part of the cache after a forward pass at two lengths."""
    try:
        short, long = (cache_bytes(model.to(torch.bfloat16), tokens) for tokens in (SHORT_TOK, LONG_TOK))
    except Exception as error:  # noqa: BLE001 - not every class runs on the meta device
        print("    no forward pass:", repr(error)[:160])
        return ""
    growth = (long - short) / (LONG_TOK - SHORT_TOK)
    constant = short - growth * SHORT_TOK
    ours = (cache.kv_bytes_per_token(arch), cache.kv_constant_bytes(arch))
    return "" if ours == (growth, constant) else f"cache {ours}, not {(growth, constant)}"


def cache_bytes(model: Any, tokens: int) -> int:
    """Bytes of every tensor in the cache after so many tokens."""
    with torch.device("meta"), torch.no_grad():
        held = model(torch.zeros((1, tokens), dtype=torch.long), use_cache=True).past_key_values
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors(held, set()))


def tensors(held: Any, seen: set[int]) -> Iterator[Any]:
    """Every tensor inside a cache object."""
    if id(held) in seen or held is None:
        return
    seen.add(id(held))
    if isinstance(held, torch.Tensor):
        yield held
        return
    inner = held if isinstance(held, list | tuple) else held.values() if isinstance(held, dict) else ()
    inside = inner or getattr(held, "__dict__", {}).values()
    for item in inside:
        if isinstance(item, torch.Tensor | list | tuple | dict) or hasattr(item, "__dict__"):
            yield from tensors(item, seen)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    raise SystemExit(main())
