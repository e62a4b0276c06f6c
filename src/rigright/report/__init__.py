"""Records -> `Page` (`pages/<verb>.py`) -> text, Markdown, HTML or CSV (`formats/<name>.py`)."""
