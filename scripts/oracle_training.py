"""Counts, with PyTorch and transformers themselves, what a layer keeps for its backward pass and works with.

    ORACLE/bin/python scripts/oracle_training.py > tests/cost/saved_by_torch.json

Models are built on fake tensors, so nothing is allocated; every storage that lives is counted. Attention
stands in for FlashAttention (what it saves: q, k, v, output, log-sum-exp). The difference between four and
two layers is what one layer keeps; with recompute of everything, the peak of the backward pass less what
stood before it is what one layer works with.
"""

# torch's own hooks and signatures:
# ruff: noqa: ANN001, ANN003, ANN201, ANN204, ANN205, ARG001, ARG004, D102, D103, FBT003, SLF001

from __future__ import annotations

import contextlib
import json
import weakref

import torch
import transformers
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten
from transformers import AutoModelForCausalLM, GPTNeoXConfig, LlamaConfig, MixtralConfig, Qwen3Config
from transformers.masking_utils import AttentionMaskInterface
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

SEQ_TOK, VOCAB, RANK = 512, 1024, 16


class Live(TorchDispatchMode):
    """Bytes of all storages that live, and their peak."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: dict[int, int] = {}
        self.now = self.peak = 0

    def add(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key not in self.sizes:
            self.sizes[key] = storage.nbytes()
            self.now += storage.nbytes()
            weakref.finalize(storage, self.drop, key)

    def drop(self, key: int) -> None:
        self.now -= self.sizes.pop(key, 0)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for tensor in tree_flatten(out)[0]:
            if isinstance(tensor, torch.Tensor):
                self.add(tensor)
        self.peak = max(self.peak, self.now)
        return out


class Flash(torch.autograd.Function):
    """Saves what FlashAttention saves."""

    @staticmethod
    def forward(ctx, q, k, v):
        out = torch.empty_like(q)
        sums = torch.empty(q.shape[0], q.shape[2], q.shape[1], dtype=torch.float32)
        ctx.save_for_backward(q, k, v, out, sums)
        return out

    @staticmethod
    def backward(ctx, grad):
        q, k, v, _, _ = ctx.saved_tensors
        return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)


def flash(module, query, key, value, attention_mask, **_):
    heads = [part.transpose(1, 2) for part in (query, key, value)]
    heads = [part.to(torch.bfloat16) if part.dtype == torch.float32 else part for part in heads]
    return Flash.apply(*heads), None


ALL_ATTENTION_FUNCTIONS.register("stand_in", flash)
AttentionMaskInterface.register("stand_in", lambda *_, **__: None)


class Adapter(nn.Module):
    """A linear layer with a low-rank adapter in fp32, as PEFT computes it."""

    def __init__(self, base: nn.Linear) -> None:
        super().__init__()
        self.base = base
        self.a = nn.Linear(base.in_features, RANK, bias=False, dtype=torch.float32)
        self.b = nn.Linear(RANK, base.out_features, bias=False, dtype=torch.float32)

    def forward(self, x):
        out = self.base(x)
        return (out + self.b(self.a(x.to(self.a.weight.dtype))) * 2.0).to(out.dtype)


def attach(model: nn.Module, targets: list[str]) -> None:
    for weight in model.parameters():
        weight.requires_grad_(False)
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if name in targets:
                setattr(module, name, Adapter(child))
    model.enable_input_require_grads()


def measure(config, case: dict) -> tuple[int, int]:
    """Bytes kept after the forward pass, and the peak of the backward pass, above what stood before."""
    config._attn_implementation = case.get("attention", "stand_in")
    config.use_cache = False
    with FakeTensorMode(allow_non_fake_inputs=True):
        live = Live()
        dtype = torch.float32 if case.get("precision") == "bf16-amp" else torch.bfloat16
        model = AutoModelForCausalLM.from_config(config, dtype=dtype).train()
        if "targets" in case:
            attach(model, [f"{name}_proj" for name in case["targets"].split()])
        if case.get("recompute") == "full":
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        tokens = torch.zeros(1, SEQ_TOK, dtype=torch.long)
        for tensor in (*model.parameters(), *model.buffers(), tokens):
            live.add(tensor)
        before, live.peak = live.now, 0
        mixed = torch.autocast("cpu", torch.bfloat16) if case.get("autocast") else contextlib.nullcontext()
        with live:
            with mixed:
                out = model(input_ids=tokens, labels=tokens)
            kept, live.peak = live.now - before, 0
            out.loss.backward()
    return kept, live.peak - before


def sizes(hidden: int, width: int, heads: int, kv_heads: int) -> dict:
    return {
        "hidden_size": hidden,
        "intermediate_size": width,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "vocab_size": VOCAB,
        "head_dim": hidden // heads,
    }


MODELS = {
    "llama": (LlamaConfig, sizes(1024, 3584, 16, 4)),
    "qwen3": (Qwen3Config, sizes(1024, 3072, 16, 8)),
    "mixtral": (MixtralConfig, sizes(512, 1792, 8, 4) | {"num_local_experts": 8, "num_experts_per_tok": 2}),
    "gpt_neox": (
        GPTNeoXConfig,
        {"hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16, "vocab_size": VOCAB}
        | {"attention_dropout": 0.0, "hidden_dropout": 0.0},
    ),
}
QKVO = "q k v o"
CASES = (
    {"model": "llama"},
    {"model": "llama", "attention": "eager"},
    {"model": "llama", "precision": "bf16-amp", "autocast": True},
    {"model": "llama", "targets": QKVO, "autocast": True},
    {"model": "llama", "targets": QKVO},
    {"model": "llama", "targets": "q v", "autocast": True},
    {"model": "llama", "targets": "gate up down", "autocast": True},
    {"model": "llama", "recompute": "full"},
    {"model": "llama", "targets": QKVO, "autocast": True, "recompute": "full"},
    {"model": "qwen3"},
    {"model": "qwen3", "targets": QKVO, "autocast": True},
    {"model": "mixtral"},
    {"model": "gpt_neox"},
)


def row(case: dict) -> dict:
    kind, values = MODELS[case["model"]]
    kept2, peak2 = measure(kind(**values, num_hidden_layers=2), case)
    kept4, peak4 = measure(kind(**values, num_hidden_layers=4), case)
    return {
        **case,
        "config": values | {"model_type": case["model"]},
        "seq_tok": SEQ_TOK,
        "kept_bytes": (kept4 - kept2) // 2,
        "kept2_bytes": kept2,
        "peak2_bytes": peak2,
        "peak4_bytes": peak4,
    }


def main() -> None:
    versions = f"torch {torch.__version__}, transformers {transformers.__version__}"
    print(json.dumps({"by": versions, "rows": [row(case) for case in CASES]}, indent=1))


if __name__ == "__main__":
    main()
