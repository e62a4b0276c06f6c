"""Multi-token prediction: layers stored beside the model that predict the tokens after the next."""

from __future__ import annotations

from rigright.arch import blocks
from rigright.arch.blocks import matrix, norm
from rigright.arch.config import Config
from rigright.arch.record import Arch, Cut, Layer, Tower, Weight
from rigright.base.record import replace

COUNT = ("num_nextn_predict_layers", "num_mtp_modules", "num_mtp_layers", "mtp_num_hidden_layers")


def with_mtp(
    config: Config,
    arch: Arch,
    *,
    layer: Layer | None = None,
    copies: bool = True,
    extra: tuple[Weight, ...] = (),
) -> Arch:
    """The Arch with its prediction layers spare, as many as the config says.

    Each is a layer like the trunk's last, what joins it to the trunk and, with `copies`, the token
    table and the head once more, as DeepSeek-V3's files have them.
    """
    count = next((config.layers(key) for key in COUNT if config.raw.get(key) is not None), 0)
    if not count or not arch.trunk.layers:
        return arch
    body = layer or arch.trunk.layers[-1]
    hidden, vocab = arch.trunk.hidden, arch.vocab
    tables = (*blocks.embedding(vocab, hidden), *blocks.head(vocab, hidden, tied=False)) if copies else ()
    outer = (*joint(hidden), *tables, *extra)
    tower = Tower(name="mtp", hidden=hidden, layers=(body,) * count, outer=outer * count)
    return replace(arch, spare=(*arch.spare, tower))


def joint(hidden: int) -> tuple[Weight, ...]:
    """Norms of the token and of the state, the matrix that joins them, the last norm."""
    return (*norm(hidden) * 3, *matrix("project", hidden, inputs=2 * hidden, cut=Cut.WHOLE))
