"""What stands around servers: the client that sends the planned load, and what deals requests to replicas."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import cast

from rigright.export.launch import Launch, ServerSettings
from rigright.export.text import SEED, Variable, comments, given, script
from rigright.facts.launching import Router

RESULT = "bench.json"
GUIDELLM = "0.8.1"
SCRIPTS = ("bench.sh", "guidellm.sh")


def loads(launch: Launch, *, backend: str, header: str | None = None) -> dict[str, str]:
    """The planned load by either client; both write the same file."""
    bench = vllm_bench(launch, backend="openai-audio" if launch.serving.hears else backend, header=header)
    texts = (bench,) if launch.serving.hears else (bench, guidellm(launch))
    return dict(zip(SCRIPTS, texts, strict=False))


def guidellm(launch: Launch) -> str:
    """`guidellm run`: the same load; its options are JSON, which holds any name."""
    load = launch.serving.load
    model = launch.name if launch.tokenizer else launch.model
    profile: dict[str, object] = {"kind": "concurrent", "streams": load.concurrency}
    if load.rate_per_s is not None:
        profile = {"kind": "poisson", "rate": load.rate_per_s, "max_concurrency": load.concurrency}
    options: dict[str, dict[str, object]] = {
        "backend": {
            "kind": "openai_http",
            "target": f"http://127.0.0.1:{launch.port}",
            "model": model,
            "request_format": "/v1/completions",
        },
        "profile": profile,
        "constraint": {"kind": "max_requests", "count": load.requests},
        "tokenizer": {"kind": "huggingface_auto", "model": launch.tokenizer or launch.model},
        "data": {
            "kind": "synthetic_text",
            "prompt_tokens": load.prompt_tok,
            "output_tokens": load.output_tok,
        },
        "output": {"kind": "json", "path": RESULT},
    }
    words = ((f"--{name}", json.dumps(fields, ensure_ascii=False)) for name, fields in options.items())
    head = (
        f"{launch.name}: the load of bench.sh sent by GuideLLM {GUIDELLM}",
        f"then: rigright validate {RESULT} --plan plan.json",
    )
    seed = ("--seed", Variable("SEED", before="kind=static,value="))  # as in bench.sh: no prompt twice
    return script((("guidellm", "run"), *words, seed), head=head, environment={})


def vllm_bench(launch: Launch, *, backend: str, header: str | None = None) -> str:
    """`vllm bench serve`: random tokens of the planned lengths, as many at a time, or as many a second.

    `header` goes with every request.
    """
    load = launch.serving.load
    rate = None if load.rate_per_s is None else f"{load.rate_per_s:g}"
    words = (
        ("vllm", "bench", "serve"),
        *given(
            ("--backend", backend),
            ("--base-url", f"http://127.0.0.1:{launch.port}"),
            ("--endpoint", "/v1/audio/transcriptions" if launch.serving.hears else "/v1/completions"),
            ("--model", launch.name if launch.tokenizer else launch.model),
            ("--tokenizer", launch.tokenizer),
            *_prompts(launch.serving),
            ("--num-prompts", load.requests),
            ("--max-concurrency", load.concurrency),
            ("--request-rate", rate),
            ("--header", header),
            ("--seed", SEED),  # new prompts each time, or a cache of prefixes answers
        ),
        ("--ignore-eos",),
        ("--ready-check-timeout-sec", str(launch.startup_s)),
        ("--percentile-metrics", "ttft,tpot,itl,e2el"),
        ("--save-result",),
        ("--result-filename", RESULT),
    )
    head = (
        f"{launch.name}: sends the planned load once the server answers, and writes {RESULT}",
        "then, in this folder (`rigright export --out` writes plan.json into it):",
        f"  rigright validate {RESULT} --plan plan.json",
        "without vLLM, the same load and the same comparison:",
        f"  rigright bench endpoint --endpoint http://127.0.0.1:{launch.port}/v1 --plan plan.json",
    )
    return script(words, head=head, environment={})


def _prompts(served: ServerSettings) -> tuple[tuple[str, str | int | None], ...]:
    """What is sent: random text of the planned lengths, or recordings."""
    if served.hears:
        return (
            ("--dataset-name", "hf"),
            ("--dataset-path", "openslr/librispeech_asr"),
            ("--hf-subset", "clean"),
            ("--hf-split", "test"),
        )
    return (
        ("--dataset-name", "random"),
        ("--random-input-len", served.load.prompt_tok),
        ("--random-output-len", served.load.output_tok),
    )


def balancer(launch: Launch, places: Sequence[str]) -> str:
    """Nginx in front of replicas: the one with the fewest requests takes the next."""
    servers = "".join(f"    server {place};\n" for place in places)
    return (
        f"{comments(launch.head)}events {{}}\nhttp {{\n"
        f"  upstream replicas {{\n    least_conn;\n{servers}  }}\n"
        f"  server {{\n    listen {launch.host}:{launch.port};\n    location / {{\n"
        "      proxy_pass http://replicas;\n      proxy_buffering off;\n      proxy_read_timeout 1h;\n"
        "      client_max_body_size 64m;\n    }\n  }\n}\n"
    )


def router(launch: Launch) -> str:
    """What takes requests, has a worker make the cache of each prompt, and another its tokens."""
    own = cast("Router", launch.program.router)
    words = (
        own.command,
        *given(
            ("--host", launch.host),
            ("--port", launch.port),
            ("--policy", "power_of_two"),
            ("--worker-startup-timeout-secs", launch.startup_s),
        ),
        *(
            (f"--{worker.stage}", f"http://127.0.0.1:{worker.port}", *_met(worker, own))
            for worker in launch.workers
        ),
    )
    text = "routes each request to a prefill and a decode worker; start those first"
    install = f"install it with: python3 -m pip install {own.package}=={own.version}"
    return script(words, head=(*launch.head, text, install), environment={})


def _met(worker: Launch, router: Router) -> tuple[str, ...]:
    return (str(worker.handover),) if router.meets and worker.stage == "prefill" else ()


def replicas(launch: Launch, script_of: Callable[[Launch], str]) -> dict[str, str]:
    """A script a server; where there are several, what deals requests out to them."""
    if launch.workers:
        fields = {
            f"serve-{item.stage}-{place}.sh": script_of(item) for place, item in enumerate(launch.workers)
        }
        return {**fields, "router.sh": router(launch)}
    servers = launch.servers
    if len(servers) == 1:
        return {"serve.sh": script_of(launch)}
    fields = {f"serve-{place}.sh": script_of(item) for place, item in enumerate(servers)}
    if launch.nodes == 1:
        return {**fields, "nginx.conf": balancer(launch, [f"127.0.0.1:{server.port}" for server in servers])}
    text = "serve-N.sh runs where its line says; node0 ... stand for the addresses of the nodes"
    apart = replace(launch, why=(*launch.why, text))
    return {
        **fields,
        "nginx.conf": balancer(apart, [f"node{server.node}:{server.port}" for server in servers]),
    }
