"""Checks of accelerators: each with its fault, a fine machine, one not observed, one left alone."""

from __future__ import annotations

from ledger import COMPARED, GIB, LEFT_OUT, Row, told_by, whole

from healthy_hosts import SERVER_GPUS
from rigright.base.units import MEGA
from rigright.doctor.baseline import baseline_of
from rigright.doctor.record import Wanted
from rigright.machine.bench.record import Result
from rigright.machine.device import DirectLink, Program, Slice
from rigright.machine.host import Path
from rigright.machine.nvml.codes import HUNG, NO_PERMISSION, NOT_LOADED, why

OFFICE, DESKTOP, AMD, SPARK = {"on": "office"}, {"on": "desktop"}, {"on": "amd"}, {"on": "spark"}
WSL = {"on": "desktop", "system__virtual": "wsl2"}
RESTS = {"busy_share": 0.0, "power__draw_w": 70.0, "slowed_by": ("idle",), "clocks__sm_hz": 345 * MEGA}
DOWN = tuple(DirectLink(index=link, active=link > 2) for link in range(18))


def links(*speeds):
    """Eighteen links that are up, the first ones at speeds of their own."""
    speeds += speeds[-1:] * (18 - len(speeds))
    return tuple(DirectLink(index=at, active=True, bytes_per_s=speed) for at, speed in enumerate(speeds))


SLOW = links(13.281e9, 26.562e9)
NOISY = tuple(
    DirectLink(index=link, active=True, errors=(("recovery", int(link == 4)),)) for link in range(18)
)
PROGRAMS = (Program(pid=7, name="python", mem_bytes=60 * GIB),)
EIGHT = Wanted(chips=("h100-sxm5-80gb",) * 8, tp=8)
PAIR = Wanted(chips=("h100-sxm5-80gb",) * 2, tp=2)
FAR = tuple(
    Path(a=a, b=b, kind="SYS" if (a, b) == (0, 1) else "PIX", peer=True)
    for a in range(8)
    for b in range(a + 1, 8)
)


def one(changes, severity, about="gpu 3"):
    """A fault of the fourth of eight cards."""
    return ({"cards": {3: changes}}, severity, about)


def gemm(flops_per_s):
    """What a card measured."""
    return Result(
        part="gemm", what="bf16 square", on="gpu 0", value=flops_per_s, unit="flops_per_s",
        low=flops_per_s, high=flops_per_s, repeats=5,
    )  # fmt: skip


BASELINE = baseline_of(whole("server"), (gemm(790e12),), file="h100.toml")
RACK = {"every": {"name": "NVIDIA GB200", "pci_id": "10de:2941", "isa": "10.0"}}

