"""Sources of a model's description: zoo, config file, folder, GGUF, hub, shape, torch module."""
