"""Another machine, asked with this very program: sent along, run, heard, and cleaned up after."""
