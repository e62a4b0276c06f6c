"""Whether Secure Boot lets the driver's module in.

With Secure Boot on, the kernel loads only modules signed by a key that the firmware or the machine's
owner trusts. A driver built on the spot (DKMS, .run) is signed by no such key until one is enrolled, and
is refused with "Key was rejected by service". Ubuntu's linux-modules-nvidia packages are signed already.

Fault: Secure Boot on, cards here, no module loaded, or the kernel wrote that it refused one. Note: on,
and the loaded module bears no signature that we can see. Source: Linux kernel module signing; Ubuntu and
NVIDIA guides on MOK.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.happened import events
from rigright.doctor.record import Case, Evidence, Finding, Fine, NotSeen, Verdict, as_root, step
from rigright.doctor.stack import capabilities, capabilities_on_bus, cards_on_bus, has_nvidia, module
from rigright.facts.drivers import OPEN_FROM, packages_for

TITLE = say("Secure Boot lets the driver in")
_REFUSED = ("rejected", "required key", "unsigned module")
_STATE = "mokutil --sb-state"
_KEYS = "/var/lib/shim-signed/mok/MOK.der"


def check(case: Case) -> Iterator[Verdict]:
    """One verdict for the machine."""
    system = case.machine.system
    if not has_nvidia(case) or system.virtual == "wsl2":
        return
    if system.secure_boot is None:
        yield NotSeen(why=say("the firmware's variables cannot be read here"), see=_STATE)
    elif not system.secure_boot:
        yield Fine(says=say("Secure Boot is off"))
    elif module(case, "nvidia") is not None:
        yield Fine(says=say("Secure Boot is on, and the module is loaded"))
    elif system.modules is None:
        yield NotSeen(why=say("the list of kernel modules cannot be read here"), see="lsmod | grep nvidia")
    elif cards_on_bus(case):
        yield _kept_out(case)


def _kept_out(case: Case) -> Finding:
    said = [one for one in events(case, "driver") or [] if any(word in one.text.lower() for word in _REFUSED)]
    # ubuntu's package of signed modules, of the kind that the oldest card here runs on
    system = case.machine.system
    ways = packages_for("ubuntu", system.os_version, arch=system.arch) if system.os_id == "ubuntu" else ()
    own = next((one for one in ways if one.repo is None), None)
    oldest = min({**capabilities_on_bus(case), **capabilities(case)}, default=OPEN_FROM)
    names = own.driver(is_open=oldest >= OPEN_FROM) if own else ()
    signed = f"linux-modules-{names[0].replace('-driver', '')}-generic" if names else None
    return Finding(
        severity="fault",
        title=say("Secure Boot is on and NVIDIA's module is not loaded"),
        evidence=(
            Evidence(shows=say("Secure Boot: on"), command=_STATE),
            *(
                Evidence(shows=one.text, command="journalctl -k | grep -i 'rejected\\|required key'")
                for one in said[-1:]
            ),
        ),
        why=say("the kernel refuses a module that no trusted key has signed, so no card works"),
        fix=(
            as_root(say("on Ubuntu: packages with modules that are signed already"), f"apt install {signed}")
            if signed
            else step(say("see which key signed the module, if any"), "modinfo -F signer nvidia"),
            as_root(
                say("or trust the key that DKMS signs with: a password now, a blue screen at the next boot"),
                f"mokutil --import {_KEYS}",
                disturbs=True,
            ),
            step(say("or switch Secure Boot off in the firmware, where its protection is not wanted")),
        ),
        verify="lsmod | grep nvidia",
        confidence="sure" if said else "likely",
    )
