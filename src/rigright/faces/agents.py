"""The tools as a server of the Model Context Protocol, over standard input or HTTP on loopback."""

from __future__ import annotations

import tempfile
from contextlib import chdir
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

from rigright import __version__
from rigright.base.extras import absent
from rigright.base.words import say
from rigright.faces import tools

_HOST = "127.0.0.1"


def server(root: Path | None = None) -> Any:
    """A server of the tools; files are read below the root alone."""
    if find_spec("mcp") is None:
        raise absent("mcp", say("the MCP server needs the package mcp, which is not installed"))
    import mcp_types as types
    from anyio import Lock, to_thread
    from mcp.server.lowlevel import Server

    one_at_a_time = Lock()  # a question has the user's own prices and runs in force

    async def listed(_: Any, __: Any) -> types.ListToolsResult:
        looks = types.ToolAnnotations(
            read_only_hint=True,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=find_spec("huggingface_hub") is not None,  # a model's id may be fetched
        )
        abouts = {name: tools.about(name) for name in tools.offered(root)}
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=name,
                    title=about.title,
                    description=about.text,
                    input_schema=tools.shown(name, root),
                    output_schema=tools.in_short(name),
                    annotations=looks,
                )
                for name, about in abouts.items()
            ]
        )

    async def called(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        async with one_at_a_time:  # who waits here can still be cancelled
            ask = partial(tools.call, params.name, params.arguments or {}, root=root)
            tool_answer = await to_thread.run_sync(ask)
        return types.CallToolResult(
            content=[types.TextContent(text=tool_answer.text)],
            structured_content=tool_answer.data,
            is_error=tool_answer.failed,
        )

    return Server(
        "rigright",
        version=__version__,
        instructions=tools.instructions(),
        on_list_tools=listed,
        on_call_tool=called,
    )


def serve(root: Path | None, *, port: int | None) -> None:
    """Answer until the other side, or Ctrl-C, ends it; from an empty folder, where no name is a file."""
    made = server(None if root is None else root.resolve())
    with tempfile.TemporaryDirectory() as empty, chdir(empty):
        if port is None:
            import anyio

            Thread(target=_warm, daemon=True).start()
            anyio.run(_over_stdio, made)
            return
        import uvicorn

        from rigright.faces.web import prompt_protocol

        _warm()
        app = made.streamable_http_app(host=_HOST, stateless_http=True, json_response=True)
        uvicorn.run(
            app, host=_HOST, port=port, log_level="warning", proxy_headers=False, http=prompt_protocol()
        )


def _warm() -> None:
    """Load what the first question needs, while the other side greets."""
    tools.call("plan", {"model": "qwen3-8b"}, root=None)


async def _over_stdio(made: Any) -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write):
        await made.run(read, write, made.create_initialization_options())
