"""Plans made by hand, for the pages."""

from __future__ import annotations

from rigright.base.words import say
from rigright.cost.estimate import Estimate
from rigright.cost.memory.serving import ServingMemory
from rigright.demand import Layout, PlanWish, Serving, Training
from rigright.facts.find import find_chip
from rigright.search.record import Plan, Rejection, SearchResult, Supply
from rigright.verbs.planning.planned import Planned

GIB = 2**30


def figure(value, width=0.1, **more):
    return Estimate(value=value, low=value * (1 - width), high=value * (1 + width), **more)


def memory(weights=16.0):
    sizes = dict.fromkeys(
        ("states", "step", "tables", "graphs", "collectives", "context", "slack"), 0.5 * GIB
    )
    return ServingMemory(
        weights_bytes=weights * GIB,
        cache_bytes=2.0 * GIB,
        pool_bytes=5.0 * GIB,
        unit_bytes=2**20,
        unit_tok=16,
        device_bytes=24 * GIB,
        spare_bytes=1 * GIB,
        libraries_bytes=0.0,
        **{f"{name}_bytes": size for name, size in sizes.items()},
    )


def plan(chip="rtx-5090", n_chips=2, *, how="buy", users=1.0, **changes):
    kept = {
        "ttft_s": figure(0.3),
        "tpot_s": figure(0.0244),
        "output_tok_per_s": Estimate(value=41, low=35, high=47),
        "power_w": figure(1200, width=0),
        "usd": figure(7900, width=0.2, as_of="2026-10"),
        "usd_per_h": figure(0.41, as_of="2026-10"),
        "usd_per_mtok": figure(2.78),
        "headroom": figure(0.22, width=0),
    }
    values = {
        "chip": find_chip(chip),
        "n_chips": n_chips,
        "n_nodes": 1,
        "layout": Layout(tp=n_chips),
        "work": Serving(
            engine="vllm 0.21", weights="awq4", kv="16bit", context_tok=8192, batch=1, prompt_tok=7000
        ),
        "concurrency": users,
        "ranks": (memory(),),
        "rank_bytes": figure(20 * GIB),
        "room_bytes": 31.0 * GIB,
        "figures": kept,
        "supply": Supply(
            how=how, label=f"{n_chips}x {chip}", n_units=1,
            usd=kept["usd"], usd_per_h=None, as_of="2026-10", stale=False,
        ),
        "bound": "memory",
        "reasons": (say("lowest hourly cost"),),
    }  # fmt: skip
    return Plan(**values | changes)


REJECTED = Rejection(
    label="1x RTX 4090, awq4",
    reason=say("licence is {own}; requested: {asked}", own="x", asked="y"),
    limit="tpot_s",
    usd_per_h=0.2,
    nearest=0.07,
)


def planned(*plans, nearest=None, broken=(), rejections=(REJECTED,), **changes):
    values = {
        "model": "meta-llama/Llama-3.1-70B",
        "params": 70_553_706_496,
        "active_params": 70_553_706_496,
        "licence": "llama3.1",
        "wish": PlanWish(prompt_tok=7000, output_tok=1192, tpot_s=0.05, budget_usd=8000),
        "result": SearchResult(
            plans=plans, rejections=rejections, looked_at=1234, chips=9, nearest=nearest, broken=broken
        ),
        "today": "2026-11-21",
        "asked": "rigright plan llama-3.1-70b",
        "model_asked": "llama-3.1-70b",
    }
    return Planned(**values | changes)


def tuned(n_chips=8, **changes):
    """A plan that trains."""
    figures = {
        "train_tok_per_s": figure(35_000.0),
        "mfu": figure(0.44),
        "days": figure(2.5),
        "usd_per_h": figure(8.8, as_of="2026-10"),
        "usd_total": figure(528.0),
        "power_w": figure(2600, width=0),
        "headroom": figure(0.12, width=0),
    }
    work = Training(
        trainer="megatron", method="full", seq_tok=4096, micro_batch=2, accumulate=16,
        sharding="zero1", recompute="selective",
    )  # fmt: skip
    layout = Layout(tp=2, dp=n_chips // 2, sequence_parallel=True)
    kept = {"work": work, "layout": layout, "ranks": (), "figures": figures, "concurrency": None}
    return plan("a100 80gb sxm", n_chips, how="rent", bound="compute", **kept | changes)
