"""Where many questions are answered: one file a place."""
