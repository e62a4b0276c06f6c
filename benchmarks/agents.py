"""Questions of an agent, round trip: a real client, a server in a process of its own, over standard input."""

from __future__ import annotations

import sys
import time

import anyio
from mcp import Client, StdioServerParameters

ROUNDS = 9
ASKED = {  # tool and arguments -> target in words
    "plan a model": ("plan", {"model": "qwen3-32b", "mode": "chat", "budget": "8000usd"}, "0.6 s"),
    "plan one machine": ("plan", {"model": "llama-3.1-70b", "on": "8x h100", "concurrency": 32}, "0.6 s"),
    "plan over the catalogue": ("plan", {"model": "llama-3.1-70b", "concurrency": 32}, "0.6 s"),
    "explain": ("explain", {"model": "llama-3.1-8b", "on": "rtx 4090"}, ""),
    "fit": ("fit", {"machine": "rtx 4090"}, ""),
    "compare two": ("compare", {"things": ["4090", "5090"], "for": "qwen3-8b"}, ""),
    "look up a chip": ("look_up", {"kind": "chips", "words": ["4090"]}, ""),
}


async def measured():
    started = time.perf_counter()
    async with Client(
        StdioServerParameters(command=sys.executable, args=["-m", "rigright", "mcp"])
    ) as client:
        listed = (await client.list_tools()).tools
        print(f"{f'start, and the list of {len(listed)} tools':<40} {time.perf_counter() - started:.2f} s")
        for name, (tool, said, target) in ASKED.items():
            took = []
            for _ in range(ROUNDS):
                begun = time.perf_counter()
                answer = await client.call_tool(tool, said)
                took.append(time.perf_counter() - begun)
            if answer.is_error:
                sys.exit(f"{name}: {answer.content[0].text}")
            size = sum(len(part.text) for part in answer.content)
            warm = sorted(took[1:])
            times = f"first {took[0]:.2f} s, warm {warm[len(warm) // 2]:.3f} s, at most {warm[-1]:.3f} s"
            print(f"{name:<40} {times}, {size:,} letters" + (f"   target {target}" if target else ""))


def main():
    """The table."""
    anyio.run(measured)


if __name__ == "__main__":
    main()
