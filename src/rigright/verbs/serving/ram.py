"""What of a case lies in main memory, what the processor does of each token, and the flags that say so."""

from __future__ import annotations

import numpy as np

from rigright.choice.case import Case
from rigright.choice.offload import beside_cards, flags, in_ram, ram_bytes, told_in_ram
from rigright.cost.speed.step import ALONE, Pass, step
from rigright.cost.speed.work import parted, work_of
from rigright.facts.hosts import host_chip
from rigright.predict.served import server_rates
from rigright.predict.speed import traffic_of
from rigright.verbs.serving.explained import RamUse


def ram_use(case: Case) -> RamUse | None:
    """None where everything lies on the cards."""
    offload, host = case.serving.offload, case.host
    if offload is None or host is None:
        return None
    layers, batch = case.arch.trunk.layers, case.serving.budget_tok
    processor, weights = host_chip(host), case.serving.weights
    share, traffic = in_ram(case.arch, offload), traffic_of(case)
    work = work_of(case.arch, weights=weights, kv=case.serving.kv)
    _, inside = parted(work, share)
    own = server_rates((processor,), case.engine, weights=weights)
    content = Pass(
        decode_seqs=float(traffic.concurrency or 1),
        decode_context_tok=traffic.prompt_tok + traffic.output_tok / 2,
    )
    alone_s = float(np.mean(step(inside, own, layout=ALONE, content=content).total_s))
    chips = (case.cards[0].chip,)
    full, whole = beside_cards(
        case, work, rates=server_rates(chips, case.engine, weights=weights), chips=chips
    )
    token_s = float(np.mean(step(full, whole, layout=ALONE, content=content).total_s))
    return RamUse(
        used_bytes=ram_bytes(case.arch, case.serving, offload=offload),
        total_bytes=host.ram_bytes,
        layers=offload.layers,
        experts=offload.experts,
        all_layers=len(layers),
        moe_layers=sum(1 for layer in layers if layer.ffn is not None and layer.ffn.experts),
        flags=flags(case.arch, offload, engine=case.engine, batch_tok=batch),
        said=told_in_ram(case.arch, offload, engine=case.engine, batch_tok=batch),
        token_s=alone_s,
        cards_s=max(token_s - alone_s, 0.0),
    )
