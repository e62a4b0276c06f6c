"""Reads this machine: probe, watch and bench as frozen records. No other room touches drivers."""
