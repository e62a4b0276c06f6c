#!/bin/sh
# Slurm runs this on every node. A sure fault takes the node out with the reason; nothing puts it back by
# itself: look at `sinfo -R`, mend it, then `scontrol update NodeName=... State=RESUME`.
$settings
exec timeout 50 $command fleet health --drain
