"""Accelerators whose kernel driver shows them in sysfs, AMD's and Intel's: no library, no tool, no wait."""

from __future__ import annotations

from dataclasses import dataclass, field

from rigright.base.units import KILO, MEGA
from rigright.machine.amd.metrics import FILE as METRICS
from rigright.machine.amd.metrics import slowed_by
from rigright.machine.pci import slot_side
from rigright.machine.sampling.kept import Kept
from rigright.machine.tick import DeviceTick
from rigright.machine.values import gen_of
from rigright.machine.world import World

_DRM = "/sys/class/drm"
_COMPUTES = "/sys/class/kfd"  # where AMD cards compute
_VENDORS = {"0x1002": "amd", "0x8086": "intel"}
_ACCELERATORS = {"0x10de": "nvidia", "0x1002": "amd"}
_SHOWN_CLASSES = ("0x0300", "0x0302", "0x0380", "0x1200")  # display, 3D, other display, accelerator
_AGAIN_S = 60.0
_LIMITS = ("power1_cap", "power1_max", "power2_max", "power2_cap")  # amdgpu; i915; xe, of the package
_ENERGIES = ("energy1_input", "energy2_input")


@dataclass(frozen=True, slots=True, kw_only=True)
class _DrmCard:
    folder: str  # its PCI device
    sensors: str | None
    index: int
    vendor: str
    slot: str  # the function whose link is the slot's
    memory: str = "vram"  # or "gtt", what the kernel lends to graphics inside a processor
    labels: dict[str, str] = field(default_factory=dict)  # what a temperature is of -> its number


class DrmReader:
    """Reads those cards again and again."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._kept = Kept(world)
        self._cards: tuple[_DrmCard, ...] = ()
        self._listed_s = -_AGAIN_S
        self.on_bus: int | None = None

    def read(self, clock_s: float) -> tuple[DeviceTick, ...]:
        """The cards now."""
        if clock_s - self._listed_s >= _AGAIN_S:
            self._listed_s = clock_s
            self._cards = tuple(_cards(self._world))
            self.on_bus = _count_on_bus(self._world)
        return tuple(self._one(card) for card in self._cards)

    def close(self) -> None:
        """Let go of their files."""
        self._kept.close()

    def _one(self, card: _DrmCard) -> DeviceTick:
        at, sensors = card.folder, card.sensors or f"{card.folder}/none"
        most_fan, fan = self._number(f"{sensors}/fan1_max"), self._number(f"{sensors}/fan1_input")
        return DeviceTick(
            index=card.index,
            vendor=card.vendor,
            uuid=self._kept.text(f"{at}/unique_id") or at.rpartition("/")[2],
            name=self._kept.text(f"{at}/product_name") or None,
            busy_share=_part(self._number(f"{at}/gpu_busy_percent"), 100),
            mem_busy_share=_part(self._number(f"{at}/mem_busy_percent"), 100),
            mem_used_bytes=self._number(f"{at}/mem_info_{card.memory}_used"),
            mem_total_bytes=self._number(f"{at}/mem_info_{card.memory}_total"),
            power_w=_part(self._sensor(sensors, "power1_average", "power1_input"), MEGA),
            power_limit_w=_part(self._sensor(sensors, *_LIMITS), MEGA),
            energy_j=_part(self._sensor(sensors, *_ENERGIES), MEGA),
            gpu_c=self._celsius(card, "junction", "edge", "pkg"),
            mem_c=self._celsius(card, "mem", "vram"),
            fan_share=fan / most_fan if fan is not None and most_fan else None,
            sm_hz=self._number(f"{sensors}/freq1_input"),
            mem_hz=self._number(f"{sensors}/freq2_input"),
            pcie_gen=gen_of(self._kept.text(f"{card.slot}/current_link_speed")),
            pcie_lanes=_whole(self._number(f"{card.slot}/current_link_width")),
            pcie_replays=_whole(self._number(f"{at}/pcie_replay_count")),
            slowed_by=slowed_by(self._kept.raw(f"{at}/{METRICS}")),
        )

    def _celsius(self, card: _DrmCard, *names: str) -> float | None:
        for name in names:
            if name in card.labels:
                return _part(self._number(f"{card.sensors}/temp{card.labels[name]}_input"), KILO)
        return None

    def _sensor(self, sensors: str, *names: str) -> float | None:
        """The first of these that is there."""
        read = (self._number(f"{sensors}/{name}") for name in names)
        return next((value for value in read if value is not None), None)

    def _number(self, path: str) -> float | None:
        text = (self._kept.text(path) or "").strip()
        return float(text) if text.isdecimal() else None


def _cards(world: World) -> list[_DrmCard]:
    drm_cards: list[_DrmCard] = []
    lent = _lent(world)
    for name in world.names(_DRM):
        at = f"{_DRM}/{name}/device"
        vendor = _VENDORS.get(world.text(f"{at}/vendor") or "")
        if not name.startswith("card") or not name[4:].isdecimal() or vendor is None:
            continue
        folder = world.link(at) or at
        sensors = next((f"{folder}/hwmon/{text}" for text in world.names(f"{folder}/hwmon")), None)
        if vendor == "intel" and sensors is None:
            continue  # a processor's own graphics
        index = sum(drm_card.vendor == vendor for drm_card in drm_cards)
        drm_cards.append(
            _DrmCard(
                folder=folder,
                sensors=sensors,
                index=index,
                vendor=vendor,
                slot=slot_side(world, folder),
                memory="gtt" if folder.rpartition("/")[2] in lent else "vram",
                labels=_labels(world, sensors) if sensors else {},
            )
        )
    return drm_cards


def _lent(world: World) -> frozenset[str]:
    """Addresses of graphics inside a processor to which the kernel lends more than the firmware set aside."""

    def size(pci: str, name: str) -> int:
        text = world.text(f"/sys/bus/pci/devices/{pci}/mem_info_{name}_total") or ""
        return int(text) if text.isdecimal() else 0

    if not world.has(_COMPUTES):
        return frozenset()
    from rigright.machine.amd.kernel import inside  # of no use to a start without AMD's

    return frozenset(pci for pci in inside(world) if size(pci, "gtt") > size(pci, "vram"))


def _labels(world: World, sensors: str) -> dict[str, str]:
    """What each temperature is of: AMD says "edge", "junction", "mem"; Intel "pkg", "vram"."""
    fields = {}
    for name in world.names(sensors):
        if name.startswith("temp") and name.endswith("_label"):
            text = (world.text(f"{sensors}/{name}") or "").strip().lower()
            fields[text] = name.removeprefix("temp").removesuffix("_label")
    return fields


def _count_on_bus(world: World) -> int | None:
    """Accelerators of NVIDIA and AMD that the bus shows; None where there is no bus to look at."""
    places = world.names("/sys/bus/pci/devices")
    if not places:
        return None
    return sum(_is_accelerator(world, f"/sys/bus/pci/devices/{place}") for place in places)


def _is_accelerator(world: World, at: str) -> bool:
    kind = world.text(f"{at}/class") or ""
    if not kind.startswith(_SHOWN_CLASSES) or world.text(f"{at}/vendor") not in _ACCELERATORS:
        return False
    return not world.has(f"{at}/physfn")  # a share of a card that a virtual machine may be given


def _part(value: float | None, whole: float) -> float | None:
    return None if value is None else value / whole


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
