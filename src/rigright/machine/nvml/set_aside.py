"""Devices and calls that are not asked for a while, because they hung, killed the child or were lost."""

from __future__ import annotations

from dataclasses import dataclass, replace

HANDLE = "handle"  # stands for the whole device
FIRST_S, MOST_S = 30.0, 600.0  # between two tries of what hung; each takes twice as long as the one before
LOST_S = 60.0  # between two looks for a device that was lost


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """One device that is not wholly asked."""

    state: str  # "hung", "lost"
    readings: frozenset[str]
    until_s: float
    wait_s: float = FIRST_S


class Holds:
    """All of them."""

    def __init__(self) -> None:
        self._holds: dict[int, Hold] = {}

    def hang(self, device: int, reading: str, *, now_s: float) -> None:
        """It hung: leave the call out; where a second call hangs too, the whole device."""
        hold = self._holds.get(device)
        if hold is None or hold.state != "hung":
            hold = Hold(state="hung", readings=frozenset({reading}), until_s=now_s)
        elif reading in hold.readings:
            hold = replace(hold, wait_s=min(hold.wait_s * 2, MOST_S))
        else:
            hold = replace(hold, readings=hold.readings | {HANDLE})
        self._holds[device] = replace(hold, until_s=now_s + hold.wait_s)

    def lose(self, device: int, *, now_s: float) -> None:
        """It is lost."""
        self._holds[device] = Hold(state="lost", readings=frozenset({HANDLE}), until_s=now_s + LOST_S)

    def free(self, device: int) -> None:
        """It answers again."""
        self._holds.pop(device, None)

    def state(self, device: int) -> str | None:
        """Why it is held; None where it is not."""
        hold = self._holds.get(device)
        return None if hold is None else hold.state

    def whole(self, device: int) -> bool:
        """Whether nothing at all is asked of it."""
        hold = self._holds.get(device)
        return hold is not None and HANDLE in hold.readings

    def skip(self) -> list[tuple[int, str]]:
        """The calls to leave out."""
        return [
            (device, reading) for device, hold in self._holds.items() for reading in sorted(hold.readings)
        ]

    def n_hung(self) -> int:
        """How many hang."""
        return sum(hold.state == "hung" for hold in self._holds.values())

    def due(self, now_s: float) -> int | None:
        """A device whose time has come to be tried again."""
        return next((device for device, hold in self._holds.items() if now_s >= hold.until_s), None)
