"""Power and clocks: what a card draws and may draw, what slows it down, the supplies and rails behind it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rigright.base.units import MEGA, show_seconds, show_watts
from rigright.base.words import say
from rigright.doctor.advice import advise, label
from rigright.doctor.gpus import answering, details, is_busy, unread
from rigright.doctor.record import Case, Evidence, Fine, NotSeen, Severity, Verdict, check
from rigright.facts.slowdowns import reasons, slowdowns
from rigright.machine.host import Sensor

LEAST_W, MOST_SHARE = 1.0, 1.3
WORKS_SHARE = 0.5
DEFAULT_SHARE = 0.98  # below it, somebody lowered a limit or a clock
LOW_SHARE, WORST_SHARE = 0.5, 1 / 3
RESTING_STATE = 5
BRAKES: tuple[Severity, ...] = ("fault", "warning")
BEFORE_S = {"hw_slowdown": 10.0, "hw_thermal": 10.0, "hw_power_brake": 10.0, "sw_thermal": 600.0}
OFF, FAR, ODD = 0.05, 0.10, 0.30
RAIL = re.compile(r"(?i)(?:^|[^0-9.])\+?(12|5|3\.3)\s?v(?![0-9])")
CARDS_OWN = ("amdgpu", "nouveau", "nvme")
WEAK = ("about to fail", "absent")


@check(say("power readings can be true"))
def power_draw(case: Case) -> Iterator[Verdict]:
    """Whether the power a card draws can be true.

    A card at work that draws nothing has a broken sensor, or does not work though it says so; one that draws
    far above its limit for more than a moment has one too. Its energy and cost figures are wrong then, and
    its power limit does not protect anything. Below 1 W at work, or 30 % above its limit: warning, likely.

    Source: physics; peaks of milliseconds above the limit are normal and averaged out by the driver.
    """
    for device, _ in answering(case):
        draw, limit = device.power.draw_w, device.power.limit_w
        if draw is None:
            continue
        works = (device.busy_share or 0.0) >= WORKS_SHARE
        if (works and draw < LEAST_W) or (limit and draw > MOST_SHARE * limit):
            shown = "?" if limit is None else show_watts(limit)
            yield advise("power.draw", device=device, power=show_watts(draw), limit=shown)
        else:
            yield Fine(says=say("{text}", text=show_watts(draw)), about=label(device))


@check(say("a card may draw what it was made for"))
def power_limit(case: Case) -> Iterator[Verdict]:
    """Whether a card may draw what it was made for.

    A limit below the card's default was set by somebody, or by a server that saves power. It costs little at
    first (15 % less power is about 5 % less speed) and much further down. On desktops people lower it on
    purpose: note. On datacentre cards, where plans and benchmarks take the default: warning, from 2 % below
    on.

    Source: the card's own default limit.
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
        if limit < DEFAULT_SHARE * default:
            yield advise(
                "power.limit",
                seen,
                device=device,
                severity="warning" if chip is not None and chip.segment == "datacenter" else "note",
                share=f"{limit / default:.0%}",
                watts=f"{default:.0f}",
            )
        elif limit <= default:
            yield Fine(says=say("{limit}, its default", limit=seen["limit"]), about=label(device))
        else:
            yield Fine(says=say("{limit}, above its default of {default}", **seen), about=label(device))


@check(say("nobody holds a card to lower clocks"))
def clocks_held(case: Case) -> Iterator[Verdict]:
    """Whether somebody holds a card to clocks below its own (application clocks, locked clocks).

    Held clocks make benchmarks repeatable and cards slow; they are easily forgotten. Application clocks
    below the card's default, or the driver saying that set clocks hold it: warning on datacentre cards, note
    on others. The default itself may lie below the highest clock (A100: 1275 of 1410 MHz), and that is no
    finding.

    Source: NVML's application clocks and their default.
    """
    for device, chip in answering(case, vendor="nvidia"):
        clocks = device.clocks
        app, default = clocks.sm_app_hz, clocks.sm_app_default_hz
        low = app is not None and default is not None and app < DEFAULT_SHARE * default
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
            yield Fine(says=say("nobody does"), about=label(device))


