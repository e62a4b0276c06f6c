"""Power and clocks: draw, limits, throttling, power supplies and rails."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rigright.base.units import MEGA, show_seconds, show_watts
from rigright.base.words import say
from rigright.doctor.advice import advise, label
from rigright.doctor.gpus import answering, details, is_busy, unread
from rigright.doctor.record import CheckInput, Evidence, Fine, NotSeen, Severity, Verdict, check
from rigright.facts.faults import reasons, slowdowns
from rigright.machine.host import Sensor
from rigright.machine.parts.node_power import beside_cards, meters_of, of_sensors

_LEAST_W, MOST_SHARE = 1.0, 1.3
_WORKS_SHARE = 0.5
_DEFAULT_SHARE = 0.98  # below it, somebody lowered a limit or a clock
_LOW_SHARE, _WORST_SHARE = 0.5, 1 / 3
_RESTING_STATE = 5
_BRAKES: tuple[Severity, ...] = ("fault", "warning")
BEFORE_S = {"hw_slowdown": 10.0, "hw_thermal": 10.0, "hw_power_brake": 10.0, "sw_thermal": 600.0}
OFF, FAR, ODD = 0.05, 0.10, 0.30
_RAIL = re.compile(r"(?i)(?:^|[^0-9.])\+?(12|5|3\.3)\s?v(?![0-9])")
_CARDS_OWN = ("amdgpu", "nouveau", "nvme")
_WEAK = ("about to fail", "absent")
_NEAR_SHARE = 0.95  # of what a meter of power may show


@check(say("power readings"))
def power_draw(case: CheckInput) -> Iterator[Verdict]:
    """Whether a GPU's power reading is plausible.

    A busy GPU that draws nothing has a broken sensor or is not really working; one that stays far above
    its limit has a broken sensor too. Its energy and cost figures are then wrong, and its power limit
    protects nothing.

    Warning, likely: below 1 W under load, or 30 % above the limit. Source: physics; peaks of
    milliseconds above the limit are normal and averaged out by the driver.
    """
    for device, _ in answering(case):
        draw, limit = device.power.draw_w, device.power.limit_w
        if draw is None:
            continue
        works = (device.busy_share or 0.0) >= _WORKS_SHARE
        if (works and draw < _LEAST_W) or (limit and draw > MOST_SHARE * limit):
            shown = "?" if limit is None else show_watts(limit)
            yield advise("power.draw", device=device, power=show_watts(draw), limit=shown)
        else:
            yield Fine(says=say("{text}", text=show_watts(draw)), about=label(device))


@check(say("power limit"))
def power_limit(case: CheckInput) -> Iterator[Verdict]:
    """Whether the power limit is at the GPU's default.

    A lower limit was set by somebody, or by a server that saves power. It costs little at first (15 %
    less power is about 5 % less speed) and much further down. On desktops people lower it on purpose.

    Note; warning on data center GPUs, where plans and benchmarks assume the default, from 2 % below on.
    Source: the GPU's own default limit.
    """
    for device, chip in answering(case):
        limit, default = device.power.limit_w, device.power.limit_default_w
        if device.unified_memory:
            continue
        if limit is None or not default:
            if device.vendor == "nvidia":
                yield unread(device, details(device, "POWER"))
            continue
        seen = {"limit": show_watts(limit), "default": show_watts(default)}
        if limit < _DEFAULT_SHARE * default:
            yield advise(
                "power.limit",
                seen,
                device=device,
                severity="warning" if chip is not None and chip.segment == "datacenter" else "note",
                share=f"{limit / default:.0%}",
                watts=f"{default:.0f}",
            )
        elif limit <= default:
            yield Fine(says=say("{limit} (default)", limit=seen["limit"]), about=label(device))
        else:
            yield Fine(says=say("{limit}, above the default of {default}", **seen), about=label(device))


@check(say("application and locked clocks"))
def clocks_held(case: CheckInput) -> Iterator[Verdict]:
    """Whether application or locked clocks cap a GPU below its own.

    Fixed clocks make benchmarks repeatable and GPUs slow, and are easily forgotten. The default itself
    may lie below the maximum clock (A100: 1275 of 1410 MHz), which is no finding.

    Application clocks below the default, or the driver reporting them as throttle reason: warning on
    data center GPUs, note on others. Source: NVML's application clocks and their default.
    """
    for device, chip in answering(case, vendor="nvidia"):
        clocks = device.clocks
        app, default = clocks.sm_app_hz, clocks.sm_app_default_hz
        low = app is not None and default is not None and app < _DEFAULT_SHARE * default
        locked = "app_clocks" in (device.slowed_by or ()) and is_busy(device) is True and app != default
        if low or locked:
            known = {"held": app, "default": default, "now": clocks.sm_hz, "most": clocks.sm_max_hz}
            yield advise(
                "power.clocks_held",
                {name: None if hertz is None else f"{hertz / MEGA:.0f}" for name, hertz in known.items()},
                device=device,
                severity="warning" if chip is not None and chip.segment == "datacenter" else "note",
            )
        elif app is not None or device.slowed_by is not None:
            yield Fine(says=say("not capped"), about=label(device))


@check(say("GPU clock under load"))
def clocks_low(case: CheckInput) -> Iterator[Verdict]:
    """Whether a busy GPU is stuck at low clocks.

    A busy GPU runs in P0 to P2 and near its maximum clock; one that stays in P5 or P8, or below half its
    clock without a throttle reason, is stuck: after a broken suspend, with a power cable that reports
    too little, or with a driver that lost its firmware. Judged only under load.

    Fault below a third of its clock, warning below half; likely. Source: NVIDIA's performance states;
    the shares are our own.
    """
    at_work: dict[str | None, float] = {}  # the highest clock of cards alike that work
    for device, _ in answering(case):
        if is_busy(device) and device.clocks.sm_hz is not None:
            at_work[device.name] = max(device.clocks.sm_hz, at_work.get(device.name, 0.0))
    for device, _ in answering(case):
        now, most = device.clocks.sm_hz, device.clocks.sm_max_hz or at_work.get(device.name)
        if now is None or not most:
            continue
        if not is_busy(device):
            why, see = say("idle: clocks can only be judged under load"), details(device, "CLOCK")
            yield NotSeen(why=why, idle=True, see=see, about=label(device))
            continue
        flag = any(
            slowdowns()[word].judged != "none" for word in device.slowed_by or () if word in slowdowns()
        )
        rests = device.pstate is not None and device.pstate >= _RESTING_STATE
        if not flag and (rests or now < _LOW_SHARE * most):
            yield advise(
                "power.clocks_low",
                device=device,
                severity="fault" if now / most < _WORST_SHARE else "warning",
                state="?" if device.pstate is None else f"P{device.pstate}",
                share=f"{now / most:.0%}",
            )
        else:
            shown = {"clock": f"{now / MEGA:.0f}", "share": f"{now / most:.0%}"}
            yield Fine(says=say("{clock} MHz, {share} of maximum", **shown), about=label(device))


@check(say("GPU throttling"))
def gpu_throttled(case: CheckInput) -> Iterator[Verdict]:
    """Why a GPU runs below its clock right now.

    The driver reports the reasons: heat, the power limit, a power brake from the supply or the server.
    Idle GPUs slow down by themselves, so a GPU is judged under load; on an idle one only hardware
    slowdowns count.

    Fault: a hardware slowdown (heat, power). Warning: software thermal slowdown. The power cap under
    load is normal; a lowered limit has a check of its own. Table: data/slowdowns.csv. Sources: NVML's
    clocks event reasons; gpud, nvidia_gpu_exporter.
    """
    for device, _ in answering(case):
        if device.slowed_by is None:
            continue
        known = [slowdowns()[word] for word in reasons(device.slowed_by) if word in slowdowns()]
        bad = sorted(
            (slowdown for slowdown in known if slowdown.judged in _BRAKES),
            key=lambda slowdown: slowdown.judged != "fault",
        )
        rests, see = is_busy(device) is False, details(device, "PERFORMANCE")
        if bad:
            now, most = device.clocks.sm_hz, device.clocks.sm_max_hz
            words = {slowdown.word for slowdown in bad}
            by_power = not words.isdisjoint({"hw_power_brake", "board_limit"})
            by_heat = not by_power and not words.isdisjoint({"hw_thermal", "sw_thermal"})
            yield advise(
                "power.throttled",
                device=device,
                severity="fault" if bad[0].judged == "fault" and not rests else "warning",
                confidence="likely" if rests else "sure",
                reason=bad[0].meaning,
                reasons=tuple(Evidence(shows=slowdown.meaning, command=see) for slowdown in bad),
                now=None if now is None or not most else f"{now / MEGA:,.0f}",
                most=f"{(most or 0.0) / MEGA:,.0f}",
                by_power=by_power,
                by_heat=by_heat,
            )
        elif rests:
            why = say("idle: clocks can only be judged under load")
            yield NotSeen(why=why, idle=True, see=see, about=label(device))
        elif any(slowdown.word == "sw_power_cap" for slowdown in known):
            yield Fine(says=say("at its power limit, normal under load"), about=label(device))
        else:
            yield Fine(says=say("not throttled"), about=label(device))


@check(say("GPU throttling since the driver loaded"))
def slowed_before(case: CheckInput) -> Iterator[Verdict]:
    """How long a GPU has been throttled since the driver loaded.

    A single look misses a GPU that overheats once an hour. Newer drivers count how long each reason was
    active.

    Warning: hardware slowdown for 10 seconds or more. Note: software thermal slowdown for 10 minutes or
    more. The power cap is ignored: GPUs are meant to run at it. Source: NVML's counters of clocks event
    reasons (drivers from 565 on); the limits are our own.
    """
    for device, _ in answering(case):
        if device.slowed_s is None or BEFORE_S.keys().isdisjoint(word for word, _ in device.slowed_s):
            continue  # an older driver counts the power limit alone
        long = [
            (word, held_s) for word, held_s in device.slowed_s if held_s >= BEFORE_S.get(word, float("inf"))
        ]
        if not long:
            yield Fine(says=say("no significant throttling"), about=label(device))
            continue
        yield advise(
            "power.braked" if any(word.startswith("hw_") for word, _ in long) else "power.slowed",
            device=device,
            times=tuple(
                Evidence(
                    shows=say(
                        "{time} since the driver loaded: {reason}",
                        time=show_seconds(held_s),
                        reason=slowdowns()[word].meaning,
                    ),
                    command=details(device, "PERFORMANCE"),
                )
                for word, held_s in long
            ),
        )


@check(say("supply rail voltages"))
def supply_rails(case: CheckInput) -> Iterator[Verdict]:
    """Voltages of the board's supply rails.

    ATX allows 5 % around 12 V, 5 V and 3.3 V. A rail below that under load means a power supply that is
    too small or worn, or bad connectors; GPUs then crash under load with odd errors (XID 79). Fast
    ripple (guide 2: 50 mV) is invisible to these sensors, which are read once in a while.

    Fault: more than 10 % off, or beyond the board's critical limit. Warning: more than 5 % off, or
    beyond its limit. Only plausible readings (within 30 %) are judged: many desktop boards label rails
    wrongly. Source: Intel ATX12V design guide, table of DC output regulation; the board's own limits.
    """
    volts = [item for item in case.machine.sensors or () if item.kind == "volt" and item.value]
    judged = [(volt, _severity(volt)) for volt in volts if not volt.name.startswith(_CARDS_OWN)]
    for sensor, severity in judged:
        if severity is not None:
            by_ipmi = sensor.source == "ipmi"
            yield advise(
                "power.rail",
                about=sensor.name,
                severity=severity,
                confidence="sure" if by_ipmi else "maybe",
                name=sensor.name,
                volts=f"{sensor.value:.2f}",
                see="sudo ipmitool sdr type Voltage" if by_ipmi else "sensors",
            )
    known = [item for item, _ in judged if _nominal(item) is not None or item.low is not None]
    if known and not any(severity for _, severity in judged):
        yield Fine(says=say("within their limits; rails: {count}", count=len(known)))


def _nominal(sensor: Sensor) -> float | None:
    """What the rail should be, by its name, where the reading can be that rail's."""
    match = _RAIL.search(sensor.name)
    nominal = float(match.group(1)) if match else None
    value = sensor.value or 0.0
    return nominal if nominal is not None and abs(value - nominal) <= ODD * nominal else None


