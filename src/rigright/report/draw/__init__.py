"""Drawing with characters: cells of text, ink, tables and bars, for a terminal or a code block."""
