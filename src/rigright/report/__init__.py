"""Records -> `Page` (`pages/<verb>.py`) -> text, markdown, html (`formats/<name>.py`)."""
