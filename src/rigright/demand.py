"""What is wanted: the work a model shall do. Every number may also be an array of as many choices.

A field left at None takes the engine's or framework's own default, which the cost room looks up.
"""

from __future__ import annotations

from math import ceil, inf
from typing import Any

from rigright.base.record import dataclass, derived
from rigright.base.units import GIGA

# a number, or a numpy array of choices; `Any` keeps arrays and numbers on one path without casts
Numbers = Any
SAMPLES = ("images_per_s", "videos_per_s", "texts_per_s")  # rates of whole samples, as figures name them
METHODS = ("mtp", "eagle3", "draft", "ngram")  # that draft tokens
SETTINGS = ("budget_tok", "max_seqs", "utilisation", "graphs", "compiled")  # of an engine, that people set


@dataclass(frozen=True, slots=True, kw_only=True)
class Offload:
    """What of a model lies in main memory: the first layers, whole or their experts alone."""

    layers: int = 0  # whole, with their caches
    experts: int = 0  # routed experts alone, of the first layers that have any


@dataclass(frozen=True, slots=True, kw_only=True)
class KvStore:
    """Room for KV caches beside the GPUs, of all machines together."""

    ram_bytes: float = 0.0  # of main memory
    nvme_bytes: float = 0.0  # of drives

    def __str__(self) -> str:
        """As it is typed."""
        sizes = {"ram": self.ram_bytes, "nvme": self.nvme_bytes}
        return ", ".join(f"{name} {size / GIGA:g}gb" for name, size in sizes.items() if size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """Inference: so many sequences at once, each so long, in one engine."""

    engine: str = "vllm"  # id in data/engines.toml
    weights: str = "bf16"  # id in data/formats.toml, or "gguf:Q4_K_M"
    kv: str = "16bit"  # "16bit", "fp8", "q8_0", ...
    context_tok: Numbers = 4096  # tokens a sequence holds at its end: prompt and output
    batch: Numbers = 1  # sequences held at once
    prompt_tok: Numbers = None  # of the context, what comes in at once; None: all of it
    budget_tok: Numbers = None  # tokens an engine puts in one step (max_num_batched_tokens, ubatch)
    max_seqs: Numbers = None  # sequences an engine is prepared for (max_num_seqs)
    utilisation: Numbers = None  # share of the device an engine may take (gpu_memory_utilization)
    graphs: bool = True  # CUDA graphs captured
    flash: bool | None = None  # attention without the score matrix; None: as the engine does by default
    compiled: bool = False  # cheap operations fused by torch.compile
    offload: Offload | None = None  # None: everything lies on the cards
    parts_wait: bool = False  # each part of a generator lies in main memory until its turn
    kv_store: KvStore | None = None  # None: caches lie on the cards alone


@dataclass(frozen=True, slots=True, kw_only=True)
class Images:
    """Images in each request to a model that writes."""

    count: int
    width_px: int = 1024  # of each
    height_px: int = 1024  # of each
    tok: int = 0  # of a prompt that they become, once the model is known

    def __str__(self) -> str:
        """As it is typed."""
        return f"{self.count}x{self.width_px}x{self.height_px}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """The size of pictures that are made or looked at."""

    width_px: int  # width
    height_px: int  # height

    @staticmethod
    def square(side_px: int) -> Size:
        """One whose sides are alike."""
        return Size(width_px=side_px, height_px=side_px)

    def __str__(self) -> str:
        """As it is typed."""
        square = self.width_px == self.height_px
        return f"{self.width_px}" if square else f"{self.width_px}x{self.height_px}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """How long a video is: its frames, or the time that it plays."""

    frames: int | None = None  # frames
    seconds: float | None = None  # time that it plays

    def __str__(self) -> str:
        """As it is typed."""
        return f"{self.frames}" if self.seconds is None else f"{self.seconds:g}s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drafting:
    """How tokens are drafted and checked together (speculative decoding), as far as somebody said."""

    method: str = ""  # "mtp", "eagle3", "draft", "ngram"; "": the best that model and engine have
    model: str = ""  # that drafts, smaller
    accepted: float | None = None  # chance that a token is kept, if all before it were; None: as published

    def __str__(self) -> str:
        """As it is typed."""
        share = None if self.accepted is None else f"{100 * self.accepted:g}%"
        return " ".join(filter(None, (self.model or self.method, share)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingWish:
    """What somebody said of a serving; None was left to the engine, the model and the machine."""

    engine: str | None = None
    weights: str | None = None
    kv: str | None = None
    context_tok: int | None = None
    batch: int | None = None  # sequences held at once, each of a whole context
    prompt_tok: int | None = None
    output_tok: int | None = None
    users: float | None = None  # requests in flight at once; those that have no room queue
    rate_per_s: float | None = None  # requests that arrive
    requests: int | None = None  # of a run that starts all at once; None: a service goes on
    percentile: float | None = None  # the share of requests that times hold for; None: on average
    cached_share: float = 0.0  # of prompts, found in the prefix cache
    turns: float | None = None  # of a session, whose prompts repeat what came before
    think_s: float | None = None  # between an answer and the next turn
    shared_tok: int | None = None  # that all prompts begin with
    kv_store: KvStore | None = None  # caches are kept beside the GPUs too
    drafting: Drafting | None = None  # tokens are drafted
    draft_tok: int | None = None  # drafted for each pass
    budget_tok: int | None = None
    max_seqs: int | None = None
    utilisation: float | None = None
    graphs: bool = True
    tp: int | None = None
    pp: int | None = None
    dp: int | None = None
    ep: int | None = None
    cp: int | None = None
    attention_dp: bool | None = None  # None: the way that serves best
    picture: Size | None = None  # that is made or looked at
    length: Length | None = None  # of a video that is made
    images: Images | None = None  # in each request
    steps: int | None = None  # of a generator, for a picture
    compiled: bool = False  # cheap operations fused by torch.compile
    gpu_layers: int | None = None  # on the cards, the head as one more; the others lie in main memory
    cpu_moe: int | None = None  # layers, from the first on, whose experts lie there

    @property
    def settings(self) -> dict[str, Any]:
        """What the engine is started with, as somebody set it."""
        return {name: getattr(self, name) for name in SETTINGS}


@dataclass(frozen=True, slots=True, kw_only=True)
class PostTraining:
    """Learning from preferences or rewards: by which loss, and where its completions are written."""

    objective: str  # id in data/objectives.toml
    group: int = 1  # completions of a prompt, compared with each other (num_generations)
    completion_tok: int = 0  # of a sequence, what is written in a rollout; 0: nothing is
    rollout: str = ""  # where: "sleep", "colocate", "apart"; "": nothing is written
    rollout_gpus: int = 0  # of the engine alone, where it is apart
    rollout_tp: int = 1  # GPUs of one engine
    waves: int = 1  # parts of a step's completions that an engine writes one after another


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """Training or fine-tuning: method, states, batch, and what is kept or recomputed."""

    trainer: str = "hf"  # id in data/trainers.toml
    method: str = "full"  # "full", "lora", "qlora", "dora"
    optimizer: str | None = None  # id in data/optimizers.toml
    precision: str | None = None  # id in data/precisions.toml; None: what the trainer calls mixed precision
    base: str = "nf4"  # format of the frozen base (qlora)
    micro_batch: Numbers = 1
    seq_tok: Numbers = 2048
    recompute: str | None = None  # "none", "selective", "full"
    flash: bool = True  # attention without the score matrix
    chunked_loss: bool = False  # fused or chunked cross-entropy: logits never stand whole
    rank: Numbers = 16  # of the adapters
    targets: str = "attn"  # matrices with adapters: "attn", "ffn", "all", or names such as "q v"
    dropout: float | None = None  # on the stream between layers, and before adapters
    sharding: str = "none"  # "none", "zero1", "zero2", "zero3", "fsdp", "hsdp"
    schedule: str = "1f1b"  # "1f1b", "gpipe", "interleaved", "zero-bubble"
    virtual_stages: Numbers = 1  # model chunks a pipeline rank holds (interleaved)
    references: int = 0  # frozen copies of the model beside it, as it was before it learnt: DPO, GRPO, PPO
    post: PostTraining | None = None  # None: it learns to write the texts it is shown
    accumulate: Numbers = None  # micro-batches an optimizer step gathers; None: as many as the pipeline needs
    offload: str = "none"  # "none", "optimizer-cpu", "all-cpu", "optimizer-nvme", "all-nvme"
    offload_inputs: bool = False  # what recompute keeps of each layer lies on the host
    step_in_backward: bool = False  # each gradient is used and freed as soon as it is there
    matmul: str | None = None  # multiplications in "16bit", "fp8", "mxfp8", "nvfp4"; None: the precision's
    compiled: bool = False  # cheap operations fused by a compiler
    host: Numbers = 1.0  # the host's seconds over those of a usual one
    padded: Numbers = 0.0  # share of the tokens of a batch that are padding
    imbalance: Numbers = 1.0  # tokens of the busiest experts over those of all, on average


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingWish:
    """What somebody said of a training; None was left to the trainer, the model and the machine."""

    work: str | None = None  # "finetune", "pretrain"; None: by how the model is cut
    trainer: str | None = None
    method: str | None = None
    optimizer: str | None = None
    precision: str | None = None
    base: str | None = None
    micro_batch: int | None = None
    seq_tok: int | None = None
    recompute: str | None = None
    flash: bool | None = None
    chunked_loss: bool | None = None
    compiled: bool | None = None
    rank: int | None = None
    targets: str | None = None
    sharding: str | None = None
    schedule: str | None = None
    virtual_stages: int | None = None
    accumulate: int | None = None
    offload: str | None = None
    global_batch: int | None = None  # sequences of an optimizer step, over all replicas
    references: int | None = None
    objective: str | None = None
    group: int | None = None
    prompts: int | None = None  # of an optimizer step, each with a group of completions
    completion_tok: int | None = None
    rollout: str | None = None
    rollout_gpus: int | None = None
    rollout_tp: int | None = None
    waves: int | None = None
    picture: Size | None = None  # that is looked at or learnt to make
    sequence_parallel: bool | None = None
    tp: int | None = None
    pp: int | None = None
    dp: int | None = None
    ep: int | None = None
    cp: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How the work is cut over chips: each a number or an array of choices."""

    tp: Numbers = 1  # tensor parallel (with sequence parallel where `sequence_parallel`)
    pp: Numbers = 1  # pipeline stages
    dp: Numbers = 1  # data parallel replicas (ZeRO and FSDP shard over these)
    ep: Numbers = 1  # expert parallel, inside tp x dp
    cp: Numbers = 1  # context parallel
    sequence_parallel: bool = False
    attention_dp: bool = False  # attention replicated over tp ranks, each with its own sequences


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What is sent to a served model; with neither `concurrency` nor `rate_per_s`, as much as fits."""

    prompt_tok: Numbers
    output_tok: Numbers
    concurrency: Numbers = None  # closed loop: requests in flight at once, over all replicas
    rate_per_s: Numbers = None  # open loop: requests that arrive a second, over all replicas
    requests: Numbers = None  # of a run that starts at once and ends; nan: not stated; None: a service
    tpot_p99_s: Numbers = None  # an open loop as fast as keeps this and `ttft_p99_s` for 99 of 100 requests
    ttft_p99_s: Numbers = None
    cached_tok: Numbers = 0  # of each prompt, found in the prefix cache; of sessions: seen before
    think_s: Numbers = None  # sessions come back after so long: memory decides what is found; None: no matter
    turns: Numbers = inf  # of a session; endless: all come back
    shared_tok: Numbers = 0  # that all prompts begin with: kept once
    reload_s: Numbers = 0  # what was found takes this long to come back to the GPUs
    prompt_spread: Numbers = 0.0  # standard deviation of prompt lengths over their mean
    output_spread: Numbers = None  # of answers; None: of users that go on a little, else none
    drafted_tok: Numbers = 0  # tokens drafted for each pass of a sequence (speculative decoding, MTP)
    accepted_tok: Numbers = 0  # of them, those kept, on average


def grown_users(users: float, growth: float) -> float:
    """Requests in flight once a load has grown: whole ones."""
    return users if growth == 1 else float(ceil(round(users * growth, 6)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanWish:
    """What somebody wants planned, and within which limits; None was left to us."""

    work: str = (
        "auto"  # "auto": chat at home, a service elsewhere; "serve", "chat", "finetune", "pretrain" ...
    )
    on: str | None = None  # machines to plan on: "8x h100", "2x rtx 3090"; None: the whole catalogue
    owned: str | None = None  # what is there already and costs only power: "2x rtx 3090"
    have: str | None = None  # a PC that takes the cards: "b650, 64gb, 850w"
    room: str | None = None  # where what is bought stands: "230V 16A", "rack 2U, quiet"
    chips: tuple[str, ...] = ()  # only these kinds of chip
    vendors: tuple[str, ...] = ()
    clouds: tuple[str, ...] = ()  # only what these rent out
    buy: bool | None = None  # True: only bought; False: only rented
    spot: bool = False  # rented hours that may end at any moment, where their price is known
    engines: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()  # formats; none: all that the chip runs
    kv: tuple[str, ...] = ()
    quality: str | None = None  # the format that may lose most: "fp8", "awq4"
    licence: str | None = None
    prompt_tok: int | None = None
    output_tok: int | None = None
    context_tok: int | None = None
    users: float | None = None  # requests in flight at once
    rate_per_s: float | None = None
    cached_share: float | None = None  # of prompts, found in the prefix cache; None: what is usual
    turns: float | None = None  # of a session, whose prompts repeat what came before
    think_s: float | None = None  # between an answer and the next turn
    shared_tok: int | None = None  # that all prompts begin with
    kv_store: KvStore | None = None  # caches are kept beside the GPUs too
    drafting: Drafting | None = None  # tokens are drafted
    draft: float | None = None  # the chance that each is kept, where somebody said it
    draft_tok: int | None = None  # drafted for each pass
    ttft_s: float | None = None
    tpot_s: float | None = None
    percentile: float | None = None  # the limits hold for such a share of requests; None: on average
    tok_per_s: float | None = None  # output of the whole system, at least
    budget_usd: float | None = None  # to buy
    budget_said: str | None = None  # the same as it was typed, in its own currency
    currency: str = "USD"  # of every amount that is shown: that of the money somebody named
    usd_per_h: float | None = None  # to rent or to run
    usd_per_mtok: float | None = None
    power_w: float | None = None
    most_chips: int | None = None
    growth: float = 1.0  # traffic to leave room for, over today's
    grows_to: str | None = None  # a larger model that should fit later: "70B" or a name
    train_tok: float | None = None  # tokens to train on
    samples: float | None = None
    epochs: float = 1.0
    seq_tok: int | None = None
    global_batch: int | None = None
    method: str | None = None  # "full", "lora", "qlora"
    objective: str | None = None  # "dpo", "grpo", "ppo" ...
    group: int | None = None  # completions of a prompt
    prompts: int | None = None  # of an optimizer step, each with a group of completions
    completion_tok: int | None = None  # tokens of a completion
    trainer: str | None = None
    picture: Size | None = None  # that is made or looked at
    length: Length | None = None  # of a video that is made
    images: Images | None = None  # in each request
    steps: int | None = None  # of a generator, for a picture
    latency_s: float | None = None  # of a batch of samples, at most
    days: float | None = None  # a deadline
    tariff_usd_per_kwh: float | None = None
    place: str | None = None  # whose tariff and carbon are taken: "US-CA", "Guangdong"
    customer: str | None = None  # "home" or "company", whose tariff it is; None: as such cards stand
    used: bool = False  # cards are bought used, where a used price is known
    pue: float | None = None
    years: float = 3.0  # a bought machine is written off over
    duty: float = 1.0  # share of the time it works
    prices_file: str | None = None
    aim: str | None = None  # what the first plan is best at: "cost", "speed", "latency", "power"
    most_plans: int = 5

    @derived
    def image_px(self) -> int | None:
        """The width of a picture."""
        return None if self.picture is None else self.picture.width_px


@dataclass(frozen=True, slots=True, kw_only=True)
class CostWish:
    """What else is paid over the years, beside a machine and its power."""

    cooling: float | None = None  # power of cooling over power of the machine
    space_usd: float = 0.0  # a month, for a bought machine
    people_usd: float = 0.0  # a month, who look after a bought machine
    upkeep: float = 0.0  # a year, as a share of the price of a bought machine
    api_usd_per_mtok: tuple[float, ...] = ()  # prompt and output
    mtok_per_month: float | None = None  # output tokens that are wanted; None: all that the machine makes
    hours: float | None = None  # of use over all the years; None: by `duty`
    after_years: float | None = None  # the machine is replaced by then
    then: str | None = None  # by this one; None: by another of the same
