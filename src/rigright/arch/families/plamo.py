"""PLaMo: Llama with attention and feed-forward side by side behind one norm, a key-value head for several."""

from __future__ import annotations

from rigright.arch.config import Config
from rigright.arch.decoder import HEADS, Style, read_decoder
from rigright.arch.record import Arch

MATCHES = ("plamo", "PlamoForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    shared = config.size("n_shared_head", default=8)
    kv_heads = -(-config.size(*HEADS) // shared)
    return read_decoder(config, name, style=Style(family="plamo", norms=1), kv_heads=kv_heads)
