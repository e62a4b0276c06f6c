"""User interfaces (command line, web, MCP, Python): parse the question, call a verb, show the answer."""
