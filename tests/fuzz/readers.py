"""Fuzzes a reader of foreign bytes by coverage: `readers.py gguf|safetensors|config|shape|name [flags]`.

Needs atheris, which no other test does. Only a RigError may come out of a reader, whatever it reads.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

sys.path.insert(0, str(Path(__file__).parent.parent))

with atheris.instrument_imports(include=["rigright"]):
    from made_files import gguf_bytes, llama_gguf, safetensors_bytes
    from rigright.arch import cache, count
    from rigright.arch.sources import find, safetensors, shape
    from rigright.arch.sources.open import examine
    from rigright.base.errors import RigError

SECONDS = 30
SMALL = (1, 64, 2, 1, 64, 32, 32)
CONFIG = (
    b'{"model_type":"llama","hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,'
    b'"num_key_value_heads":2,"intermediate_size":128,"vocab_size":100}'
)
SEEDS = {
    "gguf": [
        gguf_bytes(*llama_gguf(SMALL), data=False),
        gguf_bytes(*llama_gguf(SMALL), order=">", data=False),
    ],
    "safetensors": [safetensors_bytes({"a": ("BF16", (4, 6)), "b": ("F32", (3,))})],
    "config": [CONFIG],
    "shape": [b"layers=32,hidden=4096,heads=32,kv_heads=8,ffn=14336,vocab=128256"],
    "name": [b"llama 3.1 70b", "通义千问 7b awq".encode()],
}


def target(reader: str, folder: Path):
    """What one input is put through."""
    path = folder / {"gguf": "m.gguf", "safetensors": "m.safetensors"}.get(reader, "config.json")

    def of_file(raw: bytes) -> None:
        path.write_bytes(raw)
        if reader == "safetensors":
            safetensors.read_header(path)
            return
        arch = examine(str(path)).arch
        count.params(arch)
        cache.kv_bytes_per_token(arch)

    def of_text(raw: bytes) -> None:
        text = raw.decode("utf-8", "replace")
        shape.read_shape(text) if reader == "shape" else find.find(text)

    def one(raw: bytes) -> None:
        try:
            (of_text if reader in {"shape", "name"} else of_file)(raw)
        except RigError as error:
            str(error.sentence)

    return one


def main() -> None:
    """Fuzz one reader for half a minute, or as the flags say."""
    reader, flags = sys.argv[1], sys.argv[2:] or [f"-max_total_time={SECONDS}"]
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus"
        corpus.mkdir()
        for number, seed in enumerate(SEEDS[reader]):
            (corpus / str(number)).write_bytes(seed)
        limits = ["-rss_limit_mb=1024", "-timeout=10", "-max_len=4096"]
        atheris.Setup([sys.argv[0], str(corpus), *limits, *flags], target(reader, Path(folder)))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
