"""Temperatures and fans of GPUs, board and inlet air."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.advice import advise, label
from rigright.doctor.gpus import answering, details, is_busy, kinds, unread
from rigright.doctor.record import CheckInput, Fine, NotSeen, Severity, Verdict, check
from rigright.machine.device import Device
from rigright.machine.host import Sensor

_FAN_WARM_C, _FAN_HOT_C = 60, 70
_NEAR_C = 5
_MEMORY_NEAR_C = 3
_MEMORY_USUAL_C = {"HBM": 95.0, "GDDR": 105.0}
_UNEVEN_C, _LEAST_CARDS = 15, 3
_AIR_C = 35.0
_AIR = ("inlet", "intake", "ambient")
CARDS = ("amdgpu", "nouveau", "gpu")
CRITICAL = {"critical", "beyond repair"}


@check(say("GPU fans"))
def thermal_fans(case: CheckInput) -> Iterator[Verdict]:
    """Whether the GPU fans spin.

    Passively cooled GPUs are skipped. Fans stop while a GPU is cool (below about 55 °C); one that stands
    still while another spins, or while the GPU is above 70 °C, is broken or blocked: fault.

    Source: the rest mode of makers' cards; the limits are our own.
    """
    for device, chip in answering(case):
        fans, gpu_c = device.thermal.fans, device.thermal.gpu_c or 0.0
        if not fans or (chip is not None and "passive" in chip.form):
            continue
        still = sum(not share for share in fans)
        shares, temperature = ", ".join(f"{share:.0%}" for share in fans), f"{gpu_c:.0f}"
        if still and gpu_c >= (_FAN_HOT_C if still == len(fans) else _FAN_WARM_C):
            yield advise("heat.fan", device=device, shares=shares, temperature=temperature)
        else:
            says = say("fan speeds {shares}, GPU at {temperature} °C", shares=shares, temperature=temperature)
            yield Fine(says=says, about=label(device))


@check(say("GPU temperature"))
def thermal_margin(case: CheckInput) -> Iterator[Verdict]:
    """How close each GPU is to its thermal slowdown temperature.

    Limits differ by model (slowdown / shutdown: A100 SXM 89/92 °C, T4 93/96, RTX 3090 95/98); one limit for
    all GPUs gives false alarms. At the limit: fault; within 5 °C of it, or above the maximum operating
    temperature: warning.

    Sources: the card's own thresholds; margins of 0 and below that some drivers report are known to be
    unreliable (gpud), so temperature and limit are compared where both are told.
    """
    for device, _ in answering(case):
        thermal, see = device.thermal, details(device, "TEMPERATURE")
        if thermal.gpu_c is None:
            yield unread(device, see)
            continue
        margin, temperature = _margin(device), f"{thermal.gpu_c:.0f}"
        above = thermal.gpu_most_c is not None and thermal.gpu_c > thermal.gpu_most_c
        if above or (margin is not None and margin <= _NEAR_C):
            limit, default = thermal.slowdown_c or thermal.gpu_most_c, device.power.limit_default_w
            yield advise(
                "heat.limit" if margin is not None and margin <= 0 else "heat.near",
                device=device,
                temperature=temperature,
                limit="?" if limit is None else f"{limit:.0f} °C",
                less=device.vendor == "nvidia" and default is not None,
                watts=f"{max((default or 0.0) * 0.85, device.power.limit_min_w or 0.0):.0f}",
            )
        elif margin is not None:
            says = say(
                "{temperature} °C, {margin} below the slowdown limit",
                temperature=temperature,
                margin=f"{margin:.0f}",
            )
            yield Fine(says=says, about=label(device))
        elif thermal.gpu_most_c is not None:
            yield Fine(
                says=say("{temperature} °C, below the limit", temperature=temperature), about=label(device)
            )
        else:
            why = say("{temperature} °C; limit not reported", temperature=temperature)
            yield NotSeen(why=why, see=see, about=label(device))


def _margin(device: Device) -> float | None:
    """Degrees that are left until the card slows down."""
    thermal = device.thermal
    if thermal.gpu_c is not None and thermal.slowdown_c is not None and thermal.slowdown_c > 0:
        return thermal.slowdown_c - thermal.gpu_c
    return thermal.margin_c if thermal.margin_c is not None and thermal.margin_c > 0 else None


@check(say("GPU memory temperature"))
def thermal_memory(case: CheckInput) -> Iterator[Verdict]:
    """GPU memory temperature.

    Memory can be at its limit while the core is cool: GDDR6X is specified to 110 °C, HBM to about 95. The
    GPU's own limit counts where it reports one; otherwise 105 °C for GDDR and 95 °C for HBM. Within 3 °C:
    warning; at it: fault.

    Sources: the card's threshold; Micron's data sheet of GDDR6X; NVIDIA's thresholds of A100 (95 °C).
    """
    for device, chip in answering(case):
        mem_c, limit = device.thermal.mem_c, device.thermal.mem_most_c
        if limit is None or limit <= 0:
            kind = "" if chip is None else chip.mem_type
            limit = next((most for start, most in _MEMORY_USUAL_C.items() if kind.startswith(start)), None)
        if mem_c is None or limit is None:
            continue
        seen = {"temperature": f"{mem_c:.0f}", "limit": f"{limit:.0f} °C"}
        if mem_c > limit - _MEMORY_NEAR_C:
            severity: Severity = "fault" if mem_c >= limit else "warning"
            yield advise("heat.memory", seen, device=device, severity=severity)
        else:
            yield Fine(says=say("{temperature} °C, limit {limit}", **seen), about=label(device))


@check(say("identical GPUs run equally warm"))
def thermal_uneven(case: CheckInput) -> Iterator[Verdict]:
    """Whether one GPU runs much hotter than its peers at the same load.

    Identical GPUs under load are within about ten degrees of each other; the inner ones of a row run warmer.
    More than 15 °C above the median of at least three points to a fan, a loose heat sink or recirculating
    air.

    Warning, likely. Source: comparison within the machine; the limit is our own.
    """
    for devices in kinds(case):
        warm = [
            (item, item.thermal.gpu_c) for item in devices if item.thermal.gpu_c is not None and is_busy(item)
        ]
        if len(warm) < _LEAST_CARDS:
            continue
        median_c = statistics.median(gpu_c for _, gpu_c in warm)
        median = f"{median_c:.0f}"
        hot = [(device, gpu_c) for device, gpu_c in warm if gpu_c > median_c + _UNEVEN_C]
        for device, gpu_c in hot:
            yield advise("heat.uneven", device=device, temperature=f"{gpu_c:.0f}", median=median)
        if not hot:
            yield Fine(
                says=say("all within {most} °C of the median {median} °C", most=_UNEVEN_C, median=median)
            )


@check(say("chassis fans"))
def board_fans(case: CheckInput) -> Iterator[Verdict]:
    """Chassis fans.

    In a server, a stopped fan overheats the GPUs behind it within minutes. On a desktop an empty header reads
    zero and some fans stop when it is cool: nothing is reported there.

    Fault: below the BMC's critical limit; warning: below its lower limit. Source: IPMI limits set by the
    board's maker.
    """
    fans = [item for item in case.machine.sensors or () if item.kind == "fan" and item.source != "hwmon"]
    slow = [
        fan
        for fan in fans
        if (fan.low is not None and fan.value is not None and fan.value < fan.low)
        or fan.status in {*CRITICAL, "beyond a limit"}
    ]
    for sensor in slow:
        still = sensor.value == 0 or sensor.status in CRITICAL
        yield advise(
            "heat.case_fan",
            about=sensor.name,
            severity="fault" if still else "warning",
            name=sensor.name,
            speed=f"{sensor.value or 0:.0f}",
            limit=f"{sensor.low:g}" if sensor.low is not None else "?",
        )
    if fans and not slow:
        yield Fine(says=say("all spinning; fans: {count}", count=len(fans)))


@check(say("CPU, board and inlet temperatures"))
def board_heat(case: CheckInput) -> Iterator[Verdict]:
    """CPU, board and inlet temperatures, against their own limits.

    Sensors bring their own limits, from the CPU or board vendor. Warm inlet air leaves the GPUs no headroom,
    whatever their fans do.

    Fault: beyond the BMC's critical limit. Warning: at or beyond the upper limit; note: inlet air above 35
    °C. Source: each sensor's limits; ASHRAE class A2 (10 to 35 C at the inlet).
    """
    known = [
        item
        for item in case.machine.sensors or ()
        if item.kind == "temperature" and item.value is not None and not item.name.lower().startswith(CARDS)
    ]
    hot = [(item, severity) for item in known if (severity := _severity(item)) is not None]
    for sensor, severity in hot:
        yield advise(
            "heat.board",
            about=sensor.name,
            severity=severity,
            name=sensor.name,
            heat=f"{sensor.value:.0f}",
            limit=f"{_AIR_C if sensor.high is None else sensor.high:g}",
            see="sudo ipmitool sdr type Temperature" if sensor.source == "ipmi" else "sensors",
        )
    if known and not hot:
        yield Fine(says=say("within limits; sensors: {count}", count=len(known)))


def _severity(sensor: Sensor) -> Severity | None:
    value = sensor.value or 0.0
    if sensor.status in CRITICAL:
        return "fault"
    if (sensor.high is not None and value >= sensor.high) or sensor.status == "alarm":
        return "warning"
    is_air = any(word in sensor.name.lower() for word in _AIR)
    return "note" if is_air and value > _AIR_C else None
