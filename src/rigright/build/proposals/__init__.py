"""Puts machines together around GPUs and prices their parts."""
