"""Clouds: what can be rented, with its chips and its dated price."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from rigright.base.errors import AskError
from rigright.base.loader import rows
from rigright.base.money import from_currency
from rigright.base.patterns import pattern
from rigright.base.plugins import read_facts
from rigright.base.record import dataclass, replace
from rigright.base.words import Bilingual, say
from rigright.facts.chips import by_id

_SLICE = re.compile(r"(?:(?:cloud )?tpu[ -]?)?(v4|v5p|v5e|v5litepod|v6e)-(\d{1,4})")
_NAMED = re.compile(  # as AWS, Azure, Oracle, Alibaba, Google and Tencent call what they rent
    r"(?:u-)?[a-z]\w{0,9}(?:-\w+)?\.(?:\d{0,3}x?large|metal)(?:-\w+)?|standard_\w+|[bv]m\.gpu[\w.-]*"
    r"|ecs\.[\w.-]+|[a-z]\d\w?-(?:high|mega|ultra|edge|max|standard)\w*-\d+\w*|[a-z]{2,6}\d\w*\.\w*large\d+"
)
_CORES = frozenset({"v4", "v5p"})  # whose slices are counted in cores, two a chip


@cache
def _instances() -> dict[str, str]:
    return {name.casefold(): machine for name, machine in rows("instances.csv", "instance", "machine")}


def machine_of(name: str) -> str | None:
    """The GPUs of an instance or of a slice, as they are typed: "8x h100 sxm", "4x tpu v5p"."""
    plain = " ".join(name.casefold().replace(":", " ").split())
    cut = _SLICE.fullmatch(plain)
    if cut is None:
        return _instances().get(plain)
    kind, count = cut[1].replace("v5litepod", "v5e"), int(cut[2])
    chips, odd = divmod(count, 2 if kind in _CORES else 1)
    return None if odd or not chips else f"{chips}x tpu {kind}"


def is_instance(name: str) -> bool:
    """Whether a name is written as clouds write those of instances."""
    return _NAMED.fullmatch(name.casefold().strip()) is not None


_GOOGLE = pattern(r"([a-z]\d)-(?:standard|high|mega|ultra|edge)")  # g2-standard-12 -> g2
_SERIES = pattern(r"(?:Standard_)?(N[A-Z])\d+[a-z]*(?:_([A-Z]\w+?))?_(v\d)")  # as Azure writes them


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One instance of one cloud in one region. None is unknown; a price without a date is none."""

    provider: str
    instance: str
    chip: str | None  # an id of chips.csv; None where the chip is not among them
    said: str | None  # what the source called it
    n_chips: float  # below one where a card is shared
    most_chips: int | None  # billed by the GPU: a machine holds up to so many; None: a fixed instance
    mem_bytes: float  # of each chip, as advertised
    vcpus: float | None
    ram_bytes: float | None
    nvme_bytes: float | None
    link: str | None
    network_bytes_per_s: float | None
    usd_per_h: float | None  # the whole instance, on demand
    spot_usd_per_h: float | None
    region: str | None
    currency: str
    native_per_h: float | None  # in `currency`, where that is not USD
    spot_native_per_h: float | None
    as_of: str | None
    source: str
    confidence: str
    notes: str | None

    @property
    def rents(self) -> str | None:
        """An id of chips.csv, or what the source calls a chip that is not among them."""
        return self.chip or self.said

    @property
    def is_own(self) -> bool:
        """Whether it is the user's own price."""
        return self.confidence == "own"

    @property
    def usd_per_chip_h(self) -> float | None:
        """On demand, for each chip; not for shares of a card."""
        return self.usd_per_h / self.n_chips if self.usd_per_h is not None and self.n_chips >= 1 else None


@cache
def offers() -> tuple[Offer, ...]:
    """Every offer of the table, in its order."""
    return read_facts("clouds.csv", Offer, chips=by_id)


def in_usd(offer: Offer) -> Offer:
    """An offer that names its price in another currency only, at the dated rate of our table."""
    if offer.usd_per_h is not None or offer.native_per_h is None:
        return offer
    spot = offer.spot_native_per_h
    return replace(
        offer,
        usd_per_h=from_currency(offer.native_per_h, offer.currency),
        spot_usd_per_h=None if spot is None else from_currency(spot, offer.currency),
    )


@cache
def _cloud_names() -> list[tuple[str, ...]]:
    return rows("cloud_names.csv", "provider", "zh", "names")


def _names_in(cloud: str, names: str) -> set[str]:
    return {_joined(name) for name in (cloud, *names.split("|"))}


