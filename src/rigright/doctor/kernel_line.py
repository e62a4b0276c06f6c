"""The kernel's command line, as each family of systems has it changed."""

from __future__ import annotations

from rigright.doctor.advice import advised_step
from rigright.doctor.record import CheckInput, Step

SHOW = "cat /proc/cmdline"
_BY = dict.fromkeys(("ubuntu", "debian", "linuxmint", "pop"), "grub") | dict.fromkeys(
    ("fedora", "rhel", "rocky", "almalinux", "centos", "ol", "amzn"), "grubby"
)


def with_option(case: CheckInput, option: str) -> Step:
    """Start the kernel with an option from the next boot on."""
    way = _BY.get(case.machine.system.os_id or "")
    return advised_step("option_by_grub" if way == "grub" else "option", option=option, vendor=way)


def without_option(case: CheckInput, option: str) -> Step:
    """Start the kernel without an option from the next boot on."""
    way = _BY.get(case.machine.system.os_id or "")
    return advised_step("no_option_by_grub" if way == "grub" else "no_option", option=option, vendor=way)
