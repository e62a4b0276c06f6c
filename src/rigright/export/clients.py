"""What stands around servers: the client that sends the planned load, and what deals requests to replicas."""

from __future__ import annotations

from rigright.export.launch import Launch
from rigright.export.text import comments, given, script

RESULT = "bench.json"


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
            ("--endpoint", "/v1/completions"),
            ("--model", launch.name if launch.tokenizer else launch.model),
            ("--tokenizer", launch.tokenizer),
            ("--dataset-name", "random"),
            ("--random-input-len", load.prompt_tok),
            ("--random-output-len", load.output_tok),
            ("--num-prompts", load.requests),
            ("--max-concurrency", load.concurrency),
            ("--request-rate", rate),
            ("--header", header),
        ),
        ("--ignore-eos",),
        ("--percentile-metrics", "ttft,tpot,itl,e2el"),
        ("--save-result",),
        ("--result-filename", RESULT),
    )
    told = "sends the load of the plan, once the server answers; then: rigright measure --plan plan.json"
    head = (
        f"{launch.name}: {told} --read {RESULT} -- true",
        f"or: rigright bench endpoint --endpoint http://127.0.0.1:{launch.port}/v1 --plan plan.json",
    )
    return script(words, head=head, environment={})


def balancer(launch: Launch) -> str:
    """Nginx in front of replicas: the one with the fewest requests takes the next."""
    servers = "".join(f"    server 127.0.0.1:{one.port};\n" for one in launch.servers)
    return (
        f"{comments(launch.head)}events {{}}\nhttp {{\n"
        f"  upstream replicas {{\n    least_conn;\n{servers}  }}\n"
        f"  server {{\n    listen {launch.host}:{launch.port};\n    location / {{\n"
        "      proxy_pass http://replicas;\n      proxy_buffering off;\n      proxy_read_timeout 1h;\n"
        "      client_max_body_size 64m;\n    }\n  }\n}\n"
    )
