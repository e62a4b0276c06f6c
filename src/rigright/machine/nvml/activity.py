"""What the parts of a device did between two readings, by the driver's own counters (GPM, from Hopper on).

Imported by the child alone. A reading takes one sample of the device, and one of each of its MIG instances,
and holds it against the sample before. It needs no rights, and changes nothing.
"""

from __future__ import annotations

import time
from ctypes import c_void_p, cast
from math import isfinite
from typing import Any

CALL = "nvmlGpmMetricsGet"
APART_S = 0.1  # of two samples: the driver renews its counters no faster
_Key = tuple[int | None, int | None]  # a device, and the number of a MIG instance


class ActivityReader:
    """Keeps the last sample of each device and instance; the first reading of one tells nothing yet."""

    def __init__(self, nvml: Any, numbers: list[int]) -> None:
        self._nvml, self._count = nvml, len(numbers)
        self._asked = nvml.c_nvmlGpmMetricsGet_t(
            version=nvml.NVML_GPM_METRICS_GET_VERSION, numMetrics=self._count
        )
        for place, number in enumerate(numbers):
            self._asked.metrics[place].metricId = number
        self._samples: dict[_Key, tuple[float, Any]] = {}  # when it was taken, and the sample
        self._instances: dict[int | None, set[int]] = {}

    def __call__(self, handle: Any, known: dict[str, Any]) -> list[list[Any]]:
        """[instance or None, value, ...] of the device and of each instance; None for what is not counted."""
        nvml, device = self._nvml, cast(handle, c_void_p).value
        if not nvml.nvmlGpmQueryDeviceSupport(handle).isSupportedDevice:
            raise nvml.NVMLError(nvml.NVML_ERROR_NOT_SUPPORTED)
        if isinstance(known.get("slices"), list):
            self._instances[device] = {part["gi"] for part in known["slices"] if part["gi"] is not None}
        there = {(device, None), *((device, number) for number in self._instances.get(device, ()))}
        for gone in [key for key in self._samples if key[0] == device and key not in there]:
            nvml.nvmlGpmSampleFree(self._samples.pop(gone)[1])
        pairs = ((key[1], self._since(key, handle)) for key in sorted(there, key=str))
        return [[instance, *values] for instance, values in pairs if values is not None]

    def _since(self, key: _Key, handle: Any) -> list[float | None] | None:
        """What was done since the sample before; None where there was none, or none can be taken."""
        nvml, asked, now_s = self._nvml, self._asked, time.monotonic()
        taken_s, before = self._samples.get(key, (0.0, None))
        if before is not None and now_s - taken_s < APART_S:
            return None
        sample = nvml.nvmlGpmSampleAlloc()
        try:
            if key[1] is None:
                nvml.nvmlGpmSampleGet(handle, sample)
            else:
                nvml.nvmlGpmMigSampleGet(handle, key[1], sample)
        except nvml.NVMLError:  # an instance is gone, or a cut device tells of its instances alone
            nvml.nvmlGpmSampleFree(sample)
            return None
        self._samples[key] = now_s, sample
        if before is None:
            return None
        asked.sample1, asked.sample2 = before, sample
        try:
            nvml.nvmlGpmMetricsGet(asked)
        except nvml.NVMLError:
            return None
        finally:
            nvml.nvmlGpmSampleFree(before)
        return [
            metric.value if metric.nvmlReturn == 0 and isfinite(metric.value) else None
            for metric in asked.metrics[: self._count]
        ]
