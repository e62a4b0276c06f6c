"""What is here: probe, watch and bench, as frozen records; the only room that touches drivers."""
