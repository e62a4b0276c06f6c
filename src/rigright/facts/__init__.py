"""What exists: chips, nodes, CPUs, clouds, prices, software, formats, engines, as frozen records."""
