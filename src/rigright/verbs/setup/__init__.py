"""`setup`: matching software for a machine, the reasons, and the install commands."""
