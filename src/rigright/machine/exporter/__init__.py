"""Moments of a machine as Prometheus metrics, and the server that shows them."""
