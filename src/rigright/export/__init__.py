"""Files for other programs: launch files from a plan, monitoring files from a machine."""