def _severity(sensor: Sensor) -> Severity | None:
    nominal, value = _nominal(sensor), sensor.value or 0.0
    if sensor.status == "critical" or (nominal is not None and abs(value - nominal) > FAR * nominal):
        return "fault"
    beyond = sensor.source == "ipmi" and (
        (sensor.low is not None and value < sensor.low) or (sensor.high is not None and value > sensor.high)
    )
    return "warning" if beyond or (nominal is not None and abs(value - nominal) > OFF * nominal) else None


@check(say("power supplies"))
def supply_units(case: CheckInput) -> Iterator[Verdict]:
    """Power supplies: present, powered and healthy.

    A server with a failed supply keeps running on the rest until the next one fails or the load peaks:
    then it shuts down under load, or power-brakes the GPUs.

    Fault: a supply reports a failure or lost input. Warning: predicted failure, or absent among others.
    Source: IPMI specification, sensor type 08h (power supply).
    """
    supplies = [item for item in case.machine.sensors or () if item.kind == "supply"]
    bad = [supply for supply in supplies if supply.status not in {None, "ok"}]
    for sensor in bad:
        severity: Severity = "warning" if sensor.status in _WEAK else "fault"
        yield advise(
            "power.supply",
            about=sensor.name,
            severity=severity,
            name=sensor.name,
            status=sensor.status or "?",
        )
    if supplies and not bad:
        yield Fine(says=say("all ok; supplies: {count}", count=len(supplies)))
    closed = case.gap("sensors.ipmi")
    if closed is not None:
        yield closed


@check(say("power supply load"))
def supply_load(case: CheckInput) -> Iterator[Verdict]:
    """What the node and its power supplies draw, compared with their own upper limits.

    Close to its limit a supply trips at the next peak, or the board power-brakes the GPUs; with one supply
    out, the others carry its share. The limits are those that the management controller or the kernel's
    power meter states for the same sensor.

    Warning: 95 % of the limit or more. Source: IPMI specification, sensor thresholds; Linux acpi_power_meter.
    """
    sensors = case.machine.sensors or ()
    meters = [item for _, item in meters_of(sensors)]
    near = [meter for meter in meters if meter.high and (meter.value or 0.0) >= _NEAR_SHARE * meter.high]
    for sensor in near:
        yield advise(
            "power.supply_load",
            about=sensor.name,
            name=sensor.name,
            power=show_watts(sensor.value or 0.0),
            limit=show_watts(sensor.high or 0.0),
        )
    power = case.machine.node_power or of_sensors(sensors)
    closed = case.gap("sensors.ipmi")
    if power is None and closed is not None:
        yield NotSeen(why=closed.why, see="sudo ipmitool dcmi power reading")
    elif power is not None and not near:
        yield Fine(says=beside_cards(power, (device.power.draw_w for device, _ in answering(case))))
