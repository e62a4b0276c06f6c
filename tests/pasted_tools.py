"""Small samples of what tools print, written after their public formats: for readers and fuzzing."""

from __future__ import annotations

from rigright.base.units import GIB

HL_SMI = """\
| HL-SMI Version:                              hl-1.15.1-fw-49.0.0.0          |
| Driver Version:                                     1.15.1-62f612b          |
|   0  HL-225              N/A  | 0000:33:00.0     N/A |                   0  |
| N/A   26C   N/A    94W / 600W |   768MiB / 98304MiB  |     0%           N/A |
|   1  HL-225              N/A  | 0000:9a:00.0     N/A |                   3  |
| N/A   30C   N/A   410W / 600W | 90000MiB / 98304MiB  |    98%           N/A |
| Compute Processes:                                               AIP Memory |
|   1       4242     C    python                                   89232MiB   |
"""
HL_CSV = (
    "index, name, bus_id, temperature.aip [C], memory.total [MiB]\n1, HL-225, 0000:9a:00.0, 31 C, 98304 MiB\n"
)
P2P = """\
$ nvidia-smi topo -p2p {what}
 \tGPU0\tGPU1\tGPU2\t
 GPU0\tX\tOK\tCNS\t
 GPU1\tOK\tX\tNS\t
 GPU2\tCNS\tNS\tX\t

Legend:
  OK   = Status Ok
"""
ROWS = """\
0, NVIDIA H100 80GB HBM3, 550.54.15, 42, 97 %, 1024 MiB, 81559 MiB
1, NVIDIA H100 80GB HBM3, 550.54.15, 44, 99 %, 2048 MiB, 81559 MiB
"""
ASKED = "index,name,driver_version,temperature.gpu,utilization.gpu,memory.used,memory.total"
LSHW = """\
gpu7
    description: Rack Mount Chassis
    product: PowerEdge XE9680
    vendor: Dell Inc.
  *-core
       description: Motherboard
     *-memory
          description: System Memory
          size: 2TiB
        *-bank:0
             description: DIMM DDR5 Synchronous Registered (Buffered) 4800 MHz (0.2 ns)
             slot: A1
             size: 64GiB
        *-bank:1
             description: [empty]
             slot: A2
     *-cpu:0
          product: Intel(R) Xeon(R) Platinum 8480+
          configuration: cores=56 enabledcores=56 threads=112
     *-display
          description: 3D controller
          product: GH100 [H100 SXM5 80GB] [10DE:2330]
          vendor: NVIDIA Corporation
          bus info: pci@0000:19:00.0
          configuration: driver=nvidia latency=0
"""
LSHW_JSON = {
    "id": "gpu7", "class": "system", "product": "PowerEdge XE9680", "vendor": "Dell Inc.",
    "children": [
        {
            "id": "core", "class": "bus",
            "children": [
                {"id": "memory", "class": "memory", "description": "System Memory", "size": 2 * 1024 * GIB},
                {"id": "bank:0", "class": "memory", "description": "DIMM DDR5 4800 MHz", "slot": "A1",
                 "size": 64 * GIB},
                {"id": "bank:1", "class": "memory", "description": "[empty]", "slot": "A2"},
                {"id": "cpu:0", "class": "processor", "product": "Intel(R) Xeon(R) Platinum 8480+",
                 "configuration": {"cores": "56", "threads": "112"}},
                {"id": "display", "class": "display", "description": "3D controller",
                 "product": "GH100 [H100 SXM5 80GB] [10DE:2330]", "vendor": "NVIDIA Corporation",
                 "businfo": "pci@0000:19:00.0", "configuration": {"driver": "nvidia"}},
            ],
        }
    ],
}  # fmt: skip
SENSORS = """\
k10temp-pci-00c3
Adapter: PCI adapter
Tctl:         +97.5°C  (high = +95.0°C, crit = +100.0°C)

nvme-pci-0100
Adapter: PCI adapter
Composite:    +45.9°C  (low  = -20.1°C, high = +83.8°C)
                       (crit = +88.8°C)

nct6798-isa-0290
Adapter: ISA adapter
in0:                    936.00 mV (min =  +0.00 V, max =  +1.74 V)
fan2:                  1200 RPM  (min =    0 RPM)
"""
CORES = {
    "coretemp-isa-0000": {
        "Adapter": "ISA adapter",
        "Package id 0": {"temp1_input": 101.0, "temp1_max": 92.0, "temp1_crit": 100.0},
    }
}
NCCL = {
    "args": ["all_reduce_perf", "-b", "8", "-e", "8G"],
    "devices": [
        {"rank": n, "host": "n1", "device": n, "pci": "0000:19:00", "name": "NVIDIA H100 80GB HBM3"}
        for n in range(8)
    ],
    "results": [
        {
            "size": 8589934592, "count": 2147483648, "type": "float", "redop": "sum", "root": -1,
            "out_of_place": {"time": 40000.0, "alg_bw": 215.0, "bus_bw": 376.3, "nwrong": 0},
            "in_place": {"time": 40000.0, "alg_bw": 214.0, "bus_bw": 374.5, "nwrong": 2},
        }
    ],
}  # fmt: skip
