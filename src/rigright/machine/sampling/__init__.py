"""The machine read once a second: host, devices, the kernel's log, a tree of processes."""
