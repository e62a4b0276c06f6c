"""Shared basics: units, files, table reader, shelf (folder loader), errors, words (both languages), pages."""
