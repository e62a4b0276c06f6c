"""The history: readings of machines in one SQLite file that survives kills and full disks."""
