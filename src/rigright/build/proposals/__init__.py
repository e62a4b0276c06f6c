"""Machines put together around cards, and what their parts cost."""
