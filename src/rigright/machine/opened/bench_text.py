"""What logs of benchmarks tell of the machine they ran on; their figures are for `bench --from`."""

from __future__ import annotations

import re

from rigright.base.units import MIB
from rigright.machine.bench.logs import json_table
from rigright.machine.device import Device
from rigright.machine.nvidia_smi.cards import software_of
from rigright.machine.record import Read, telling

_RANK = re.compile(
    r"^#\s{1,8}Rank\s{1,6}\d{1,5} .{0,120}? device\s{1,4}(\d{1,3}) "
    r"\[(?:0x)?([0-9a-fA-F:.]{2,16})\] (\S.{0,80}?)\s*$",
    re.MULTILINE,
)
_DEVICE = re.compile(r"^Device (\d{1,3}): (\S.{0,80}?) \(([0-9a-fA-F:.]{7,16})\)\s*$", re.MULTILINE)
_NAMED = re.compile(  # of bandwidthTest, GPU STREAM
    r"^ ?Device (\d{1,3}): \"?([A-Z][\w .()-]{2,80}?)\"?(?:\s{2,}\d+ SMs.*)?\s*$", re.MULTILINE
)
_DRIVER = re.compile(r"^Driver Version: (\d{3}\.[\d.]{1,12})", re.MULTILINE)
_MARKS = re.compile(
    r"^nvbandwidth Version|^# nThread |^#\s+size\s+count\s+type"
    r"|^(?:cpu|gpu)\w{0,12}_to_(?:cpu|gpu)\w{0,60} [\d.]+\s*$"
    r"|^GPU \d+: .*\bGflop/s|^\d+(?:\.\d+)?%\s+proc'd:|^\s*READ: bw=|^\s*WRITE: bw=|^fio-\d"
    r"|^bandwidthTest-[HD]2[HD]|^\[CUDA Bandwidth Test\]|_Bandwidth_(?:un)?pinned\s+\S+\s+GB/sec"
    r"|^STREAM_(?:COPY|TRIAD)_\w+_gpu_|^[ \t]{0,40}(?:RDMA_\w+|Send) (?:Bidirectional )?BW Test"
    r"|^#bytes\s+#iterations|^\s*Running \w+_memcpy_\w+\.\s*$"
    r'|^\{"node": ?"|"out_of_place"|"fio version"|^\s*"nvbandwidth"',
    re.MULTILINE,
)
_MOST_CARDS = 512


def is_benchmark(text: str) -> bool:
    """Whether it is a log of nccl-tests, nvbandwidth, gpu-burn, fio or SuperBench."""
    return _MARKS.search(text[:MIB]) is not None


def read_benchmark(text: str) -> Read:
    """The cards of its first machine, as far as it names them."""
    text = json_table(text) or text
    result: dict[int, Device] = {}
    for match in [*_RANK.finditer(text)][:_MOST_CARDS]:
        result.setdefault(int(match[1]), Device(index=int(match[1]), vendor=_vendor(match[3]), name=match[3]))
    for match in [*_DEVICE.finditer(text)][:_MOST_CARDS]:
        result.setdefault(int(match[1]), Device(index=int(match[1]), vendor=_vendor(match[2]), name=match[2]))
    for match in [*_NAMED.finditer(text)][:_MOST_CARDS]:
        result.setdefault(int(match[1]), Device(index=int(match[1]), vendor=_vendor(match[2]), name=match[2]))
    driver = _DRIVER.search(text)
    devices = tuple(result[index] for index in sorted(result))
    return Read(fields=telling(devices=devices, software=software_of(driver=driver[1]) if driver else None))


def _vendor(name: str) -> str:
    return "amd" if re.search(r"\bAMD\b|Instinct|Radeon|\bMI\d{3}", name) else "nvidia"