@check(say("a card that works runs at its clock"))
def clocks_low(case: Case) -> Iterator[Verdict]:
    """Whether a card that works has left its resting state.

    A card at work runs in state P0 to P2 and near its highest clock; one that stays in P5 or P8, or below
    half of its clock with no reason told, is stuck: a known fault after a broken suspend, a power cable that
    reports too little, or a driver that lost its firmware. Judged only while it works.

    Fault below a third of its clock, warning below a half; likely. Source: NVIDIA's performance states; the
    shares are our own.
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
            why, see = say("it rests: clocks are judged under load"), details(device, "CLOCK")
            yield NotSeen(why=why, idle=True, see=see, about=label(device))
            continue
        told = any(
            slowdowns()[word].judged != "none" for word in device.slowed_by or () if word in slowdowns()
        )
        rests = device.pstate is not None and device.pstate >= RESTING_STATE
        if not told and (rests or now < LOW_SHARE * most):
            yield advise(
                "power.clocks_low",
                device=device,
                severity="fault" if now / most < WORST_SHARE else "warning",
                state="?" if device.pstate is None else f"P{device.pstate}",
                share=f"{now / most:.0%}",
            )
        else:
            shown = {"clock": f"{now / MEGA:.0f}", "share": f"{now / most:.0%}"}
            yield Fine(says=say("{clock} MHz, {share} of its highest", **shown), about=label(device))


@check(say("no card is held back"))
def gpu_throttled(case: Case) -> Iterator[Verdict]:
    """Why a card runs slower than it could, at this moment.

    The driver tells reasons: heat, the power limit, a brake that the power supply or the server pulls. Idle
    cards slow down by themselves, so a card is judged while it works; on one that rests only the brakes that
    need no load count.

    A brake of the board (heat, power): fault. The driver's own for heat: warning. The power limit under load
    is how cards are meant to run: fine; a limit that somebody lowered has a check of its own.

    Table: data/slowdowns.csv. Sources: NVML's clocks event reasons; gpud, nvidia_gpu_exporter.
    """
    for device, _ in answering(case):
        if device.slowed_by is None:
            continue
        known = [slowdowns()[word] for word in reasons(device.slowed_by) if word in slowdowns()]
        bad = sorted((one for one in known if one.judged in BRAKES), key=lambda one: one.judged != "fault")
        rests, see = is_busy(device) is False, details(device, "PERFORMANCE")
        if bad:
            now, most = device.clocks.sm_hz, device.clocks.sm_max_hz
            words = {one.word for one in bad}
            by_power = not words.isdisjoint({"hw_power_brake", "board_limit"})
            by_heat = not by_power and not words.isdisjoint({"hw_thermal", "sw_thermal"})
            yield advise(
                "power.throttled",
                device=device,
                severity="fault" if bad[0].judged == "fault" and not rests else "warning",
                confidence="likely" if rests else "sure",
                reason=bad[0].meaning,
                reasons=tuple(Evidence(shows=one.meaning, command=see) for one in bad),
                now=None if now is None or not most else f"{now / MEGA:,.0f}",
                most=f"{(most or 0.0) / MEGA:,.0f}",
                by_power=by_power,
                by_heat=by_heat,
            )
        elif rests:
            why = say("it rests: clocks are judged under load")
            yield NotSeen(why=why, idle=True, see=see, about=label(device))
        elif any(one.word == "sw_power_cap" for one in known):
            yield Fine(says=say("at its power limit, as is usual under load"), about=label(device))
        else:
            yield Fine(says=say("nothing holds it back"), about=label(device))


@check(say("no card was held back before"))
def slowed_before(case: Case) -> Iterator[Verdict]:
    """How long a card was held back since the driver loaded.

    A look at one moment misses a card that overheats once an hour. Newer drivers count how long each reason
    held. The board's own brakes for 10 seconds or more: warning; the driver's brake for heat for 10 minutes
    or more: note. The power limit is left out: cards are meant to run at it.

    Source: NVML's counters of clocks event reasons (drivers from 565 on); the limits are our own.
    """
    for device, _ in answering(case):
        if device.slowed_s is None or BEFORE_S.keys().isdisjoint(word for word, _ in device.slowed_s):
            continue  # an older driver counts the power limit alone
        long = [
            (word, held_s) for word, held_s in device.slowed_s if held_s >= BEFORE_S.get(word, float("inf"))
        ]
        if not long:
            yield Fine(says=say("none of its brakes was pulled for long"), about=label(device))
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


@check(say("voltages of the rails"))
def supply_rails(case: Case) -> Iterator[Verdict]:
    """Voltages of the board's rails.

    The ATX rule allows 5 % around 12 V, 5 V and 3.3 V. A rail below it under load tells of a supply that is
    too small or worn, or of bad plugs; cards then crash under load with odd errors (XID 79). Quick ripple
    (guide 2: 50 mV) is not seen by these sensors, which are read once in a while.

    Fault: more than 10 % off, or beyond the board's critical limit. Warning: more than 5 % off, or beyond
    its limit. Only readings a rail can have (within 30 %) are judged: many desktop boards name rails
    wrongly. Source: Intel ATX12V design guide, table of DC output regulation; the board's own limits.
    """
    volts = [one for one in case.machine.sensors or () if one.kind == "volt" and one.value]
    judged = [(one, _severity(one)) for one in volts if not one.name.startswith(CARDS_OWN)]
    for one, severity in judged:
        if severity is not None:
            by_ipmi = one.source == "ipmi"
            yield advise(
                "power.rail",
                about=one.name,
                severity=severity,
                confidence="sure" if by_ipmi else "maybe",
                name=one.name,
                volts=f"{one.value:.2f}",
                see="sudo ipmitool sdr type Voltage" if by_ipmi else "sensors",
            )
    known = [one for one, _ in judged if _nominal(one) is not None or one.low is not None]
    if known and not any(severity for _, severity in judged):
        yield Fine(says=say("within their limits; rails: {count}", count=len(known)))


def _nominal(sensor: Sensor) -> float | None:
    """What the rail should be, by its name, where the reading can be that rail's."""
    match = RAIL.search(sensor.name)
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


@check(say("power supplies are well"))
def supply_units(case: Case) -> Iterator[Verdict]:
    """Power supplies: present, fed and well.

    A server with a failed supply goes on with the rest, until the next one fails or the load peaks: then it
    switches off under load, or holds the cards back (power brake).

    Fault: a supply says it failed or has lost its input. Warning: it is about to fail, or absent among
    others. Source: IPMI specification, sensor type 08h (power supply).
    """
    supplies = [one for one in case.machine.sensors or () if one.kind == "supply"]
    bad = [one for one in supplies if one.status not in {None, "ok"}]
    for one in bad:
        severity: Severity = "warning" if one.status in WEAK else "fault"
        yield advise(
            "power.supply", about=one.name, severity=severity, name=one.name, status=one.status or "?"
        )
    if supplies and not bad:
        yield Fine(says=say("all well; supplies: {count}", count=len(supplies)))
    closed = next((one for one in case.machine.unseen if one.what == "sensors.ipmi"), None)
    if closed is not None:
        yield NotSeen(why=closed.why, see=closed.see)
