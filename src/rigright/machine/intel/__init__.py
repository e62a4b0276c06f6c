"""Intel's data centre and Arc cards."""
