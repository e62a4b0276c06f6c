"""`bench`: measures the hardware and compares it with what it should reach."""
