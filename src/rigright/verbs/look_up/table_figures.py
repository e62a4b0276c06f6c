"""Figures of the myths that are read from tables: CPUs, clouds, platforms, disks, software, engines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from rigright.base.errors import DataError
from rigright.base.units import GIGA, MEGA
from rigright.base.words import Sentence, say
from rigright.facts.clouds import find_instance
from rigright.facts.cpus import cpus
from rigright.facts.engines import find_engine
from rigright.facts.myths import disks, outdated
from rigright.facts.platforms import platforms
from rigright.facts.software import tensorflow_releases, torch_builds, version_of
from rigright.verbs.look_up.figure import Figure, of_field

BITS = 8


def cpu(cpu_id: str, name: str) -> Figure:
    """A field of one CPU."""
    found = next((one for one in cpus() if one.id == cpu_id), None)
    if name == "mem_mt_per_s":
        return Figure(_field(found, cpu_id, name="mem_transfers_per_s") / MEGA)
    return of_field(name, _field(found, cpu_id, name=name))


def cloud(instance: str, name: str) -> Figure:
    """A field of one cloud instance."""
    found = find_instance(instance)
    if name == "network_gbit_per_s":
        return Figure(_field(found, instance, name="network_bytes_per_s") * BITS / GIGA)
    return of_field(name, _field(found, instance, name=name))


def platform(platform_id: str, name: str) -> Figure:
    """A field of one platform."""
    found = next((one for one in platforms() if one.id == platform_id), None)
    return of_field(name, _field(found, platform_id, name=name))


def engine(engine_id: str, name: str) -> Figure:
    """A field of one engine."""
    return of_field(name, _field(find_engine(engine_id), engine_id, name=name))


def disk(disk_id: str, name: str) -> Figure:
    """A field of one disk."""
    return of_field(name, disks()[disk_id][name])


def gone(row_id: str, name: str) -> Figure:
    """What an outdated thing is replaced by, or since when."""
    value = outdated()[row_id][name]
    return Figure(Sentence(value) if value else say("none"))


def torch_variants() -> Figure:
    """Every CUDA build PyTorch has had wheels for."""
    builds = {build.build for build in torch_builds() if build.build.startswith("cu")}
    return Figure(", ".join(sorted(builds, key=lambda name: int(name.removeprefix("cu")))))


def torch_python(version: str) -> Figure:
    """The Pythons a PyTorch runs on."""
    return Figure(next(build.python for build in torch_builds() if build.torch == version))


def torch_first(capability: str) -> Figure:
    """The first PyTorch of our table with kernels for a compute capability."""
    return Figure(min(_with(capability), key=version_of))


def torch_last(capability: str) -> Figure:
    """The newest PyTorch of our table with kernels for a compute capability, with its build."""
    newest = max(_with(capability), key=version_of)
    builds = sorted(
        build.build for build in torch_builds() if build.torch == newest and _has(build, capability)
    )
    return Figure(f"{newest} ({', '.join(builds)})")


def _with(capability: str) -> list[str]:
    return [build.torch for build in torch_builds() if _has(build, capability) and build.confidence != "low"]


def _has(build: Any, capability: str) -> bool:
    major, minor = capability.split(".")
    return (int(major), int(minor)) in build.capabilities


def torch_min_cc(version: str, name: str) -> Figure:
    """The least compute capability a build of PyTorch has kernels for."""
    found = next(build for build in torch_builds() if (build.torch, build.build) == (version, name))
    return Figure("{}.{}".format(*min(found.capabilities)))


def tensorflow(version: str, name: str) -> Figure:
    """A field of one TensorFlow release."""
    found = next((one for one in tensorflow_releases() if one.tensorflow == version), None)
    return of_field(name, _field(found, version, name=name))


def _field(record: Any, asked: str, *, name: str) -> Any:
    if record is None:
        raise DataError(say('no row is called "{name}"', name=asked))
    return asdict(record)[name]


LAWS: dict[str, Callable[..., Figure]] = {
    "cpu": cpu,
    "cloud": cloud,
    "platform": platform,
    "engine": engine,
    "disk": disk,
    "outdated": gone,
    "torch_variants": torch_variants,
    "torch_python": torch_python,
    "torch_first": torch_first,
    "torch_last": torch_last,
    "torch_min_cc": torch_min_cc,
    "tensorflow": tensorflow,
}
