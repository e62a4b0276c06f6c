"""Reads another machine: sends this program there, runs it, takes its answer and cleans up."""
