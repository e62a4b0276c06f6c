"""The PCI bus: from /sys with its configuration space, or from lspci output."""
