"""Processors of every class, as chips that engines run on."""

from rigright.facts.host_words import find_host
from rigright.facts.hosts import host_chip

OF_EACH_CLASS = (
    "epyc 9355 + 384gb", "2x epyc 9355 + 768gb", "ryzen 9 7950x + 64gb", "core ultra 7 255h + 32gb",
    "epyc 7443 + 256gb", "2x xeon e5-2697a v4 + 256gb", "ryzen 9 5950x + 64gb", "i7-7820hq + 32gb",
)  # fmt: skip


def processors():
    """One chip for each class of processors."""
    return tuple(host_chip(find_host(words)) for words in OF_EACH_CLASS)
