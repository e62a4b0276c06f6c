"""Asks an engine's own parser about exported files: run by the interpreter of the engine's venv, not by ours.

Reads a JSON list of cases, {"argv": [...], "files": {...}}; prints a line a case: "ok", or what was wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path


def vllm(case):
    """The parser of `vllm serve`, how it cuts the model over nodes, and the formats it makes of weights."""
    told = kept("vllm", _vllm).parse_args(["--model", *case["argv"][2:]])
    from vllm.config import ParallelConfig
    from vllm.config.quantization import resolve_quantization_config
    from vllm.model_executor.layers.quantization import get_quantization_config

    own = told.tensor_parallel_size * told.pipeline_parallel_size * told.prefill_context_parallel_size
    assert own * told.data_parallel_size % told.nnodes == 0
    ParallelConfig(
        tensor_parallel_size=told.tensor_parallel_size,
        pipeline_parallel_size=told.pipeline_parallel_size,
        data_parallel_size=told.data_parallel_size,
        data_parallel_size_local=max(own * told.data_parallel_size // told.nnodes // own, 1),
        nnodes=told.nnodes,
        node_rank=told.node_rank,
    )
    if told.quantization is not None:  # of a checkpoint in 16 bit
        get_quantization_config(told.quantization)
        assert resolve_quantization_config(told.quantization, None) is not None, told.quantization


def _vllm():
    from vllm import platforms
    from vllm.platforms.cpu import CpuPlatform

    platforms._current_platform = CpuPlatform()
    from vllm.entrypoints.common.cli_args import make_arg_parser
    from vllm.utils.argparse_utils import FlexibleArgumentParser

    return make_arg_parser(FlexibleArgumentParser())


def sglang(case):
    """The parser of `sglang.launch_server`, and its own check of what goes together."""
    told = kept("sglang", _sglang).parse_args(case["argv"][3:])
    from sglang.srt.arg_groups import validation_hook

    # what it settles before, with the model at hand
    told.served_model_name, told.page_size, told.disable_overlap_schedule = "model", 1, told.pp_size > 1
    if told.enable_dp_attention:
        told.attn_dp_size, told.dp_size = told.dp_size, 1
    validation_hook.resolving_view = lambda own: own
    validation_hook.check_server_args(told)


def _sglang():
    from sglang.srt.server_args import ServerArgs

    parser = argparse.ArgumentParser()
    ServerArgs.add_cli_args(parser)
    return parser


def torchrun(case):
    """torchrun's parser, and the configuration it makes of it."""
    from torch.distributed.run import config_from_args, get_args_parser

    config_from_args(get_args_parser().parse_args(case["argv"][1:]))


def accelerate(case):
    """The launch parser, and the configuration as the launcher loads and checks it."""
    from accelerate.commands.config.config_args import load_config_from_file
    from accelerate.commands.launch import launch_command_parser

    arguments = launch_command_parser().parse_args(case["argv"][2:])
    loaded = load_config_from_file(arguments.config_file)
    assert loaded.num_processes >= 1


def transformers(case):
    """TrainingArguments, as a script reads them from the file."""
    from transformers import HfArgumentParser, TrainingArguments

    told = json.loads(case["files"]["training_args.json"])
    if told["bf16"] or told["fp16"]:
        told |= {"use_cpu": True, "fp16": False}  # there is no GPU here to compute in fp16
    HfArgumentParser(TrainingArguments).parse_dict(told)


def deepspeed(case):
    """DeepSpeedConfig, with as many ranks as the plan has."""
    from deepspeed.runtime.config import DeepSpeedConfig

    DeepSpeedConfig(json.loads(case["files"]["ds_config.json"]))


def axolotl(case):
    """The schema of Axolotl; its command line, and that of the launcher that it becomes."""
    import yaml
    from axolotl.utils.schemas.config import AxolotlInputConfig

    AxolotlInputConfig(**yaml.safe_load(case["files"]["axolotl.yaml"]))
    from accelerate.commands.launch import launch_command_parser
    from axolotl.cli import main as command
    from torch.distributed.run import config_from_args, get_args_parser

    became = []
    os.execvpe = lambda _, words, __: became.append(words)
    command.cli.main(args=case["argv"][1:], standalone_mode=False)
    if "torchrun" in case["argv"]:
        told = get_args_parser().parse_args(became[0][1:])
        config_from_args(told)
        assert told.training_script == "axolotl.cli.train"
    else:
        launch_command_parser().parse_args(became[0][2:])


