"""The page: the first answer, warm answers, and 1,000 questions with 50 in flight, over loopback."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from statistics import median

PORT, ASKED, IN_FLIGHT = 9489, 1000, 50
MODELS = ("qwen3-32b", "llama-3.1-8b", "llama-3.1-70b", "mixtral-8x7b", "gemma-2-27b")
MACHINES = ("8x h100", "2x 4090", "4x a100", "2x mi300x")
FIRST = {"model": "qwen3-32b", "concurrency": "8", "mode": "chat"}
QUESTIONS = [
    {"model": model, "on": machine, "concurrency": users}
    for model in MODELS
    for machine in MACHINES
    for users in (1, 4, 16, 64, 128)
]


def timed(said, verb="plan"):
    """Seconds and status of one question on a connection of its own."""
    begun = time.perf_counter()
    line = HTTPConnection("127.0.0.1", PORT, timeout=120)
    body = json.dumps({"verb": verb, "said": said})
    line.request("POST", "/api/ask", body, {"content-type": "application/json"})
    answer = line.getresponse()
    answer.read()
    line.close()
    return time.perf_counter() - begun, answer.status


def each_anew(name, asked, *, verb="plan"):
    """Questions that nobody asked before, one after the other."""
    took = [timed(said, verb)[0] for said in asked]
    print(f"{name:<50} {median(took):.3f} s, at most {max(took):.3f} s   target 0.2 s")


def main():
    """The table."""
    begun = time.perf_counter()
    server = subprocess.Popen([sys.executable, "-m", "rigright", "web", "--serve", str(PORT)])
    try:
        while True:
            try:
                HTTPConnection("127.0.0.1", PORT).connect()
                break
            except OSError:
                time.sleep(0.02)
        print(f"{'start':<50} {time.perf_counter() - begun:.2f} s")
        print(f"{'first answer after load':<50} {timed(FIRST)[0]:.3f} s   target 0.3 s")
        each_anew("plan over the catalogue", [{**FIRST, "concurrency": users} for users in range(9, 24)])
        each_anew(
            "plan one machine", [{**FIRST, "on": "8x h100", "concurrency": users} for users in range(9, 24)]
        )
        each_anew(
            "explain",
            [{"model": "qwen3-32b", "on": "4090", "context": 512 * step} for step in range(2, 17)],
            verb="explain",
        )
        begun = time.perf_counter()
        with ThreadPoolExecutor(IN_FLIGHT) as pool:
            every = list(pool.map(timed, [QUESTIONS[place % len(QUESTIONS)] for place in range(ASKED)]))
        took = sorted(seconds for seconds, _ in every)
        failed = sum(status != 200 for _, status in every)
        shares = ", ".join(f"p{share} {took[ASKED * share // 100 - 1]:.2f} s" for share in (50, 95, 99))
        name = f"{ASKED:,} questions of {len(QUESTIONS)}, {IN_FLIGHT} in flight"
        print(f"{name:<50} {time.perf_counter() - begun:.1f} s: {shares}; {failed} failed   target 0 failed")
    finally:
        server.terminate()
        server.wait()
    if failed:
        sys.exit(1)


if __name__ == "__main__":
    main()
