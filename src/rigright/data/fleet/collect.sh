#!/bin/sh
# Reads a machine for rigright where no Python is new enough, or where there is none.
#
#     sh collect.sh > box.txt          on that machine, as root where you may
#     rigright doctor --from box.txt   on any other
#
# It changes nothing, reaches no network, writes no file, and gives every command its time:
# files and the kernel's log come first, the drivers last, so that one that hangs costs nothing but itself.
# Any POSIX shell will do; a tool that is not there is passed over.

MARK=rigright-collect
R=${RIGRIGHT_ROOT:-}
H=$R${HOME:-/root}
MOST_FILE=262144 MOST_SAID=8388608
part() { printf '\n%s %s\n' "$MARK" "$*"; }

printf '%s 1\n' "$MARK"
part host "${SLURMD_NODENAME:-$(uname -n)}"
part root "$R"
part now "$(date +%s)"
part user "$(id -u)"
part env
env | grep -E '^(@VARIABLES@)[A-Za-z0-9_]*=' |
  sed -E 's/^([^=]*(TOKEN|KEY|SECRET|PASS|CREDENTIAL|AUTH|COOKIE|SIGNATURE|PRIVATE)[^=]*)=.*/\1=(set)/'

# from here on our own words, not the user's
LC_ALL=C; LANG=C; export LC_ALL LANG
PATH=$PATH:/usr/sbin:/sbin:/usr/local/sbin:/usr/local/bin:/opt/rocm/bin
limit= wait=
command -v timeout >/dev/null 2>&1 && limit='timeout 8' wait='timeout 10'

# Many text files at once, each under its name; of one that is not there nothing is said.
files() { part files; head -c "$MOST_FILE" -v "$@" /dev/null 2>/dev/null; }

# Files that are no text, as hex.
octets() {
  for one in "$@"; do
    [ -r "$one" ] && [ -f "$one" ] && part bytes "$one" && od -An -v -tx1 -N 262144 "$one" 2>/dev/null
  done
}

# What lies in each folder.
folders() {
  for one in "$@"; do
    [ -d "$one" ] && part folder "$one" && ls -A1 "$one" 2>/dev/null
  done
}

# Where links lead.
links() { part links; ls -ld "$@" 2>/dev/null; }

# What a command says, and its exit code. One that cannot be ended, as in a driver that hangs, is left behind: what
# reads it gives up, and the answer is "ran past its time" (124, and false, so that nobody asks that driver again).
ask() {
  command -v "$1" >/dev/null 2>&1 || { part absent "$1"; return; }
  part command "$@"
  { { $limit "$@" 2>/dev/null </dev/null; printf '\n%s code %s\n' "$MARK" "$?"; } & } | $wait head -c "$MOST_SAID"
  case $? in
    124 | 137 | 143) printf '\n%s code 124\n' "$MARK"; return 1 ;;
  esac
}

ask dmesg
ask journalctl _TRANSPORT=kernel -o short-unix --no-pager -q --since -30d -n 20000
files "$R"/etc/os-release "$R"/proc/cmdline "$R"/proc/cpuinfo "$R"/proc/meminfo "$R"/proc/modules \
  "$R"/proc/mounts "$R"/proc/uptime "$R"/proc/version "$R"/proc/pressure/* "$R"/proc/driver/nvidia/version \
  "$R"/proc/self/cgroup "$R"/proc/self/limits "$R"/proc/self/mountinfo "$R"/proc/self/status \
  "$R"/proc/sys/fs/file-max "$R"/proc/sys/fs/file-nr "$R"/proc/sys/fs/inotify/max_user_watches \
  "$R"/proc/sys/kernel/arch "$R"/proc/sys/kernel/dmesg_restrict "$R"/proc/sys/kernel/hostname \
  "$R"/proc/sys/kernel/numa_balancing "$R"/proc/sys/kernel/osrelease "$R"/proc/sys/kernel/panic \
  "$R"/proc/sys/kernel/perf_event_paranoid "$R"/proc/sys/kernel/pid_max "$R"/proc/sys/kernel/threads-max \
  "$R"/proc/sys/kernel/sched_autogroup_enabled "$R"/proc/sys/net/core/*mem_max \
  "$R"/proc/sys/net/ipv4/tcp_congestion_control "$R"/proc/sys/vm/max_map_count \
  "$R"/proc/sys/vm/min_free_kbytes "$R"/proc/sys/vm/nr_hugepages "$R"/proc/sys/vm/overcommit_* \
  "$R"/proc/sys/vm/swappiness "$R"/proc/sys/vm/zone_reclaim_mode
files "$R"/proc/[0-9]*/comm "$R"/proc/[0-9]*/stat
files "$R"/etc/modprobe.d/*.conf "$R"/lib/modprobe.d/*.conf "$R"/usr/lib/modprobe.d/*.conf "$R"/run/modprobe.d/*.conf \
  "$R"/usr/local/lib/modprobe.d/*.conf
files "$R"/sys/module/nvidia/version "$R"/sys/module/amdgpu/version "$R"/sys/kernel/mm/transparent_hugepage/enabled \
  "$R"/sys/class/dmi/id/bios_* "$R"/sys/class/dmi/id/product_* "$R"/sys/class/dmi/id/sys_vendor "$R"/sys/class/dmi/id/board_* \
  "$R"/sys/fs/cgroup/cpu/cpu.cfs_* "$R"/sys/fs/cgroup/cpu.max "$R"/sys/fs/cgroup/memory.max "$R"/sys/fs/cgroup/memory/memory.limit_in_bytes
for name in vendor device class subsystem_vendor subsystem_device numa_node current_link_speed current_link_width \
  max_link_speed max_link_width resource power_state power/runtime_status aer_dev_correctable aer_dev_nonfatal aer_dev_fatal; do
  files "$R"/sys/bus/pci/devices/*/$name
