"""Chips, nodes, CPUs, clouds, prices, software, formats and engines: tables read into frozen records."""
