"""Weight formats, GGUF mixes and cache formats: how each stores numbers, found by loose names."""

from __future__ import annotations

from dataclasses import field
from functools import cache
from typing import Annotated

from rigright.base.errors import unknown
from rigright.base.loader import blocks, records, rows
from rigright.base.patterns import pattern
from rigright.base.record import dataclass, replace
from rigright.base.words import say

GGUF, BITS = "gguf:", 8
_OF_BITS = pattern(r"exl[23][-:]?(?P<bits>[2-8](?:\.\d{1,2})?)(?:-?bpw)?(?:-?h\d)?")  # "exl2:4.65bpw"


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A uniform way to store matrices; see the head of data/formats.toml for what each field means."""

    id: str
    label: str
    bits: float
    loss_rank: int  # order of measured quality loss, 0 is none
    after_rank: int | None = None  # of files made so after training, where models are published so
    source: str
    spread: float = 0.004  # half the width of the 80 % band of sizes, relative
    rest_bits: float = 16
    group: int = 0
    group_bytes: float = 0
    block: tuple[int, int] | None = None
    row_bytes: float = 0
    input_bytes: float = 0
    tensor_bytes: float = 0
    parts: tuple[str, ...] = ()  # none: every tensor
    towers: str = "all"
    experts_only: bool = False
    latent_kept: bool = False
    head_bits: float | None = None
    unpack_bytes: float = 0
    aliases: tuple[str, ...] = ()

    @property
    def per_scale(self) -> int | None:
        """How many weights share a scale; null: none do."""
        return self.group or None

    @property
    def n_rules(self) -> int:
        """How many rules store single tensors in another way: a uniform format has none."""
        return 0

    @property
    def bits_per_weight(self) -> float:
        """Bits of one weight in a matrix, its scales included."""
        return float(self.bits) + (self.group_bytes * BITS / self.group if self.group else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ggml:
    """A GGML tensor type: so many bytes for a block of so many elements."""

    name: str
    block_elems: Annotated[int, "block"]
    block_bytes: Annotated[int, "bytes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """In a mix, a tensor of this name gets this type when all conditions hold; later rules win."""

    mixes: frozenset[str]
    tensor: str
    when: tuple[str, ...] = ()
    was: frozenset[str] = frozenset()
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufMix:
    """A GGUF file type such as Q4_K_M: its base type and the rules that raise or lower single tensors."""

    name: Annotated[str, "mix"]
    base: str
    loss_rank: int
    spread: float  # half the width of the 80 % band of sizes, relative
    source: str
    rules: tuple[Rule, ...] = ()
    types: dict[str, Ggml] = field(default_factory=dict)  # that its rules speak of, by name
    fused: frozenset[str] = frozenset()  # families whose files hold query, key and value as one tensor

    def __hash__(self) -> int:
        return hash(self.name)  # its types have none

    @property
    def id(self) -> str:
        """As it is asked for."""
        return GGUF + self.name

    @property
    def label(self) -> str:
        """As people read it."""
        return f"GGUF {self.name}"

    @property
    def bits_per_weight(self) -> float:
        """Bits of one weight in a matrix, its scales included."""
        kind = self.types[self.base]
        return kind.block_bytes * BITS / kind.block_elems

    @property
    def n_rules(self) -> int:
        """How many rules store single tensors in another way."""
        return len(self.rules)

    @property
    def per_scale(self) -> int | None:
        """How many weights share a scale; null: its own types say it."""
        return None

    @property
    def parts(self) -> tuple[str, ...]:
        """Kinds of matrices that are stored so; none: all."""
        return ()


@cache
def formats() -> dict[str, Format]:
    """Every uniform format by id."""
    return blocks("formats.toml", Format)


@cache
def ggml_types() -> dict[str, Ggml]:
    """Every GGML tensor type by name."""
    return {ggml.name: ggml for ggml in records("gguf_types.csv", Ggml)}


@cache
def mixes() -> dict[str, GgufMix]:
    """Every GGUF mix by its name without the prefix."""
    rules = records("gguf_rules.csv", Rule)
    return {
        mix.name: replace(
            mix,
            rules=tuple(rule for rule in rules if mix.name in rule.mixes),
            types=ggml_types(),
            fused=_fused_families(),
        )
        for mix in records("gguf_mixes.csv", GgufMix)
    }


@cache
def _fused_families() -> frozenset[str]:
    """Families whose GGUF files hold query, key and value as one tensor."""
    return frozenset(family for (family,) in rows("gguf_fused.csv", "family"))


def find_format(asked: str) -> Format | GgufMix:
    """The format of a loose name: "bf16", "awq", "Q4_K_M", "gguf:iq4_xs"."""
    name = asked.strip().lower().replace(" ", "-")
    known = _names()
    if name in known:
        return known[name]
    sized = _OF_BITS.fullmatch(name)
    if sized is not None:
        return _exl(float(sized["bits"]))

    def near() -> list[str]:
        from difflib import get_close_matches

        return [known[word].id for word in get_close_matches(name, known, n=3, cutoff=0.5)]

    raise unknown(say("weight format"), asked, near=near, see="rigright look-up formats")


@cache
def _exl(bits: float) -> Format:
    """Files of ExLlama are made to any mean number of bits."""
    like = formats()["exl2-8.0" if bits > 6 else "exl2-4.0"]
    return replace(like, id=f"exl2-{bits}", label=f"EXL2 {bits:g} bpw", bits=bits, aliases=())


@cache
def _names() -> dict[str, Format | GgufMix]:
    names: dict[str, Format | GgufMix] = {}
    for mix in mixes().values():
        names[mix.id.lower()] = mix
        own = mix.id[len(GGUF) :].lower()
        names |= {f"{start}{own}": mix for start in ("gguf:ud-", "ud-", "gguf:smol-")}
        names |= {f"{GGUF}{own}{rows}": mix for rows in ("_r4", "_r8")}  # rows laid side by side
        if own.endswith("_k_m"):
            names.setdefault(f"{GGUF}{own.removesuffix('_m')}", mix)  # as llama.cpp reads it
        names.setdefault(mix.id.lower().removeprefix(GGUF), mix)
    for form in formats().values():
        names |= {name.lower(): form for name in (form.id, form.label.replace(" ", "-"), *form.aliases)}
    return names


@dataclass(frozen=True, slots=True, kw_only=True)
class KvFormat:
    """One way to store a cache entry."""

    id: str
    label: str
    bits: float  # an element, scales included
    source: str
    as_of: str
    engines: tuple[str, ...] = ()  # none: every engine
    aliases: tuple[str, ...] = ()

    @property
    def element_bytes(self) -> float:
        """Bytes of one cached element."""
        return self.bits / BITS


@cache
def kv_formats() -> dict[str, KvFormat]:
    """Every cache format by id."""
    return blocks("kv_formats.toml", KvFormat)


def find_kv_format(asked: str) -> KvFormat:
    """The cache format of a name."""
    name = asked.strip().lower()
    for form in kv_formats().values():
        if name in {form.id, form.label.lower(), *form.aliases}:
            return form
    raise unknown(say("KV cache format"), asked, known=kv_formats())
