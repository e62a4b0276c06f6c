"""The tools as a server of the Model Context Protocol, over standard input or HTTP on loopback."""

from __future__ import annotations

import json
import tempfile
from contextlib import chdir
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

from rigright import __version__
from rigright.base import shelf
from rigright.base.errors import MissingError
from rigright.base.words import say
from rigright.faces import tools
from rigright.faces.cli.front import ASKS, TAGLINE

_HOST = "127.0.0.1"


def server(root: Path | None = None) -> Any:
    """A server of the tools; files are read below the root alone."""
    if find_spec("mcp") is None:
        raise MissingError(
            say("agents need the package mcp, which is not installed"),
            hint=say("install it: {command}", command="python -m pip install 'rigright[mcp]'"),
        )
    import mcp_types as types
    from anyio import to_thread
    from mcp.server.lowlevel import Server

    one_at_a_time = Lock()  # a question has the user's own prices and runs in force

    def asked(name: str, said: dict[str, Any]) -> tools.Told:
        with one_at_a_time:
            return tools.call(name, said, root=root)

    async def listed(_: Any, __: Any) -> types.ListToolsResult:
        summaries = shelf.load(ASKS, "SUMMARY")
        looks = types.ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True)
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=name,
                    description=str(summaries[name]),
                    input_schema=tools.schema(name, root),
                    output_schema=tools.in_short(name),
                    annotations=looks,
                )
                for name in tools.offered(root)
            ]
        )

    async def called(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        told = await to_thread.run_sync(asked, params.name, params.arguments or {})
        text = json.dumps(told.data, ensure_ascii=False, allow_nan=False)
        return types.CallToolResult(
            content=[types.TextContent(text=told.line), types.TextContent(text=text)],
            structured_content=told.data if isinstance(told.data, dict) else {"rows": told.data},
            is_error=told.failed,
        )

    return Server(
        "rigright",
        version=__version__,
        instructions=str(TAGLINE),
        on_list_tools=listed,
        on_call_tool=called,
    )


def serve(root: Path | None, *, port: int | None) -> None:
    """Answer until the other side, or Ctrl-C, ends it; from an empty folder, where no name is a file."""
    made = server(None if root is None else root.resolve())
    with tempfile.TemporaryDirectory() as empty, chdir(empty):
        if port is None:
            import anyio

            anyio.run(_over_stdio, made)
            return
        import uvicorn

        app = made.streamable_http_app(host=_HOST, stateless_http=True, json_response=True)
        uvicorn.run(app, host=_HOST, port=port, log_level="warning")


async def _over_stdio(made: Any) -> None:
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write):
        await made.run(read, write, made.create_initialization_options())
