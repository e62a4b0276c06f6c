"""Memory of a card that is out of use, replaced by spare memory, or waits for either."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.advice import advise, first, label
from rigright.doctor.gpus import answering, bad_pages_line, unread
from rigright.doctor.record import Case, Fine, Verdict, check

NEAR = 0.9  # of the driver's threshold
MOST, MANY_DOUBLE = 60, 15


@check(say("bad pages of memory (AMD)"))
def pages_bad(case: Case) -> Iterator[Verdict]:
    """Pages of memory that AMD's driver found bad (Instinct).

    After an uncorrected error the driver takes the page out of use and writes it down on the card, for the
    card's whole life. A page in use waits for it; one that cannot be taken out stays in use: fault. The
    driver warns from 90 % of its threshold on, and at the threshold it gives the card up: it asks for its
    replacement, and may not start the card again: warning and fault. A page that waits: warning. Bad pages,
    all out of use: note.

    Source: the amdgpu driver's manual on RAS (gpu_vram_bad_pages: R, P, F; bad_page_threshold), its warning
    at 90 %. The threshold is told to root alone (`amd-smi static --ras`).
    """
    for device, _ in answering(case, vendor="amd"):
        retired = device.retired
        if retired is None or retired.pages_bad is None:
            if device.ecc is not None:
                yield unread(device, bad_pages_line(device))
            continue
        pages, most = retired.pages_bad, retired.pages_most
        name = first(
            {
                "pages.bad_stuck": retired.pages_stuck,
                "pages.bad_most": most and pages >= most,
                "pages.bad_near": most and pages >= NEAR * most,
                "pages.bad_waiting": retired.pages_waiting,
                "pages.bad": pages,
            }
        )
        if name is None:
            yield Fine(says=say("none"), about=label(device))
        else:
            yield advise(
                name,
                device=device,
                count=pages,
                waiting=retired.pages_waiting or 0,
                waits=bool(retired.pages_waiting),
                stuck=retired.pages_stuck or 0,
                most=most or "?",
            )


@check(say("pages of memory taken out of use"))
def pages_retired(case: Case) -> Iterator[Verdict]:
    """Pages of memory taken out of use (cards before Ampere).

    A page is retired after one uncorrected error or two corrected ones in the same place, at most 64 in all.
    60 or more, or one that waits with that many: fault, the card is at its end (DCGM fails it from 63 on).
    More than 15 for uncorrected errors, or a page that waits for the next reset: warning. Fewer: worth
    knowing.

    Source: NVIDIA's dynamic page retirement guide, DCGM's health rules.
    """
    for device, _ in answering(case, vendor="nvidia"):
        retired = device.retired
        if retired is None or (retired.pages_single is None and retired.pages_double is None):
            continue
        hard, soft = retired.pages_double or 0, retired.pages_single or 0
        name = first(
            {
                "pages.retired_most": hard + soft >= MOST,
                "pages.retired_waits": retired.pages_pending,
                "pages.retired_many": hard > MANY_DOUBLE,
                "pages.retired": hard + soft,
            }
        )
        if name is None:
            yield Fine(says=say("none"), about=label(device))
        else:
            yield advise(name, device=device, hard=hard, soft=soft)


@check(say("rows of memory replaced by spare ones"))
def rows_remapped(case: Case) -> Iterator[Verdict]:
    """Rows of memory that are replaced by spare ones (Ampere and later).

    After an uncorrected error, or many corrected ones, a row is put on a list and replaced at the next
    reset. Pending: warning, for until then the card works around it and another error may end more programs.
    A replacement that failed: fault, the way to a new card. A bank without spare rows left: warning, the
    next error in it cannot be replaced; few left: note.

    Newer drivers tell more: since 580 that a memory channel or a group of cores waits to be changed for a
    spare one at the next reset (warning), since 590 that no spare can replace memory any more (fault, the
    way to a new card).

    Source: NVIDIA's GPU memory error management guide (8 rows a bank, 512 in all), gpud, XID 63 and 64;
    nvidia-smi's change log (channel and TPC repair, unrepairable memory).
    """
    for device, _ in answering(case, vendor="nvidia"):
        retired = device.retired
        if retired is None:
            continue
        repairs = retired.unrepairable or retired.channel_repair_pending or retired.tpc_repair_pending
        if retired.unrepairable:
            yield advise("pages.unrepairable", device=device)
        if retired.channel_repair_pending or retired.tpc_repair_pending:
            name = "pages.channel_waits" if retired.channel_repair_pending else "pages.cores_wait"
            yield advise(name, device=device)
        if retired.rows_pending is None and retired.rows_failed is None:
            continue
        banks = dict(retired.banks)
        hard, soft = retired.rows_uncorrected, retired.rows_corrected
        if retired.rows_failed or retired.rows_pending:
            yield advise(
                "pages.row_failed" if retired.rows_failed else "pages.row_waits",
                device=device,
                hard="?" if hard is None else hard,
                soft="?" if soft is None else soft,
            )
        elif banks.get("none"):
            yield advise("pages.rows_none", device=device, count=banks["none"])
        elif banks.get("low"):
            yield advise("pages.rows_few", device=device, count=banks["low"])
        elif not repairs:
            yield Fine(
                says=say("{count} replaced, none waits", count=(hard or 0) + (soft or 0)), about=label(device)
            )
