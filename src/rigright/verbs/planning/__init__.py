"""What `plan` is asked in words, and where its figures come from."""