done
files "$R"/sys/block/*/size "$R"/sys/block/*/device/model "$R"/sys/block/*/queue/rotational "$R"/sys/block/*/queue/scheduler \
  "$R"/sys/class/block/*/partition \
  "$R"/sys/class/ata_link/*/sata_spd
files "$R"/sys/class/hwmon/*/name "$R"/sys/class/hwmon/*/fan*_input "$R"/sys/class/hwmon/*/in*_* "$R"/sys/class/hwmon/*/temp*_* \
  "$R"/sys/class/hwmon/*/power*_*
files "$R"/sys/class/infiniband/*/board_id "$R"/sys/class/infiniband/*/fw_ver "$R"/sys/class/infiniband/*/hca_type \
  "$R"/sys/class/infiniband/*/node_type "$R"/sys/class/infiniband/*/device/numa_node \
  "$R"/sys/class/infiniband/*/ports/*/[a-z]* "$R"/sys/class/infiniband/*/ports/*/counters/* \
  "$R"/sys/class/infiniband/*/ports/*/hw_counters/*
files "$R"/sys/class/net/*/carrier_down_count "$R"/sys/class/net/*/device/numa_node "$R"/sys/class/net/*/mtu \
  "$R"/sys/class/net/*/operstate "$R"/sys/class/net/*/speed "$R"/sys/class/net/*/type "$R"/sys/class/net/*/statistics/*
files "$R"/sys/devices/system/cpu/cpu[0-9]*/topology/physical_package_id "$R"/sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list \
  "$R"/sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/*_count
files "$R"/sys/devices/system/cpu/cpufreq/boost "$R"/sys/devices/system/cpu/cpufreq/policy*/[ces]* \
  "$R"/sys/devices/system/cpu/intel_pstate/no_turbo "$R"/sys/devices/system/edac/mc/mc*/*_count \
  "$R"/sys/devices/system/node/node*/cpulist "$R"/sys/devices/system/node/node*/meminfo
files "$R"/sys/class/kfd/kfd/topology/nodes/*/[a-z]* "$R"/sys/class/kfd/kfd/topology/nodes/*/io_links/*/properties \
  "$R"/sys/class/drm/card*/device/mem_info_* "$R"/sys/class/drm/card*/device/gpu_busy_percent "$R"/sys/class/drm/card*/device/unique_id
files "$R"/opt/*/lib/python3*/site-packages/torch/version.py "$R"/opt/*/pyvenv.cfg \
  "$R"/usr/lib/python3*/dist-packages/torch/version.py "$R"/usr/local/lib/python3*/*-packages/torch/version.py \
  "$H"/.local/lib/python3*/site-packages/torch/version.py "$H"/*/lib/python3*/site-packages/torch/version.py \
  "$H"/*/pyvenv.cfg

octets "$R"/sys/firmware/dmi/tables/DMI "$R"/sys/firmware/efi/efivars/SecureBoot-* "$R"/sys/bus/pci/devices/*/config
if [ -r "$R"/var/lib/dpkg/status ]; then
  part files
  printf '==> %s <==\n' "$R"/var/lib/dpkg/status
  awk 'BEGIN { RS = ""; ORS = "\n\n" } /^Package: [^\n]*(nvidia|cuda|cudnn|nccl|nvinfer|tensorrt|rocm|hip|amdgpu|linux-|dkms|mlnx|ofed|rdma|intel)/' \
    "$R"/var/lib/dpkg/status
