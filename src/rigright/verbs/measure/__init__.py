"""Runs the user's own command and tells what it took."""
