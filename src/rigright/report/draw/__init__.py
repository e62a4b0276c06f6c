"""Text drawing for terminals and code blocks: cells, colours, tables, bars."""
