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
_CHOSEN = frozenset({"norms", "norm", "qk_norm"})
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
        size = read_row_sizes(row, config)
        style = read_style(row, config, size=size)
        if "experts" in row:
            from rigright.arch.experts import Mixture, read_mixture

            told: Any = {
                key: holds(config, said) if isinstance(said, str) else said
                for key, said in row["experts"].items()
            }
            arch = read_mixture(config, name, style=style, mixture=Mixture(**told), size=size)
        else:
            arch = read_decoder(config, name, style=style, size=size)
    if "mtp" in row:
        from rigright.arch.mtp import with_mtp

        arch = with_mtp(config, arch, copies=row["mtp"] == "copies")
    if "near_published" in row:
        from rigright.arch.assumed import near_published

        return near_published(arch)
    return arch


def read_row_sizes(row: Row, config: Config) -> Sizes:
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


def read_style(row: Row, config: Config, *, size: Sizes) -> Style:
    """In what the family differs from Llama."""
    told: dict[str, Any] = {}
    for word, parts in _BIASES.items():
        if word in row:
            told |= dict.fromkeys(parts, holds(config, row[word]))
    told |= {key: holds(config, row[key]) for key in _PLAIN if key in row}
    told |= {key: choice(config, row[key]) for key in _CHOSEN if key in row}
    told |= {key: _weights(config, row[key], size=size) for key in ("extra", "outer") if key in row}
    rows = choice(config, row.get("positions", 0))
    if rows:
        least = {} if rows == "told" else {"default": rows}
        told["positions"] = config.size(*CONTEXT, **least) + row.get("spare_positions", 0)
    if "windows" in row:
        told["windows"] = _windows(config, row["windows"], size=size)
    return Style(family=row["family"], **told)


def holds(config: Config, said: str | list[str] | bool) -> bool:  # noqa: FBT001 (a cell of the table)
    """A row's yes or no, of this config."""
    if isinstance(said, bool):
        return said
    if isinstance(said, list):
        return any(holds(config, each) for each in said)
    if said.startswith("has "):
        return bool(config.raw.get(said.removeprefix("has ")))
    left, _, word = said.partition(" = ")
    keys = left.removeprefix("not ").split(" | ")
    if word:
        return config.word(*keys[:-1], default=keys[-1]) == word
    default = keys.pop() == "true" if keys[-1] in {"true", "false"} else False
    return config.flag(*keys, default=default) != left.startswith("not ")


def count(config: Config, said: int | str, *, size: Sizes | None = None) -> int:
    """A row's number, of this config: a key's, or the decoder's own of that name."""
    if isinstance(said, int):
        return said
    *keys, last = said.split(" | ")
    if last.isdecimal():
        return config.size(*keys, default=int(last))
    if size is not None and hasattr(size, last):
        own: int = getattr(size, last)
        return (config.whole(*keys, default=own) or own) if keys else own
    return config.size(*keys, last)


def choice(config: Config, said: Any) -> Any:
    """What a row says, or what it says for such a config."""
    if not isinstance(said, dict):
        return said
    return choice(config, said["then"] if holds(config, said["if"]) else said["else"])


def _weights(config: Config, said: list[Row], *, size: Sizes) -> tuple[Weight, ...]:
    """Vectors beside the usual weights, some with a shift each."""
    found: tuple[Weight, ...] = ()
    for each in said:
        if holds(config, each.get("if", True)):
            shape = (count(config, each["of"], size=size),)
            roles = (each["role"], f"{each['role']}.bias")[: 1 + ("shift" in each)]
            pair = tuple(Weight(role=role, shape=shape) for role in roles)
            found += pair * count(config, each.get("times", 1), size=size)
    return found


def _windows(config: Config, said: Any, *, size: Sizes) -> tuple[int | None, ...]:
    """Each layer's window."""
    if said == "all":
        return decoder.windows(config, decoder.always)
    if not holds(config, said.get("if", True)):
        return ()
    if "late" in said:
        keys = said["late"].split(" | ")
        first = config.whole(keys[0], default=size.layers if keys[1] == "layers" else int(keys[1]))
        return decoder.windows(config, lambda index: index >= first)
    if "only" in said:
        period = count(config, said["only"])
        return decoder.windows(config, lambda index: (index + 1) % period == 0)
    if "every" in said:
        # a number, or a word such as "LLLG" that has a letter for each layer of one period
        told = config.raw.get(str(said["every"]).split(" | ")[0])
        period = len(told) if isinstance(told, str) and told else count(config, said["every"])
        return decoder.windows(config, decoder.every(period, offset=said.get("offset", 0)))
    return decoder.windows(config, decoder.always)
