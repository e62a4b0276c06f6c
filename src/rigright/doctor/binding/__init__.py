"""What binds: the one thing that everything else of a running machine waits for."""
