"""What every room needs: units, files, table reader, shelf, errors, words."""
