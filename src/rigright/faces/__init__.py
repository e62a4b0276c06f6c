"""Ask the user, call a verb, show a page; no arithmetic."""
