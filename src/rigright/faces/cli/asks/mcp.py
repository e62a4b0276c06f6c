"""`mcp`: the verbs as tools of an agent."""

from __future__ import annotations

import argparse
from pathlib import Path

from rigright.base.errors import MissingError
from rigright.base.words import say
from rigright.faces.cli.answer import Answer

STAGE = "know"
SUMMARY = say("MCP server: the same answers for AI agents")


def answer(options: argparse.Namespace) -> Answer:
    """Serve until the agent ends it, or list the tools."""
    from rigright.faces import agents, tools
    from rigright.report.pages import export as pages

    root = None if options.root is None else Path(options.root).expanduser()
    if root is not None and not root.is_dir():
        raise MissingError(say("there is no folder {folder}", folder=options.root))
    if not options.list:
        agents.serve(root, port=options.http)
        options.form = "text"  # all was said
        return Answer(page=pages.ended_page, plain=lambda _language: None, text=str)
    listed = {name: tools.shown(name, root) for name in tools.offered(root)}
    return Answer(page=lambda: pages.tools_page(listed), plain=lambda _language: listed, record=listed)
