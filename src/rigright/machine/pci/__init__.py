"""The bus: from /sys with its configuration space, or from what lspci writes."""
