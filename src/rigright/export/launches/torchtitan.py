"""torchtitan: its own trainer under torchrun, one of its configurations with the plan's choices over it."""

from __future__ import annotations

from rigright.base.errors import AskError
from rigright.base.words import say
from rigright.export.launch import Launch
from rigright.export.launches import torchrun
from rigright.export.text import Words, given, script
from rigright.facts.training import find_trainer

NAME = "torchtitan"
_SHARDED = {"fsdp", "hsdp", "zero3"}
_PRECISIONS = {"bf16-sharded", "bf16", "fp32"}


def export(launch: Launch) -> dict[str, str]:
    """The launch of its trainer."""
    # the last word opens a parser of its own, to which everything behind it belongs
    words = command(launch)
    text = script(words[:-1], head=launch.head, environment=launch.environment, last=words[-1:])
    return {"train.sh": text}


def command(launch: Launch) -> Words:
    """The launch; of several nodes, that of each."""
    trained = launch.training
    module, config = _config(launch)
    # a pipeline cuts the batch of a step itself; elsewhere gradients of smaller batches are summed
    is_piped = launch.pp > 1
    replicas = 1 if trained.sharding in _SHARDED else launch.dp
    if trained.sharding == "hsdp":
        replicas = launch.copies
    return (
        *torchrun.command(launch)[:-1],
        ("-m", "torchtitan.train"),
        *given(
            ("--module", module),
            ("--config", config),
            ("--hf-assets-path", launch.model),
            ("--training.local-batch-size", trained.micro_batch * (trained.accumulate if is_piped else 1)),
            ("--training.global-batch-size", trained.micro_batch * trained.accumulate * launch.dp),
            ("--training.seq-len", trained.seq_tok),
            ("--training.steps", trained.steps),
            ("--training.dtype", "bfloat16" if trained.mixed == "bf16" else None),
            ("--training.mixed-precision-param", "float32" if trained.precision == "fp32" else "bfloat16"),
            ("--training.enable-cpu-offload", trained.offload == "all-cpu"),
            ("--training.disable-cuda-graphs", True),  # the plan counts no memory for them
            ("--parallelism.data-parallel-replicate-degree", replicas),
            ("--parallelism.data-parallel-shard-degree", launch.dp // replicas),
            ("--parallelism.tensor-parallel-degree", launch.tp),
            ("--parallelism.pipeline-parallel-degree", launch.pp),
            ("--parallelism.pipeline-parallel-microbatch-size", trained.micro_batch if is_piped else None),
            ("--parallelism.context-parallel-degree", launch.cp),
            ("--parallelism.expert-parallel-degree", launch.ep),
            ("--compile.enable", trained.compiled),
            ("--checkpoint.enable", True),
        ),
        (f"activation-checkpoint:{trained.recompute}",),
    )


def _config(launch: Launch) -> tuple[str, str]:
    """Its module and configuration of the model; what it does not train is refused."""
    trained, known = launch.training, launch.program.configs
    refused = {
        trained.method: not find_trainer(NAME).trains(trained.method),
        f"precision {trained.mixed}": trained.mixed not in _PRECISIONS,
        f"tp {launch.tp} and ep {launch.ep}": 1 < launch.ep < launch.tp,  # its experts are cut over ep alone
        trained.offload: trained.offload not in {"none", "all-cpu"},
        trained.schedule: launch.pp > 1 and trained.schedule != "1f1b",
    }
    for choice, is_refused in refused.items():
        if is_refused:
            raise launch.program.refuses(choice)
    if launch.name not in known:
        raise AskError(
            say("{engine} has no configuration of {model}", engine=launch.program.label, model=launch.name),
            hint=say("it has: {known}", known=", ".join(known)),
        )
    module, config = known[launch.name].split()
    return module, config
