"""GPU memory that is retired, remapped to spare rows, or pending either."""

from __future__ import annotations

from collections.abc import Iterator

from rigright.base.words import say
from rigright.doctor.advice import advise, first, label
from rigright.doctor.gpus import answering, bad_pages_line, unread
from rigright.doctor.record import CheckInput, Fine, Verdict, check

NEAR = 0.9  # of the driver's threshold
MOST, _MANY_DOUBLE = 60, 15


@check(say("bad memory pages (AMD)"))
def pages_bad(case: CheckInput) -> Iterator[Verdict]:
    """Memory pages that AMD's driver found bad (Instinct).

    After an uncorrectable error the driver retires the page and records it on the GPU for the GPU's
    whole life. A page in use is retired once it is free; one that cannot be retired stays in use. The
    driver warns from 90 % of its threshold; at the threshold it gives the GPU up, asks for its
    replacement and may refuse to start it again.

    Fault: a page that cannot be retired, or the threshold is reached. Warning: a page pending, or 90 %
    of the threshold. Note: bad pages, all retired. Source: the amdgpu driver's manual on RAS
    (gpu_vram_bad_pages: R, P, F; bad_page_threshold), its warning at 90 %. Only root can read the
    threshold (`amd-smi static --ras`).
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


@check(say("retired memory pages (before Ampere)"))
def pages_retired(case: CheckInput) -> Iterator[Verdict]:
    """Retired memory pages (GPUs before Ampere).

    A page is retired after one double-bit error or two single-bit errors at the same address; 64 pages
    at most.

    Fault: 60 or more; the GPU is at its end (DCGM fails it from 63 on). Warning: more than 15 for
    double-bit errors, or a page pending until the next reset. Note: fewer. Source: NVIDIA's dynamic page
    retirement guide, DCGM's health rules.
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
                "pages.retired_many": hard > _MANY_DOUBLE,
                "pages.retired": hard + soft,
            }
        )
        if name is None:
            yield Fine(says=say("none"), about=label(device))
        else:
            yield advise(name, device=device, hard=hard, soft=soft)


@check(say("row remapping (Ampere and later)"))
def rows_remapped(case: CheckInput) -> Iterator[Verdict]:
    """Row remapping (Ampere and later).

    After an uncorrectable error, or many correctable ones, a row is scheduled for remapping to a spare
    row at the next reset.

    Fault: remapping failed; the GPU needs an RMA. Warning: remapping is pending, because until the reset
    another error may kill more jobs; or a bank is out of spare rows, because its next error cannot be
    remapped. Note: a bank is low on spare rows.

    Newer drivers report more: from 580 on, a memory channel or TPC repair pending until the next reset
    (warning); from 590 on, memory that no spare can replace (fault, RMA).

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
                says=say("{count} remapped, none pending", count=(hard or 0) + (soft or 0)),
                about=label(device),
            )