def llama_factory(case):
    """The arguments of LLaMA-Factory: every key is one, every value of its type."""
    import yaml
    from llamafactory.hparams.parser import _TRAIN_ARGS
    from transformers import HfArgumentParser

    told = yaml.safe_load(case["files"]["train.yaml"])
    HfArgumentParser(_TRAIN_ARGS).parse_dict(told | {"use_cpu": True, "fp16": False}, allow_extra_keys=False)


def torchtitan(case):
    """torchrun's parser, then torchtitan's own over what is behind the script."""
    from torch.distributed.run import config_from_args, get_args_parser
    from torchtitan.config.manager import ConfigManager

    told = get_args_parser().parse_args(case["argv"][1:])
    config_from_args(told)
    made = ConfigManager().parse_args(told.training_script_args)
    assert made.training.steps == 9
    assert made.training.global_batch_size % made.training.local_batch_size == 0


def megatron(case):
    """torchrun's parser, then Megatron's own over what is behind the script, and what it makes of them."""
    import torch
    from torch.distributed.run import config_from_args, get_args_parser

    told = get_args_parser().parse_args(case["argv"][1:])
    config_from_args(told)
    nodes, each = int(told.nnodes), int(told.nproc_per_node)
    os.environ |= {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": str(nodes * each)}
    os.environ.pop("CUDA_DEVICE_MAX_CONNECTIONS", None)
    os.environ |= case["env"]
    # there is no GPU here, nor Transformer Engine, which takes one: what a Hopper with it says of itself
    torch.cuda.get_device_capability = lambda *_: (9, 0)
    torch.cuda.get_device_properties = lambda *_: argparse.Namespace(major=9, minor=0)
    from megatron.core.models.common.embeddings import rope_utils
    from megatron.core.transformer import transformer_config
    from megatron.core.transformer.moe import moe_utils
    from megatron.training import arguments

    transformer_config.is_te_min_version = lambda *_, **__: True
    kernels = {rope_utils: ["fused_apply_rotary_pos_emb"]}
    kernels[moe_utils] = [name for name in vars(moe_utils) if name.startswith("fused_")]
    for module, names in kernels.items():
        for name in names:
            setattr(module, name, getattr(module, name) or arguments)
    sys.argv = [told.training_script, *told.training_script_args]
    made = arguments.validate_args(arguments.parse_args())
    arguments.core_transformer_config_from_args(made)
    ways = (made.tensor_model_parallel_size, made.pipeline_model_parallel_size, made.context_parallel_size)
    assert made.data_parallel_size * ways[0] * ways[1] * ways[2] == nodes * each
    assert made.global_batch_size % (made.micro_batch_size * made.data_parallel_size) == 0
    assert made.train_iters == 9


def vllm_router(case):
    """The parser of `vllm-router`, and the workers that it makes of its words."""
    from vllm_router.router_args import RouterArgs

    _routed(case["argv"][1:], RouterArgs)


def sglang_router(case):
    """The parser of `sglang_router.launch_router`, and the workers that it makes of its words."""
    from sglang_router.router_args import RouterArgs

    _routed(case["argv"][3:], RouterArgs)


def _routed(words, kind):
    parser = argparse.ArgumentParser()
    kind.add_cli_args(parser)
    told = kind.from_cli_args(parser.parse_args(words))
    assert told.prefill_urls
    assert told.decode_urls
    assert told.port


def guidellm(case):
    """GuideLLM's command line, up to the first request."""
    import guidellm.entrypoints as entry
    from guidellm.cli import cli

    became = []

    async def kept(args, **_):
        became.append(args.spec)

    entry.benchmark_generative_text = kept
    cli.main(args=case["argv"][1:], standalone_mode=False)
    assert became[0].constraints[0].count >= 1
    assert became[0].data[0].prompt_tokens >= 1


def kubernetes(case):
    """The schemas of Kubernetes, strictly; of a group of pods, those of its pods."""
    import kubernetes_validate
    import yaml

    for name, text in case["files"].items():
        told = yaml.safe_load(text) if name.endswith(".yaml") else None
        if told is not None and told["kind"] == "LeaderWorkerSet":
            group = told["spec"]["leaderWorkerTemplate"]
            for pods in (group["leaderTemplate"], group["workerTemplate"]):
                made = {
                    "apiVersion": "v1",
                    "kind": "PodTemplate",
                    "metadata": told["metadata"],
                    "template": pods,
                }
                kubernetes_validate.validate(made, "1.35", strict=True)
        elif told is not None:
            kubernetes_validate.validate(told, "1.35", strict=True)


def kserve(case):
    """KServe's own models, made of the fields of each: an unknown one is refused, a missing one too."""
    import yaml

    kept("kserve", _kserve)(yaml.safe_load(case["files"]["inferenceservice.yaml"]), "V1beta1InferenceService")


def _kserve():
    import importlib.util
    import types

    # the package starts its server when it is imported; its models do not need it
    own = types.ModuleType("kserve")
    own.__path__ = list(importlib.util.find_spec("kserve").submodule_search_locations)
    sys.modules["kserve"] = own
    import kserve.models
    import kubernetes.client

    plain = {"str": str, "int": int, "bool": bool, "float": (int, float)}

    def read(data, kind):
        if kind.startswith("list["):
            assert isinstance(data, list), kind
            return [read(one, kind[5:-1]) for one in data]
        if kind.startswith("dict("):
            return {key: read(one, kind[5:-1].partition(", ")[2]) for key, one in data.items()}
        if kind in plain:
            assert isinstance(data, plain[kind]), (kind, data)
            return data
        made = getattr(kserve.models, kind, None) or getattr(
            kubernetes.client, kind.removeprefix("K8sIoApiAppsV1").replace("DeploymentS", "V1DeploymentS")
            if kind.startswith("K8sIo") else kind, None
        )  # fmt: skip
        if made is None:
            return data  # a quantity, a time
        names = {word: name for name, word in made.attribute_map.items()}
        unknown = set(data) - set(names)
        assert not unknown, (kind, unknown)
        return made(**{names[key]: read(one, made.openapi_types[names[key]]) for key, one in data.items()})

    return read


def ray(case):
    """Ray Serve's schema of a deployment, its LLM library's of the application, and vLLM's arguments."""
    import dataclasses

    import yaml
    from ray.serve.llm import LLMServingArgs
    from ray.serve.schema import ServeDeploySchema
    from vllm import AsyncEngineArgs

    told = yaml.safe_load(case["files"]["serve.yaml"])
    (application,) = ServeDeploySchema.model_validate(told).applications
    (made,) = LLMServingArgs.model_validate(application.args).llm_configs
    unknown = set(made.engine_kwargs) - {one.name for one in dataclasses.fields(AsyncEngineArgs)}
    assert not unknown, unknown
    own = made.engine_kwargs.get("speculative_config")
    assert own is None or own["num_speculative_tokens"] >= 1


PARSERS: dict = {}


def kept(name, make):
    """A parser that is made once."""
    if name not in PARSERS:
        PARSERS[name] = make()
    return PARSERS[name]


def main():
    """One line a case."""
    ask = globals()[sys.argv[1].replace("-", "_")]
    folder = Path(tempfile.mkdtemp())
    os.chdir(folder)
    out = sys.stdout
    for case in json.load(sys.stdin):
        for name, text in case["files"].items():
            (folder / name).write_text(text, encoding="utf-8")
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                ask(case)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - any parser's own complaint is what is asked for
            words = f"{type(error).__name__}: {error} {said.getvalue()[-600:]}"
            print("CASE", " ".join(words.split()), file=out)
        else:
            print("CASE ok", file=out)


if __name__ == "__main__":
    main()
