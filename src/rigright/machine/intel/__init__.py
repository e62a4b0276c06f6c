"""Intel data-centre and Arc GPUs."""
