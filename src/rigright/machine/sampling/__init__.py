"""Reads the machine once a second: host, devices, kernel log, process tree."""
