"""The right rig for your model, and your rig set right."""

__version__ = "0.1.0"
