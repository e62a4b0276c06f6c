"""Reads a decoder by its row of the table of families: what the row says of the config's keys, and flags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rigright.arch import decoder
from rigright.arch.config import Config
from rigright.arch.decoder import CONTEXT, Sizes, Style, read_decoder, read_sizes
from rigright.arch.defaults import full
from rigright.arch.record import Arch, Weight
from rigright.base.record import replace

Row = Mapping[str, Any]

_PLAIN = frozenset({"out_bias", "ffn_bias", "head_bias", "qkv_bias", "gated", "last_norm"})
_CHOSEN = frozenset({"norm", "qk_norm"})
_BIASES = {"bias": ("qkv_bias", "out_bias"), "all_bias": ("qkv_bias", "out_bias", "ffn_bias")}


def read_row(row: Row, config: Config, *, name: str) -> Arch:
    """Read a config as its family's row says."""
    family = row["family"]
    if "experts" in row or "latent" in row:
        config = full(config, row.get("defaults", family))
    config = config.over(**dict.fromkeys(row.get("ignores", ())))
    if "latent" in row:
        from rigright.arch.latent import read_latent_moe

        first = row.get("experts", {}).get("dense_first", 0)
        arch = read_latent_moe(config, name, family=family, dense_first=first)
    else:
        size = _read_row_sizes(row, config)
        style = _read_style(row, config, size=size)
        if "experts" in row:
            from rigright.arch.experts import Mixture, read_mixture

            value: Any = {
                key: holds(config, stated) if isinstance(stated, str) else stated
                for key, stated in row["experts"].items()
            }
            arch = read_mixture(config, name, style=style, mixture=Mixture(**value), size=size)
        else:
            arch = read_decoder(config, name, style=style, size=size)
    if "mtp" in row:
        from rigright.arch.decoder import with_mtp

        arch = with_mtp(config, arch, copies=row["mtp"] == "copies")
    if "near_published" in row:
        from rigright.arch.decoder import near_published

        return near_published(arch)
    return arch


def _read_row_sizes(row: Row, config: Config) -> Sizes:
    """The dimensions, some under keys of the family's own."""
    given: dict[str, int] = {}
    if "vocab" in row:
        given["vocab"] = count(config, row["vocab"])
    if "tied" in row:
        given["tied"] = holds(config, row["tied"])
    size = read_sizes(config, **given)
    width = count(config, row.get("width", "width"), size=size) // row.get("width_over", 1)
    width *= count(config, row.get("width_times", 1))
    kv_heads = count(config, choice(config, row.get("kv_heads", "kv_heads")), size=size)
    return replace(size, width=width, kv_heads=kv_heads)


def _read_style(row: Row, config: Config, *, size: Sizes) -> Style:
    """In what the family differs from Llama."""
    fields: dict[str, Any] = {}
    for word, parts in _BIASES.items():
        if word in row:
            fields |= dict.fromkeys(parts, holds(config, row[word]))
    fields |= {key: holds(config, row[key]) for key in _PLAIN if key in row}
    fields |= {key: choice(config, row[key]) for key in _CHOSEN if key in row}
    if "norms" in row:
        fields["norms"] = count(config, choice(config, row["norms"]))
    fields |= {key: _weights(config, row[key], size=size) for key in ("extra", "outer") if key in row}
    rows = choice(config, row.get("positions", 0))
    if rows:
        least = {} if rows == "told" else {"default": rows}
        fields["positions"] = config.size(*CONTEXT, **least) + row.get("spare_positions", 0)
    if "windows" in row:
        fields["windows"] = _windows(config, row["windows"], size=size)
    return Style(family=row["family"], **fields)


def holds(config: Config, text: str | list[str] | bool) -> bool:  # noqa: FBT001 (a cell of the table)
    """A row's yes or no, of this config."""
    if isinstance(text, bool):
        return text
    if isinstance(text, list):
        return any(holds(config, each) for each in text)
    if text.startswith("has "):
        return bool(config.raw.get(text.removeprefix("has ")))
    left, _, word = text.partition(" = ")
    keys = left.removeprefix("not ").split(" | ")
    if word:
        return config.word(*keys[:-1], default=keys[-1]) == word
    default = keys.pop() == "true" if keys[-1] in {"true", "false"} else False
    return config.flag(*keys, default=default) != left.startswith("not ")


def count(config: Config, number: int | str, *, size: Sizes | None = None) -> int:
    """A row's number, of this config: a key's, or the decoder's own of that name."""
    if isinstance(number, int):
        return number
    *keys, last = number.split(" | ")
    if last.isdecimal():
        return config.size(*keys, default=int(last))
    if size is not None and hasattr(size, last):
        own: int = getattr(size, last)
        return (config.whole(*keys, default=own) or own) if keys else own
    return config.size(*keys, last)


def choice(config: Config, value: Any) -> Any:
    """What a row says, or what it says for such a config."""
    if not isinstance(value, dict):
        return value
    return choice(config, value["then"] if holds(config, value["if"]) else value["else"])


def _weights(config: Config, rows: list[Row], *, size: Sizes) -> tuple[Weight, ...]:
    """Vectors beside the usual weights, some with a shift each."""
    weights: tuple[Weight, ...] = ()
    for each in rows:
        if holds(config, each.get("if", True)):
            shape = (count(config, each["of"], size=size),)
            roles = (each["role"], f"{each['role']}.bias")[: 1 + ("shift" in each)]
            pair = tuple(Weight(role=role, shape=shape) for role in roles)
            weights += pair * count(config, each.get("times", 1), size=size)
    return weights


def _windows(config: Config, value: Any, *, size: Sizes) -> tuple[int | None, ...]:
    """Each layer's window."""
    if value == "all":
        return decoder.windows(config, decoder.always)
    if not holds(config, value.get("if", True)):
        return ()
    if "late" in value:
        keys = value["late"].split(" | ")
        first = config.whole(keys[0], default=size.layers if keys[1] == "layers" else int(keys[1]))
        return decoder.windows(config, lambda index: index >= first)
    if "only" in value:
        period = count(config, value["only"])
        return decoder.windows(config, lambda index: (index + 1) % period == 0)
    if "every" in value:
        # a number, or a word such as "LLLG" that has a letter for each layer of one period
        given = config.raw.get(str(value["every"]).split(" | ")[0])
        period = len(given) if isinstance(given, str) and given else count(config, value["every"])
        return decoder.windows(config, decoder.every(period, offset=value.get("offset", 0)))
    return decoder.windows(config, decoder.always)
