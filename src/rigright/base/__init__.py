"""What every room needs: units, table reader, shelf, errors, words."""
