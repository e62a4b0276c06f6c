"""What of a case lies in main memory, what the processor does of each token, and the flags that say so."""

from __future__ import annotations

from rigright.choice.case import Case
from rigright.choice.offload import flags, ram_bytes, told_in_ram
from rigright.predict.speed import traffic_of
from rigright.verbs.serving.explained import RamUse


def ram_use(case: Case) -> RamUse | None:
    """None where everything lies on the cards."""
    offload, host, traffic = case.serving.offload, case.host, traffic_of(case)
    if offload is None or host is None:
        return None
    from rigright.predict.beside import token_parts

    layers, batch = case.arch.trunk.layers, case.serving.budget_tok
    inside_s, token_s = token_parts(
        case, seqs=float(traffic.concurrency or 1), context_tok=traffic.prompt_tok + traffic.output_tok / 2
    )
    return RamUse(
        used_bytes=ram_bytes(case.arch, case.serving, offload=offload),
        total_bytes=host.ram_bytes,
        layers=offload.layers,
        experts=offload.experts,
        all_layers=len(layers),
        moe_layers=sum(1 for layer in layers if layer.ffn is not None and layer.ffn.experts),
        flags=flags(case.arch, offload, engine=case.engine, batch_tok=batch),
        said=told_in_ram(case.arch, offload, engine=case.engine, batch_tok=batch),
        token_s=inside_s,
        cards_s=max(token_s - inside_s, 0.0),
    )
