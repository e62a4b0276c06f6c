"""Whether nouveau, the kernel's own driver for NVIDIA cards, keeps the real one out.

nouveau cannot compute. Where it is loaded first it holds the card and NVIDIA's module fails. It must be
kept out by a file of modprobe.d *and* the initial file system made anew, since nouveau is loaded from
there. A file whose quotes came from a web page (“ ”) keeps nothing out.

Loaded while cards are here: fault. Not loaded and not kept out, with NVIDIA's driver in use: fine, its
packages do that by themselves. Source: NVIDIA CUDA installation guide for Linux, disabling nouveau.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import reboot
from rigright.doctor.record import Case, Evidence, Finding, Fine, NotSeen, Verdict, as_root
from rigright.doctor.stack import cards_on_bus, has_nvidia, module

TITLE = say("nouveau does not hold the cards")
_FILE = "/etc/modprobe.d/blacklist-nouveau.conf"
_DEBIAN = {"ubuntu", "debian", "linuxmint", "pop", "kali"}


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for the machine."""
    system = case.machine.system
    if not has_nvidia(case) or system.virtual == "wsl2":
        return
    held = [card.address for card in cards_on_bus(case) if card.driver == "nouveau"]
    if system.modules is None:
        yield NotSeen(why=say("the list of kernel modules cannot be read here"), see="lsmod | grep nouveau")
    elif module(case, "nouveau") is None and not held:
        yield Fine(says=say("nouveau is not loaded"))
    else:
        yield _loaded(case, held)


def _loaded(case: Case, held: list[str]) -> Finding:
    kept_out = "nouveau" in case.machine.system.blacklisted
    remake = "update-initramfs -u" if case.machine.system.os_id in _DEBIAN else "dracut --force"
    write = as_root(
        say("keep it out with two lines, written with plain characters"),
        f"printf 'blacklist nouveau\\noptions nouveau modeset=0\\n' > {_FILE}",
    )
    return Finding(
        severity="fault",
        title=say("nouveau is loaded, so NVIDIA's driver cannot have the cards"),
        evidence=(
            Evidence(
                shows=say("it holds {cards}", cards=", ".join(held))
                if held
                else say("the module nouveau is loaded"),
                command="lsmod | grep nouveau",
            ),
            Evidence(
                shows=say("modprobe.d keeps it out: the initial file system was not made anew")
                if kept_out
                else say("nothing keeps it out"),
                command="grep -r nouveau /etc/modprobe.d /usr/lib/modprobe.d",
            ),
        ),
        why=say("nouveau cannot compute; no CUDA program runs on cards that it holds"),
        fix=(
            *(() if kept_out else (write,)),
            as_root(say("make the initial file system anew"), remake),
            reboot(),
        ),
    )
