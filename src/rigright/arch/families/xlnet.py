"""XLNet: relative positions as a fifth matrix, biases and segment vectors a head; sees both ways."""

from __future__ import annotations

from rigright.arch.blocks import matrix
from rigright.arch.config import Config
from rigright.arch.decoder import Style, both_ways, read_decoder, read_sizes
from rigright.arch.record import Arch, Cut, Weight

MATCHES = ("xlnet", "XLNetLMHeadModel", "XLNetModel")


def read(config: Config, name: str) -> Arch:
    """Read a config of this family."""
    size = read_sizes(config)
    inner = size.heads * size.head_dim
    head = (size.heads, size.head_dim)
    style = Style(
        family="xlnet",
        ffn_bias=True,
        gated=False,
        norm="layer",
        last_norm=False,
        head_bias="XLNetModel" not in config.items("architectures", default=[]),
        extra=(
            *matrix("attn.r", inner, inputs=size.hidden, cut=Cut.OUT),
            *(Weight(role="position", shape=head),) * 3,
            Weight(role="position", shape=(2, *head)),
        ),
        outer=(Weight(role="embed.mask", shape=(1, 1, size.hidden)),),
    )
    return both_ways(read_decoder(config, name, style=style))
