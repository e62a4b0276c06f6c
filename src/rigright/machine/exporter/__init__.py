"""Prometheus metrics of a machine, and the server that exposes them."""
