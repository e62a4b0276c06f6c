"""Every choice that nobody made, decided here alone: engine, format, cache, context, layout, load."""
