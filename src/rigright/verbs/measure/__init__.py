"""`measure`: runs the user's own command and reports memory, power and time."""
