"""Whether the fans of a card turn.

Cards without fans are cooled by the server and are not asked. Fans rest while a card is cool (below about
55 °C); one that stands still while another turns, or while the card is above 70 °C, is broken or blocked:
fault.

Source: the rest mode of makers' cards; the limits are our own.
"""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.gpus import answering, label, query
from rigright.doctor.record import Case, Finding, Fine, Verdict, seen, step

TITLE = say("fans of a card turn")
WARM_C, HOT_C = 60, 70


def check(case: Case) -> Iterator[Verdict]:
    """One verdict a card with fans."""
    for device, chip in answering(case):
        fans, gpu_c = device.thermal.fans, device.thermal.gpu_c or 0.0
        if not fans or (chip is not None and "passive" in chip.form):
            continue
        still = [number for number, share in enumerate(fans) if not share]
        stopped = (len(still) == len(fans) and gpu_c >= HOT_C) or (
            0 < len(still) < len(fans) and gpu_c >= WARM_C
        )
        shown = ", ".join(f"{share:.0%}" for share in fans)
        if not stopped:
            yield Fine(
                says=say(
                    "{shares} of full speed at {temperature} °C", shares=shown, temperature=f"{gpu_c:.0f}"
                ),
                about=label(device),
            )
            continue
        yield Finding(
            severity="fault",
            title=say("a fan of the card stands still while the card is warm"),
            evidence=seen(
                say("{shares} of full speed at {temperature} °C", shares=shown, temperature=f"{gpu_c:.0f}"),
                query(device, "fan.speed", "temperature.gpu"),
            ),
            why=say("the card will slow down, then switch off, and ages fast"),
            fix=(
                step(
                    say("switch off; look for a cable in the fan, dust, or a plug that came loose"),
                    disturbs=True,
                ),
                step(say("if it still does not turn, have the fan or the card replaced")),
            ),
            confidence="likely",
            about=label(device),
        )
