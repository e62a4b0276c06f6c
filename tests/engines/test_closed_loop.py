"""The loop on a CPU: plan, export, the real llama-server, the real client, and `validate` of its file."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest

from made_files import Signed, llama_gguf, write_gguf
from ports import free_ports
from rigright.options.read import read_wish
from rigright.report.pages import validate as pages
from rigright.report.pages.plan_data import plain
from rigright.verbs.export import launch_files, write
from rigright.verbs.plan import plan
from rigright.verbs.runs.setup import setup_of
from rigright.verbs.validate.frame import validate

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rigright-engines"
SERVER = next(CACHE.glob("llama.cpp-*/build/bin/llama-server"), None)
CLIENT = next(CACHE.glob("vllm-*/bin/vllm"), None)
PLAIN = 4096  # words beside the bytes, so that next to no random text is broken UTF-8
SIZES = (
    2,
    64,
    4,
    4,
    128,
    259 + PLAIN,
    16,
)  # layers, hidden, heads, kv heads, ffn, vocabulary, width of a head

pytestmark = pytest.mark.skipif(
    not os.environ.get("RIGRIGHT_ENGINES"), reason="`make test-engines` runs these"
)


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
    return write_gguf(folder / "tiny model's.gguf", *llama_gguf(SIZES, extra=extra))


@contextlib.contextmanager
def started(script, folder, port):
    """The exported server, on a port that is free, until it is ended by its process id."""
    env = {**os.environ, "PATH": f"{SERVER.parent}:{os.environ['PATH']}"}
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(
            ["sh", script, "--port", str(port)], cwd=folder, env=env, stdout=log, stderr=log
        )
    try:
        yield server
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(20)


def healthy(port, server, log):
    """Wait until the planned health check answers."""
    for _ in range(300):
        assert server.poll() is None, log.read_text()[-3000:]
        with (
            contextlib.suppress(OSError),
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health") as answer,
        ):
            return answer.status == 200
        time.sleep(0.2)
    return False


def test_plan_export_server_client_validate(tmp_path):
    assert SERVER is not None
    assert CLIENT is not None
    model = tmp_path / "tiny"
    model.mkdir()
    gguf = tiny(model)
    said = {"on": "rtx 3090", "engine": "llama.cpp", "weights": "gguf:F16", "users": "2",
            "prompt": "64", "output": "16", "context": "1024"}  # fmt: skip
    data = plain(plan(str(model), wish=read_wish(said)), "en")
    (tmp_path / "plan.json").write_text(json.dumps(data, default=str))
    write(launch_files("llama.cpp", data, checkpoint=str(gguf)), str(tmp_path / "launch"))
    (port,) = free_ports(1)
    with started("serve.sh", tmp_path / "launch", port) as server:
        assert healthy(port, server, tmp_path / "launch" / "server.log")
        env = {**os.environ, "PATH": f"{CLIENT.parent}:{os.environ['PATH']}", "HF_HUB_OFFLINE": "1"}
        done = subprocess.run(
            ["sh", "bench.sh", "--base-url", f"http://127.0.0.1:{port}", "--num-prompts", "8"],
            cwd=tmp_path / "launch", env=env, capture_output=True, text=True, timeout=240, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    found = json.loads((tmp_path / "launch" / "bench.json").read_text())
    assert found["completed"] == 8
    assert 8 * 12 < found["total_output_tokens"] <= 8 * 16  # pieces of broken UTF-8 arrive together
    result = validate(
        [str(tmp_path / "launch" / "bench.json")],
        setup=setup_of("validate", {"plan": str(tmp_path / "plan.json")}),
    )
    scores = {one["name"]: one for one in pages.plain(result, "en")["scores"] if one["of"] == "group"}
    assert {"ttft_ms", "tpot_ms", "output_tok_s_total"} <= set(scores)
    assert all(one["answered"] == 1 for one in scores.values())
