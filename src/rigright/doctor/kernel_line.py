"""The kernel's command line, as each family of systems has it changed."""

from __future__ import annotations

import shlex

from rigright.base.words import say
from rigright.doctor.record import Case, Step, as_root, step

SHOW = "cat /proc/cmdline"
_BY_GRUB = {"ubuntu", "debian", "linuxmint", "pop"}
_BY_GRUBBY = {"fedora", "rhel", "rocky", "almalinux", "centos", "ol", "amzn"}


def with_option(case: Case, option: str) -> Step:
    """Start the kernel with an option from the next boot on."""
    system = case.machine.system.os_id
    if system in _BY_GRUB:
        says = say("write {option} into /etc/default/grub, then write the boot menu anew", option=option)
        return as_root(says, "update-grub")
    says = say("add {option} to the kernel's command line", option=option)
    if system in _BY_GRUBBY:
        return as_root(says, f"grubby --update-kernel=ALL --args={shlex.quote(option)}")
    return step(says)


def without_option(case: Case, option: str) -> Step:
    """Start the kernel without an option from the next boot on."""
    system = case.machine.system.os_id
    if system in _BY_GRUB:
        says = say("take {option} out of /etc/default/grub, then write the boot menu anew", option=option)
        return as_root(says, "update-grub")
    says = say("take {option} off the kernel's command line", option=option)
    if system in _BY_GRUBBY:
        return as_root(says, f"grubby --update-kernel=ALL --remove-args={shlex.quote(option)}")
    return step(says)
