"""A plan as programs are started: every choice is made here, a target only writes it down."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath
from typing import cast

from rigright.arch.denoisers import Denoiser
from rigright.arch.record import Arch
from rigright.base.record import dataclass
from rigright.base.units import MEGA
from rigright.demand import PostTraining, Size
from rigright.facts.checkpoints import Making
from rigright.facts.launching import Launcher
from rigright.machine.bench.record import SentLoad

_BLACKWELL = (10, 0)
TORCH_TYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}
LEAST_RAM_GIB = 8.0  # that caches pass through on their way to a drive
EVERYWHERE = "0.0.0.0"  # noqa: S104 - a server that other nodes reach
_DOWNLOAD_BYTES_PER_S = 100 * MEGA


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """What a server is told."""

    dtype: str  # "bf16", "fp16", "fp32"
    weights: str  # id of a weight format, or "gguf:Q4_K_M"
    label: str  # the format for people
    converts: str | None  # the engine's word where it converts the weights while it loads them
    kv: str  # the engine's word for the format of the KV cache
    context_tok: int
    max_seqs: int
    budget_tok: int | None
    share: float | None  # of the memory of a GPU
    graphs: bool
    load: SentLoad  # the plan was made for, as a client sends it
    images: int | None = None  # in a request
    weights_bytes: float
    has_experts: bool = False
    hears: bool = False  # its prompts are speech
    sees: bool = False  # or images beside text
    gpu_layers: int | None = None
    cpu_moe: int | None = None
    batch_tok: int | None = None  # of a pass where a part of the model lies in main memory
    split: tuple[int, ...] = ()  # of the layers, which share each GPU takes
    numa: bool = False  # a part of the model lies in the memory of more than one socket
    drafted_tok: int = 0
    draft_method: str = ""  # "mtp", "eagle3", "draft", "ngram"
    draft_word: str = ""  # the same as the engine calls it
    draft_model: str | None = None  # that drafts: a hub id or a file
    kv_ram_gib: float | None = None  # for caches beside the GPUs, of one server
    kv_nvme_gib: float | None = None
    graph_seqs: int | None = None  # sequences of the largest captured graph
    flash: bool | None = None  # None: as the engine does by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerSettings:
    """What a training program is told."""

    trainer: str  # id of the trainer that was planned
    method: str  # "full", "lora", "qlora", "dora"
    optimizer: str  # the program's word
    chosen: str  # id of the optimizer
    precision: str  # "bf16", "fp16", "fp32", "fp8"
    mixed: str  # id of a precision: which copies of the weights are kept
    micro_batch: int
    accumulate: int
    seq_tok: int
    recompute: str  # "none", "selective", "full"
    rank: int
    targets: tuple[str, ...]  # modules by name; none: every linear layer
    sharding: str
    schedule: str
    virtual_stages: int
    offload: str
    compiled: bool
    flash: bool
    chunked_loss: bool
    dropout: float
    steps: int | None
    epochs: float
    references: int = 0  # frozen copies beside the model
    post: PostTraining | None = None  # a loss of preferences or rewards
    rollout_share: float = 0.0  # of the memory of a GPU, for the engine that writes completions

    @property
    def is_adapter(self) -> bool:
        """Whether only adapters are trained."""
        return self.method != "full"

    @property
    def zero_stage(self) -> int:
        """The ZeRO stage that shards the same."""
        return {"zero1": 1, "zero2": 2, "zero3": 3, "fsdp": 3, "hsdp": 3}.get(self.sharding, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleSettings:
    """What a program is told that passes whole texts or images."""

    dtype: str  # "bf16", "fp16", "fp32"
    weights: str  # id of a weight format
    batch: int
    compiled: bool
    text_tok: int | None
    picture: Size | None
    frames: int | None  # of a video
    net: Denoiser  # of a generator
    waits: bool  # each part of a generator lies in main memory until its turn
    steps: int | None  # of one picture


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One plan to start."""

    program: Launcher
    model: str  # as the program loads it: a hub id or a path
    making: Making | None = None  # of weights that nobody has published
    tokenizer: str | None = None  # for the client, where the weights' own file has none that it reads
    script: str  # of a training, where the program runs the user's own
    name: str  # safe in names of jobs, services and units
    why: tuple[str, ...]  # comments: what was planned, and for what
    vendor: str
    capability: tuple[int, int] | None = None  # of an NVIDIA GPU
    nodes: int
    gpus: int  # of a node
    host: str = "127.0.0.1"  # a server listens on
    port: int = 0
    first_gpu: int = 0
    node: int = 0  # of the plan's, the first that a server stands on
    files_at: str = ""  # where the command finds the files beside it: nothing, or a folder with its slash
    tp: int
    pp: int
    dp: int
    ep: int
    cp: int
    attention_dp: bool = False
    sequence_parallel: bool = False
    arch: Arch | None = None  # what is trained, where the program is told its shape
    served: ServerSettings | None = None
    trained: TrainerSettings | None = None
    passed: SampleSettings | None = None
    prefill: Launch | None = None  # workers that take prompts alone; its own then make next tokens alone
    stage: str = ""  # of a worker apart: "prefill" or "decode"

    @property
    def serving(self) -> ServerSettings:
        """What a server is told; the verb lets no training reach a server's target."""
        return cast("ServerSettings", self.served)

    @property
    def training(self) -> TrainerSettings:
        """What a training is asked for; the verb lets no server reach a trainer's target."""
        return cast("TrainerSettings", self.trained)

    @property
    def post(self) -> PostTraining:
        """The loss of a post-training; the verb lets nothing else reach such a target."""
        return cast("PostTraining", self.training.post)

    @property
    def passing(self) -> SampleSettings:
        """What passes samples; the verb lets nothing else reach such a target."""
        return cast("SampleSettings", self.passed)

    @property
    def head(self) -> tuple[str, ...]:
        """The comment of every file: what for, and why so."""
        fields = {"version": self.program.version, "model": self.model, "script": self.script}
        notes = (note.format(**fields) for note in self.program.notes)
        package = self.program.apart_package.get(self.vendor) if self.stage else None
        needs = (f"KV cache transfer needs: python3 -m pip install {package}",) if package else ()
        made = () if self.making is None else (f"first run {self.making.tool.file}: it makes {self.model}",)
        return (f"{self.program.label} {self.program.version}: {self.name}", *self.why, *notes, *needs, *made)

    @property
    def device(self) -> str:
        """What PyTorch calls its cards."""
        return {"Intel": "xpu", "Apple": "mps"}.get(self.vendor, "cuda" if self.vendor else "cpu")

    @property
    def health(self) -> str:
        """Where it answers 200 once it serves."""
        return f"http://127.0.0.1:{self.port}{self.program.health}"

    @property
    def answers(self) -> str:
        """The same as a comment."""
        return f"health check: curl -fsS {self.health}"

    @property
    def servers(self) -> tuple[Launch, ...]:
        """One launch a server: a program that runs no such replicas by itself is started once for each."""
        if self.served is None or self.dp == 1 or self._is_one_server:
            return (self,)
        own, each = self.replica, -(-self.replica // self.gpus)  # GPUs and nodes of a replica
        beside = max(self.gpus // own, 1)  # servers of a node
        host = (
            self.host if self.nodes == 1 else EVERYWHERE
        )  # what deals requests out may stand on another node
        return tuple(
            replace(
                self,
                dp=1,
                host=host,
                node=place // beside * each,
                nodes=each,
                gpus=min(own, self.gpus),
                first_gpu=own * (place % beside),
                port=self.port + 1 + place,
            )
            for place in range(self.dp)
        )

    @property
    def workers(self) -> tuple[Launch, ...]:
        """Workers apart, a launch each: those that take prompts first; none where all do both."""
        launches: list[Launch] = []
        for pool, stage in ((self.prefill, "prefill"), (self, "decode")) if self.prefill else ():
            own = replace(pool, prefill=None, dp=1, nodes=1, gpus=pool.replica, stage=stage)
            for _ in range(pool.dp):
                first, port = sum(launch.gpus for launch in launches), self.port + 1 + len(launches)
                launches.append(replace(own, first_gpu=first, port=port))
        return tuple(launches)

    @property
    def handover(self) -> int:
        """The port on which a worker apart is asked for its caches; its other ranks count up from it."""
        return self.program.handover + self.first_gpu

    @property
    def replica(self) -> int:
        """GPUs of one replica."""
        return self.tp * self.pp * self.cp

    @property
    def _is_one_server(self) -> bool:
        """Whether one server runs all replicas, each by itself as they were planned.

        A server whose ranks hold their own sequences has no second set of them, and some deal the experts of
        all replicas out to all of their GPUs.
        """
        program = self.program
        parted = self.attention_dp or (program.joins_experts and self.serving.has_experts)
        able = program.data_parallel and (self.nodes == 1 or program.joins_nodes)
        return able and self.ranks == self.replica * self.dp and not parted

    @property
    def weights_folder(self) -> str | None:
        """Where the weights lie, if the plan names a file or a folder; None: a hub has them."""
        if not self.model.startswith(("/", "./", "../", "~")) and not self.model.endswith(".gguf"):
            return None
        return str(PurePosixPath(self.model).parent)

    @property
    def startup_s(self) -> int:
        """What to wait for a server: weights at 100 MB/s, and a quarter of an hour to load and to compile."""
        return 900 + round(self.serving.weights_bytes / _DOWNLOAD_BYTES_PER_S)

    @property
    def copies(self) -> int:
        """Groups of ranks that each hold all of the states, where hybrid sharding divides them in groups."""
        shared = self.dp * self.cp
        from rigright.cost.training.states import dividing  # with numpy, which a look at a machine needs not

        own = int(dividing(shared, self.training.sharding))
        if shared % own or own % self.cp:
            raise self.program.refusal(f"sharding {self.training.sharding}, dp {self.dp}, cp {self.cp}")
        return shared // own

    @property
    def ranks(self) -> int:
        """GPUs that one server or one training takes."""
        return self.nodes * self.gpus

    @property
    def placed_environment(self) -> dict[str, str]:
        """The same, where whoever starts it deals the GPUs out: they are counted from 0 then."""
        return {name: text for name, text in self.environment.items() if not name.endswith("VISIBLE_DEVICES")}

    @property
    def visible(self) -> str:
        """The GPUs of a node, as CUDA_VISIBLE_DEVICES takes them."""
        return ",".join(str(self.first_gpu + place) for place in range(self.gpus))

    @property
    def _lmcache(self) -> dict[str, str]:
        """What LMCache reads in vLLM: sizes of one rank, and the same hashes in all of them."""
        nvme = None if self.served is None or self.program.id != "vllm" else self.served.kv_nvme_gib
        if nvme is None:
            return {}
        ranks, ram = self.tp * self.pp, self.serving.kv_ram_gib or LEAST_RAM_GIB
        return {
            "PYTHONHASHSEED": "0", "LMCACHE_LOCAL_CPU": "True",
            "LMCACHE_MAX_LOCAL_CPU_SIZE": f"{ram / ranks:g}",
            "LMCACHE_LOCAL_DISK": "file:///var/tmp/lmcache",
            "LMCACHE_MAX_LOCAL_DISK_SIZE": f"{nvme / ranks:g}",
        }  # fmt: skip

    @property
    def environment(self) -> dict[str, str]:
        """Variables of every program of it."""
        fields = {"HIP_VISIBLE_DEVICES" if self.vendor == "AMD" else "CUDA_VISIBLE_DEVICES": self.visible}
        if self.ranks > 1 and self.vendor in {"NVIDIA", "AMD"} and self.program.nccl:
            fields["NCCL_DEBUG"] = "WARN"
        # cut tensors and sequences need kernels to start in the order they are sent; FSDP does not
        cut = max(self.tp, self.cp) > 1 and (self.capability or _BLACKWELL) < _BLACKWELL
        if self.program.one_queue and cut and self.training.zero_stage < 2:
            fields["CUDA_DEVICE_MAX_CONNECTIONS"] = "1"
        given = {"host": self.host, "port": self.port}
        if self.served is not None:
            given |= {"max_seqs": self.served.max_seqs, "kv": self.served.kv, "spread": int(self.pp > 1)}
        own = {name: text.format(**given) for name, text in self.program.environment.items()}
        own |= self._lmcache
        return own if self.vendor not in {"NVIDIA", "AMD"} else fields | own