fi

folders "$R"/boot "$R"/dev "$R"/dev/dri "$R"/etc/cdi "$R"/run/cdi "$R"/var/run/cdi "$R"/run "$R"/var/run "$R"/etc/modprobe.d \
  "$R"/lib/modprobe.d "$R"/usr/lib/modprobe.d "$R"/run/modprobe.d "$R"/lib/modules "$R"/opt "$R"/proc "$R"/usr/local "$R"/var/lib/dkms \
  "$R"/sys/block "$R"/sys/bus/pci/devices "$R"/sys/class/drm "$R"/sys/class/hwmon "$R"/sys/class/hwmon/* "$R"/sys/class/infiniband \
  "$R"/sys/class/infiniband/*/ports "$R"/sys/class/infiniband/*/ports/*/counters "$R"/sys/class/infiniband/*/ports/*/hw_counters \
  "$R"/sys/class/kfd/kfd/topology/nodes "$R"/sys/class/net "$R"/sys/class/block/*/slaves "$R"/sys/devices/system/cpu \
  "$R"/sys/devices/system/cpu/cpufreq "$R"/sys/devices/system/edac/mc "$R"/sys/devices/system/node "$R"/sys/firmware "$R"/sys/firmware/efi \
  "$R"/sys/kernel "$R"/sys/kernel/iommu_groups "$R"/sys/class/net/*/bonding \
  "$R"/usr/lib/x86_64-linux-gnu "$R"/usr/lib/aarch64-linux-gnu "$R"/usr/lib64 "$R"/usr/lib/nvidia "$R"/usr/local/nvidia/lib64 \
  "$R"/usr/lib/wsl/lib "$R"/opt/*/lib "$R"/opt/*/lib/python3*/site-packages "$R"/usr/lib/python3*/dist-packages \
  "$R"/usr/local/lib/python3*/*-packages "$H"/.local/lib/python3*/site-packages

links "$R"/sys/bus/pci/devices/* "$R"/sys/bus/pci/devices/*/driver "$R"/sys/bus/pci/devices/*/iommu_group "$R"/sys/block/* \
  "$R"/sys/class/block/* "$R"/sys/dev/block/* "$R"/sys/class/net/* "$R"/sys/class/net/*/device "$R"/sys/class/infiniband/* \
  "$R"/sys/class/infiniband/*/device "$R"/sys/class/drm/card* "$R"/sys/class/hwmon/* "$R"/usr/local/cuda "$R"/opt/rocm "$R"/usr/bin/python3*
for one in /.dockerenv /run/.containerenv /run/reboot-required /dev/ipmi0 /var/lib/rpm /usr/lib/sysimage/rpm /sys/firmware/efi; do
  [ -e "$R$one" ] && part there "$one"
done

ask modinfo -F version nvidia
ask modinfo -F license nvidia
ask nv-fabricmanager --version
ask nvcc --version
ask dmidecode -t memory
ask dmidecode -t slot
ask df -kP
ask df -iP
ask timedatectl show -p NTPSynchronized --value
ask systemctl show -p Id -p LoadState -p ActiveState @SERVICES@
ask ipmitool sensor
for disk in "$R"/dev/nvme[0-9]*n[0-9] "$R"/dev/nvme[0-9]*n[0-9][0-9]; do
  [ -e "$disk" ] && ask nvme smart-log -o json "${disk#"$R"}"
done
for disk in "$R"/dev/sd[a-z] "$R"/dev/sd[a-z][a-z]; do
  [ -e "$disk" ] && ask smartctl -j -a -n standby "${disk#"$R"}"
done
ask amd-smi static --json && ask amd-smi metric --json && ask amd-smi process --json && ask amd-smi topology --json
ask rocm-smi --showallinfo --json
ask xpu-smi discovery -j
ask nvidia-smi -q -x && ask nvidia-smi topo -m && ask nvidia-smi nvlink -s && ask nvidia-smi nvlink -e
part end
exit 0
