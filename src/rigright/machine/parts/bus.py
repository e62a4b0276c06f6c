"""The bus and the board's slots."""

from __future__ import annotations

from rigright.base.words import Sentence, say
from rigright.machine.host import PciDevice
from rigright.machine.lspci import read_lspci
from rigright.machine.pci import FOLDER, functions, is_bridge
from rigright.machine.record import Read, Unseen
from rigright.machine.running.asking import run_command
from rigright.machine.smbios import TABLE, board_slots
from rigright.machine.world import World

LSPCI = ("lspci", "-Dvvvnn")
_SEE_ACS = "sudo lspci -vvv | grep -E '^[0-9a-f]|ACSCtl|Resizable BAR|BAR [0-9]: current'"
_SEE_SLOTS = "sudo dmidecode -t slot"


def read(world: World) -> Read:
    """Functions that matter with the bridges above them, and the slots."""
    devices = functions(world)
    if not devices and not world.names(FOLDER):
        # what lspci says: of this machine or a recorded one, never of another root
        answer = run_command(world, *LSPCI)
        devices = read_lspci(answer.out) if answer is not None and answer.code == 0 else ()
    slots = board_slots(world)
    return Read(
        fields={"pci": devices or (() if world.names(FOLDER) else None), "slots": slots},
        unseen=(
            *_unseen_bus(world, devices),
            *(() if slots is not None else (Unseen(what="slots", why=why_no_table(world), see=_SEE_SLOTS),)),
        ),
    )


def _unseen_bus(world: World, devices: tuple[PciDevice, ...]) -> tuple[Unseen, ...]:
    if not devices:
        why = say("no PCI bus in /sys, and no output from lspci")
        return () if world.names(FOLDER) else (Unseen(what="pci", why=why, see="lspci -nn"),)
    closed = [
        device for device in devices if not is_bridge(device.pci_class) and _is_closed(world, device.address)
    ]
    if not closed:
        return ()
    why = say("only root can read the extended PCI configuration space")
    return (
        Unseen(what="pci.acs", why=why, see=_SEE_ACS),
        Unseen(what="pci.rebar_max_bytes", why=why, see=_SEE_ACS),
    )


def _is_closed(world: World, address: str) -> bool:
    raw = world.raw(f"{FOLDER}/{address}/config", 257)
    return raw is not None and len(raw) <= 64


def why_no_table(world: World) -> Sentence:
    """Why the firmware's table was not read."""
    if world.denied(TABLE):
        return say("only root can read the SMBIOS table")
    return say("no SMBIOS table here")
