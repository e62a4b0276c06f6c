"""CPM-Ant: rows for soft prompts in the token table, segments, a table of position biases, an untied head."""

from __future__ import annotations

from rigright.arch.blocks import matrix
from rigright.arch.config import Config
from rigright.arch.decoder import Style, read_decoder, read_sizes
from rigright.arch.record import Arch, Cut, Weight

MATCHES = ("cpmant", "CpmAntForCausalLM")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    size = read_sizes(config)
    types = config.size("prompt_types", default=32)
    segments = config.size("segment_types", default=32)
    buckets = config.size("position_bias_num_buckets", default=512) + segments * segments
    style = Style(
        family="cpmant",
        outer=(
            Weight(role="position", shape=(segments, size.hidden)),
            Weight(role="position", shape=(buckets, size.heads)),
            *matrix("head", size.vocab, inputs=size.hidden, cut=Cut.VOCAB),
        ),
    )
    rows = size.vocab + types * config.size("prompt_length", default=32)
    return read_decoder(config, name, style=style, vocab=rows, tied=True)
