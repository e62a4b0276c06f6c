"""Where a description of a model may come from: zoo, config file, folder, GGUF, hub, shape, torch module."""
