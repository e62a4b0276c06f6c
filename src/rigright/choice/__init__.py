"""Decides everything the user left open: engine, weight format, KV format, context, layout, load."""
