"""A Llama of two layers that a test makes: what a plan, a client and llama-server read of it.

Its layers do nothing, and its head has one row that is not zero: it says one word, whatever it is asked.
"""

from __future__ import annotations

import json
import struct

from made_files import Signed, llama_gguf, write_gguf

PLAIN = 4096  # words beside the bytes, so that next to no random prompt is broken UTF-8
WORD = 300  # what it says
SIZES = (
    2,
    64,
    4,
    4,
    128,
    259 + PLAIN,
    16,
)  # layers, hidden, heads, kv heads, ffn, vocabulary, width of a head


def tiny(folder):
    """A Llama of 2 layers: its config and tokenizer for the plan and the client, its GGUF for the server."""
    layers, hidden, heads, kv, ffn, vocab, _ = SIZES
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": layers,
        "hidden_size": hidden, "num_attention_heads": heads, "num_key_value_heads": kv,
        "intermediate_size": ffn,
        "vocab_size": vocab, "max_position_embeddings": 4096, "torch_dtype": "float16",
        "tie_word_embeddings": False,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    words = [
        "<unk>",
        "<s>",
        "</s>",
        *(f"<0x{byte:02X}>" for byte in range(256)),
        *(chr(0x4E00 + place) for place in range(PLAIN)),
    ]
    model = {
        "type": "BPE", "byte_fallback": True, "unk_token": "<unk>", "merges": [],
        "vocab": {word: place for place, word in enumerate(words)},
    }  # fmt: skip
    decoder = {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]}
    added = [
        {"id": place, "content": word, "special": True, "single_word": False, "lstrip": False,
         "rstrip": False,
         "normalized": False}
        for place, word in enumerate(words[:3])
    ]  # fmt: skip
    told = {"version": "1.0", "added_tokens": added, "model": model, "decoder": decoder, "normalizer": None,
            "pre_tokenizer": None, "post_processor": None, "truncation": None, "padding": None}  # fmt: skip
    (folder / "tokenizer.json").write_text(json.dumps(told))
    kind = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(kind))
    extra = {
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": 16,
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": words,
        "tokenizer.ggml.scores": [0.0] * len(words),
        "tokenizer.ggml.token_type": [Signed(kind) for kind in (2, 3, 3, *([6] * 256), *([1] * PLAIN))],
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.unknown_token_id": 0,
    }
    hidden_row = struct.pack("<e", 1.0) * hidden
    filled = {
        "token_embd.weight": hidden_row * vocab,
        "output_norm.weight": struct.pack("<f", 1.0) * hidden,
        "output.weight": bytes(len(hidden_row) * WORD) + hidden_row,
    }
    return write_gguf(folder / "tiny model's.gguf", *llama_gguf(SIZES, extra=extra), filled=filled)