@cache
def _called() -> dict[str, frozenset[str]]:
    """What clouds are called, and which of them bear the name."""
    groups: dict[str, set[str]] = {}
    for offer in offers():
        groups.setdefault(_joined(offer.provider), set()).add(offer.provider)
    priced = {offer.provider for offer in offers()}
    for cloud, _, names in _cloud_names():
        for name in _names_in(cloud, names) if cloud in priced else ():
            groups.setdefault(name, set()).add(cloud)
    return {name: frozenset(providers) for name, providers in groups.items()}


def no_prices(name: str) -> AskError | None:
    """Why nothing is rented from a cloud that is known by name alone; None of any other name."""
    cloud = next(
        (cloud for cloud, _, names in _cloud_names() if _joined(name) in _names_in(cloud, names)), None
    )
    if cloud is None or providers_of(name):
        return None
    return AskError(
        say("no prices known for {cloud}", cloud=cloud_shown(cloud)),
        hint=say("give yours: {option}", option="--prices FILE.csv (chip, usd_per_h, provider)"),
    )


def cloud_shown(label: str) -> Bilingual:
    """A cloud for people by its own name, with what is rented of it where the label says so."""
    provider, _, rented = label.partition(" ")
    names = {cloud: (names.partition("|")[0], zh) for cloud, zh, names in _cloud_names()}
    english, chinese = names.get(provider, (provider, provider))
    return Bilingual(f"{english} {rented}".rstrip(), f"{chinese} {rented}".rstrip())


def providers_of(name: str) -> frozenset[str]:
    """The providers that a name means: both of Alibaba's for "aliyun" and "阿里云"; none: it is unknown."""
    return _called().get(_joined(name), frozenset())


def _fixed() -> Iterator[Offer]:
    """Instances with a name of their own; what is billed by the GPU is called after the GPU."""
    return (offer for offer in offers() if offer.most_chips is None)


def find_instance(name: str) -> Offer | None:
    """The offer of an instance written out: "p5.48xlarge", "Standard_ND96isr_H100_v5"."""
    wanted = name.strip().casefold()
    plain = wanted.removeprefix("standard_")
    return next(
        (offer for offer in _fixed() if plain == offer.instance.casefold().removeprefix("standard_")), None
    )


def find_family(name: str) -> str | None:
    """The chip of a family of instances: "a2-highgpu", "p4d", "g6e"; None where it has several."""
    texts = _chips_of_families().get(_joined(name), frozenset())
    return next(iter(texts)) if len(texts) == 1 else None


@cache
def _chips_of_families() -> dict[str, frozenset[str | None]]:
    groups: dict[str, frozenset[str | None]] = {}
    for offer in _fixed():
        for family in _families(offer.instance):
            groups[family] = groups.get(family, frozenset()) | {offer.chip}
    return groups


def machine_of_family(name: str) -> str | None:
    """The machine of a family whose instances all hold as many of one chip, several of them: NDv4, p4d."""
    wanted = _joined(name)
    pairs = {(offer.n_chips, offer.chip) for offer in _fixed() if wanted in _families(offer.instance)}
    if len(pairs) != 1:
        return None
    count, chip = pairs.pop()
    return f"{count:g}x {chip}" if chip is not None and count > 1 else None


@cache
def clouds_of(name: str) -> frozenset[str]:
    """The clouds that rent what is called so: an instance, a family, or anything after a cloud's own name."""
    cloud, wanted = in_cloud(name), _joined(name)
    if cloud is not None:
        return providers_of(cloud[0])
    named = [(offer.provider, {_joined(offer.instance), *_families(offer.instance)}) for offer in _fixed()]
    named += [(row[0], {_joined(row[1])}) for row in rows("instances.csv", "provider", "instance")]
    return frozenset(provider for provider, names in named if wanted in names)


def in_cloud(name: str) -> tuple[str, str] | None:
    """A cloud and what is named of it: "aws:p5", "gcp a3"; None where no cloud stands first."""
    cloud, _, rest = re.sub(r"[:\s]+", ":", name.strip(), count=1).partition(":")
    return (cloud, rest) if rest and providers_of(cloud) else None


def _families(instance: str) -> set[str]:
    """What stands before the size: p5.48xlarge -> p5, a2-highgpu-1g -> a2highgpu, ND96asr_v4 -> NDv4."""
    series = _SERIES.fullmatch(instance)
    own = {_joined("".join(filter(None, series.groups())))} if series else set()
    google = _GOOGLE.match(instance)
    return (
        own
        | ({google[1]} if google else set())
        | {_joined(head) for head in (instance.rpartition(".")[0], instance.rpartition("-")[0]) if head}
    )


def _joined(name: str) -> str:
    return "".join(sign for sign in name.casefold() if sign.isalnum())