ROWS = {
    "alike_names": Row(
        finds=(
            one({"name": "NVIDIA A100-SXM4-80GB"}, "note", None),
            ({"cards": {3: {"name": "NVIDIA H200"}}, "wanted": EIGHT}, "warning", None),
        ),
        fine={},
        unseen=COMPARED,
        apart={"count": 1},
    ),
    "alike_settings": Row(
        finds=(
            one({"power__limit_w": 500.0}, "warning"),
            one({"mem_total_bytes": 64 * GIB}, "warning"),
            one({"pcie__gen_max": 4}, "note"),
            one({"ecc__on": False}, "note"),
            one({"compute_mode": "prohibited"}, "note"),
        ),
        fine={},
        unseen=COMPARED,
        apart={"count": 1},
    ),
    "alike_vbios": Row(
        finds=(
            one({"vbios": "96.00.61.00.01"}, "warning"),
            ({"on": "desktop", "cards": {1: {"vbios": "95.02.00.00.01"}}}, "note", "gpu 1"),
        ),
        fine={},
        unseen=COMPARED,
        apart={"count": 1},
    ),
    "clocks_held": Row(
        finds=(
            one({"clocks__sm_app_hz": 1155 * MEGA}, "warning"),
            one({"slowed_by": ("app_clocks",), "clocks__sm_app_hz": None}, "warning"),
            (
                {
                    "on": "desktop",
                    "cards": {0: {"clocks__sm_app_hz": MEGA, "clocks__sm_app_default_hz": 2 * MEGA}},
                },
                "note",
                "gpu 0",
            ),
        ),
        fine={},
        unseen=LEFT_OUT,
        apart=AMD,
    ),
    "clocks_low": Row(
        finds=(one({"clocks__sm_hz": 345 * MEGA}, "fault"), one({"pstate": 8}, "warning")),
        fine={},
        unseen={"cards": {3: RESTS}},
        apart=OFFICE,
    ),
    "ecc_corrected": Row(
        finds=(
            one({"ecc__corrected_volatile": 20_000_000}, "warning"),
            one({"ecc__corrected_volatile": 1000}, "note"),
        ),
        fine={},
        unseen=told_by("ecc_uncorrected"),
        apart=DESKTOP,
    ),
    "ecc_mode": Row(
        finds=(
            one({"ecc__on": False, "ecc__on_after_reboot": False}, "warning"),
            one({"ecc__on_after_reboot": False}, "note"),
        ),
        fine={},
        unseen=told_by("ecc_uncorrected"),
        apart=DESKTOP,
    ),
    "ecc_sram": Row(
        finds=(
            one({"ecc__sram_over_threshold": True}, "fault"),
            one({"ecc__sram_uncorrected_aggregate": 2}, "note"),
        ),
        fine={},
        unseen=told_by("ecc_uncorrected"),
        apart=DESKTOP,
    ),
    "ecc_uncorrected": Row(
        finds=(
            one({"ecc__uncorrected_volatile": 1}, "fault"),
            one({"ecc__deferred_volatile": 2}, "warning"),
            one({"ecc__uncorrected_aggregate": 4}, "note"),
        ),
        fine={},
        unseen={"every": {"ecc__uncorrected_volatile": None, "ecc__uncorrected_aggregate": None}},
        apart=DESKTOP,
    ),
    "fabric_imex": Row(
        finds=(
            (RACK | {"system__services": (("nvidia-imex", "failed"),)}, "warning", None),
            (RACK | {"system__services": (("chrony", "active"),)}, "warning", None),
        ),
        fine=RACK | {"system__services": (("nvidia-imex", "active"),)},
        unseen=RACK | {"system__services": ()},
        apart={},
    ),
    "fabric_state": Row(
        finds=(
            one({"fabric__state": "not started", "fabric__status": None}, "fault"),
            one({"fabric__health": "unhealthy"}, "fault"),
            one({"fabric__bandwidth": "degraded"}, "warning"),
            one({"fabric__recovering": True}, "warning"),
        ),
        fine={},
        unseen=LEFT_OUT,
        apart=DESKTOP,
    ),
    "gpu_answers": Row(
        finds=(
            one({"state": "lost", "pci": None}, "fault"),
            one({"state": "hung"}, "fault"),
            ({"gone": (2,), "pci_of": {SERVER_GPUS[2]: {"is_gone": True}}}, "fault", SERVER_GPUS[2]),
        ),
        fine={},
        unseen={"every": {"state": "denied"}},
        apart=OFFICE,
    ),
    "gpu_compute_mode": Row(
        finds=(
            one({"compute_mode": "prohibited"}, "fault"),
            one({"compute_mode": "exclusive process"}, "note"),
        ),
        fine={},
        unseen=LEFT_OUT,
        apart=AMD,
    ),
    "gpu_count": Row(
        finds=(({"count": 7}, "warning", None), ({"count": 3}, "warning", None)),
        fine={},
        unseen="what is not there cannot be told apart from what was never there",
        apart=DESKTOP,
    ),
    "gpu_display": Row(
        finds=(({"on": "desktop", "cards": {0: {"display": True}}}, "note", "gpu 0"),),
        fine={},
        unseen=LEFT_OUT,
        apart={"on": "desktop", "count": 1},
    ),
    "gpu_driver": Row(
        finds=(
            ({"devices": (), "software__driver_error": str(why(HUNG))}, "fault", None),
            ({"devices": (), "software__driver_error": str(why(NOT_LOADED))}, "fault", None),
        ),
        fine={},
        unseen={"devices": (), "software__driver_error": str(why(NO_PERMISSION))},
        apart=OFFICE,
    ),
    "gpu_genuine": Row(
        finds=(one({"sms": 114}, "warning"), one({"bus_bits": 4096}, "warning")),
        fine={},
        unseen={"every": {"name": "NVIDIA Nonesuch 9000", "pci_id": None}},
        apart=AMD,
    ),
    "gpu_memory_held": Row(
        finds=(
            one({"mem_used_bytes": 12 * GIB}, "warning"),
            ({"cards": {3: {"mem_used_bytes": 12 * GIB}}, "system__container": "docker"}, "note", "gpu 3"),
            (
                {"cards": {3: {"mem_used_bytes": 12 * GIB}}, "origin": "pasted.txt", "system__kernel": None},
                "note",
                "gpu 3",
            ),
            (
                {"cards": {1: {"mem_used_bytes": 61 * GIB, "programs": PROGRAMS}}, "wanted": EIGHT},
                "warning",
                "gpu 1",
            ),
            one({"mem_used_bytes": 61 * GIB, "programs": (Program(pid=9, mem_bytes=GIB),)}, "warning"),
        ),
        fine={"cards": {1: {"mem_used_bytes": 60.4 * GIB, "programs": PROGRAMS}}},
        unseen={"every": {"programs": None}},
        apart=SPARK,
    ),
    "gpu_memory_total": Row(
        finds=(one({"mem_total_bytes": 64 * GIB}, "warning"),),
        fine={},
        unseen={"every": {"mem_total_bytes": None}},
        apart=SPARK,
    ),
    "gpu_persistence": Row(
        finds=(
            one({"persistence": False}, "note"),
            ({"on": "desktop", "cards": {1: {"persistence": False}}}, "note", "gpu 1"),
        ),
        fine={},
        unseen=LEFT_OUT,
        apart=WSL,
    ),
    "gpu_recovery": Row(
        finds=tuple(
            one({"recovery": action}, "fault")
            for action in (
                "gpu reset",
                "node reboot",
                "drain p2p",
                "drain and reset",
                "bus reset",
                "recover imex",
            )
        ),
        fine={},
        unseen={"every": {"recovery": None}},
        apart=AMD,
    ),
    "gpu_throttled": Row(
        finds=(
            one({"slowed_by": ("hw_slowdown", "hw_power_brake")}, "fault"),
            one({"slowed_by": ("hw_thermal",)}, "fault"),
            one({"slowed_by": ("sw_thermal",)}, "warning"),
            one(RESTS | {"slowed_by": ("hw_thermal", "idle")}, "warning"),
        ),
        fine={},
        unseen={"cards": {3: RESTS}},
        apart={"every": {"slowed_by": None}},
    ),
    "gpu_unified": Row(
        finds=((SPARK | {"memory__available_bytes": 3 * GIB}, "note", "gpu 0"),),
        fine=SPARK,
        unseen=SPARK | {"memory__available_bytes": None},
        apart={},
    ),
    "baseline_traits": Row(
        finds=(
            ({"count": 7, "baseline": BASELINE}, "fault", None),
            ({"software__driver": "570.1", "baseline": BASELINE}, "warning", None),
        ),
        fine={"baseline": BASELINE},
        unseen={"every": {"vbios": None}, "baseline": BASELINE},
        apart={},
    ),
    "baseline_bench": Row(
        finds=(
            ({"results": (gemm(700e12),), "baseline": BASELINE}, "warning", "gpu 0"),
            ({"results": (gemm(400e12),), "baseline": BASELINE}, "fault", "gpu 0"),
        ),
        fine={"results": (gemm(800e12),), "baseline": BASELINE},
        unseen={"baseline": BASELINE},
        apart={},
    ),
    "gpu_wanted": Row(
        finds=(({"count": 7, "wanted": EIGHT}, "fault", None), (DESKTOP | {"wanted": EIGHT}, "fault", None)),
        fine={"wanted": EIGHT},
        unseen="a card that does not answer is not there for a plan",
        apart={},
    ),
    "mig_pending": Row(
        finds=(one({"mig_after_reset": True}, "note"), one({"mig": True, "mig_after_reset": False}, "note")),
        fine={},
        unseen=LEFT_OUT,
        apart=DESKTOP,
    ),
    "mig_slices": Row(
        finds=(
            one({"mig": True}, "warning"),
            (
                {"cards": {3: {"mig": True, "slices": (Slice(gpu_instance=1),)}}, "wanted": EIGHT},
                "fault",
                "gpu 3",
            ),
        ),
        fine={"cards": {3: {"mig": True, "slices": (Slice(gpu_instance=1, profile="1g.10gb"),)}}},
        unseen=LEFT_OUT,
        apart={},
    ),
    "nvlink_down": Row(
        finds=(
            one({"links": DOWN}, "fault"),
            one({"links": ()}, "fault"),
            ({"every": {"links": links(26.562e9)}} | {"cards": {3: {"links": SLOW}}}, "warning", "gpu 3"),
        ),
        fine={"every": {"links": links(26.562e9)}},
        unseen={"every": {"links": None}},
        apart=DESKTOP,
    ),
    "nvlink_errors": Row(
        finds=(one({"links": NOISY}, "warning"),),
        fine={},
        unseen=told_by("nvlink_down"),
        apart=DESKTOP,
    ),
    "nvlink_paths": Row(
        finds=(
            ({"paths": FAR[1:]}, "fault", None),
            ({"paths": FAR, "system__virtual": "kvm"}, "warning", None),
        ),
        fine={},
        unseen={"paths": None},
        apart=DESKTOP,
    ),
    "pages_retired": Row(
        finds=(
            one({"retired__pages_single": 20, "retired__pages_double": 40}, "fault"),
            one({"retired__pages_single": 0, "retired__pages_double": 16}, "warning"),
            one({"retired__pages_double": 1, "retired__pages_pending": True}, "warning"),
            one({"retired__pages_single": 2}, "note"),
        ),
        fine={"every": {"retired__pages_single": 0, "retired__pages_double": 0}},
        unseen=LEFT_OUT,
        apart={},
    ),
    "peer_access": Row(
        finds=(({"paths": (Path(a=0, b=1, kind="NV18", peer=False),)}, "warning", None),),
        fine={},
        unseen="paths of which the driver tells nothing are left out",
        apart=DESKTOP,
    ),
    "power_draw": Row(
        finds=(one({"power__draw_w": 0.0}, "warning"), one({"power__draw_w": 1200.0}, "warning")),
        fine={},
        unseen=LEFT_OUT,
        apart=OFFICE,
    ),
    "power_limit": Row(
        finds=(
            one({"power__limit_w": 500.0}, "warning"),
            ({"on": "desktop", "cards": {0: {"power__limit_w": 300.0}}}, "note", "gpu 0"),
        ),
        fine={},
        unseen={"every": {"power__limit_w": None}},
        apart=SPARK,
    ),
    "rows_remapped": Row(
        finds=(
            one({"retired__rows_failed": True}, "fault"),
            one({"retired__rows_pending": True}, "warning"),
            one({"retired__unrepairable": True}, "fault"),
            one({"retired__channel_repair_pending": True}, "warning"),
            one({"retired__tpc_repair_pending": True}, "warning"),
            one({"retired__banks": (("none", 1),)}, "warning"),
            one({"retired__banks": (("low", 1),)}, "note"),
        ),
        fine={},
        unseen=LEFT_OUT,
        apart=DESKTOP,
    ),
    "slowed_before": Row(
        finds=(
            one({"slowed_s": (("hw_thermal", 75.0),)}, "warning"),
            one({"slowed_s": (("sw_thermal", 900.0),)}, "note"),
        ),
        fine={},
        unseen="drivers before 565 do not count it",
        apart=DESKTOP,
    ),
    "thermal_fans": Row(
        finds=(
            (
                {"on": "desktop", "cards": {1: {"thermal__fans": (0.0, 0.0), "thermal__gpu_c": 84.0}}},
                "fault",
                "gpu 1",
            ),
            ({"on": "desktop", "cards": {1: {"thermal__fans": (0.5, 0.0)}}}, "fault", "gpu 1"),
        ),
        fine=DESKTOP,
        unseen=LEFT_OUT,
        apart={},
    ),
    "thermal_margin": Row(
        finds=(one({"thermal__gpu_c": 93.0}, "fault"), one({"thermal__gpu_c": 88.0}, "warning")),
        fine={},
        unseen={"every": {"thermal__gpu_c": None}},
        apart=OFFICE,
    ),
    "thermal_memory": Row(
        finds=(one({"thermal__mem_c": 93.0}, "warning"), one({"thermal__mem_c": 96.0}, "fault")),
        fine={},
        unseen=LEFT_OUT,
        apart=DESKTOP,
    ),
    "thermal_uneven": Row(
        finds=(one({"thermal__gpu_c": 80.0}, "warning"),),
        fine={},
        unseen=COMPARED,
        apart=DESKTOP,
    ),
    "topology": Row(
        finds=(({"paths": FAR, "wanted": PAIR}, "warning", None),),
        fine={"wanted": PAIR},
        unseen="without the matrix of paths nothing is known of any pair, and nvlink_paths says so",
        apart={},
    ),
}
