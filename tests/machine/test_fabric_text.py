"""What tools of InfiniBand print: ports by their names, counters on the port they are of, faults found."""

from __future__ import annotations

import pytest

from rigright.doctor.examine import case_of, examine
from rigright.machine.opened import read_machine

GBIT = 1e9 / 8


def ibstat(number, *, rate=400, state="Active", phys="LinkUp", lid=None, model="MT4129"):
    return f"""CA 'mlx5_{number}'
\tCA type: {model}
\tNumber of ports: 1
\tFirmware version: 28.39.1002
\tHardware version: 0
\tNode GUID: 0xb8599f030022626e
\tSystem image GUID: 0xb8599f030022626e
\tPort 1:
\t\tState: {state}
\t\tPhysical state: {phys}
\t\tRate: {rate}
\t\tBase lid: {lid or 10 + number}
\t\tLMC: 0
\t\tSM lid: 1
\t\tCapability mask: 0xa651e848
\t\tPort GUID: 0xb8599f030022626e
\t\tLink layer: InfiniBand
"""


def perfquery(lid, **counts):
    names = {"SymbolErrorCounter": 0, "LinkDownedCounter": 0, "ExcessiveBufferOverrunErrors": 0} | counts
    rows = "\n".join(f"{name + ':':.<34}{count}" for name, count in names.items())
    return (
        f"# Port counters: Lid {lid} port 1 (CapMask: 0x5A00)\nPortSelect:......................1\n{rows}\n"
    )


MLXLINK = """
Operational Info
----------------
State                              : Active
Physical state                     : LinkUp
Speed                              : IB-NDR
Width                              : {width}x
FEC                                : Interleaved_Standard_RS_FEC_PLR - (546,516)

Troubleshooting Info
--------------------
Status Opcode                      : 0
Group Opcode                       : N/A
Recommendation                     : {advice}

Physical Counters and BER Info
------------------------------
Time Since Last Clear [Min]        : {minutes}
Symbol Errors                      : 0
Effective Physical Errors          : {errors}
Effective Physical BER             : 15E-255
Link Down Counter                  : 0

Module Info
-----------
Temperature [C]                    : {heat} [-5..75]
"""
SOUND = {"width": 4, "advice": "No issue was observed", "minutes": 6000.5, "errors": 0, "heat": 57}
LINKINFO = """CA: node01 mlx5_0:
      0xb8599f0300a1b2c3     12    1[  ] ==( 4X          106.25 Gbps Active/  LinkUp)==>      14   17[  ] "MF0;sw1:MQM9700/U1" ( )
CA: node01 mlx5_1:
      0xb8599f0300a1b2c4     13    1[  ] ==( {width}X          106.25 Gbps Active/  LinkUp)==>      14   18[  ] "MF0;sw1:MQM9700/U1" ( )
"""  # noqa: E501 - as the tool prints it


def machine(text):
    return read_machine(text.encode(), name="paste.txt")


def ports(text):
    return {one.name: one for one in machine(text).ports}


def found(text, *checks):
    told = examine(case_of(machine(text)), checks or ("ib_errors", "ib_ports", "log_nics")).findings
    return [(check, one.severity, one.about) for check, one in told]


def test_ibstat_tells_of_each_port():
    one = ports("$ ibstat\n" + ibstat(0) + ibstat(1, state="Down", phys="Polling", rate=10))
    port = one["mlx5_0/1"]
    assert (port.kind, port.state, port.bytes_per_s, port.model) == ("infiniband", "up", 400 * GBIT, "MT4129")
    assert port.firmware == "28.39.1002"
    assert one["mlx5_1/1"].state == "polling"


def test_other_lists_of_ports():
    status = """Infiniband device 'mlx5_2' port 1 status:
\tdefault gid:\t fe80:0000:0000:0000:b859:9f03:0022:626e
\tbase lid:\t 0x2f6
\tsm lid:\t\t 0x8
\tstate:\t\t 4: ACTIVE
\tphys state:\t 5: LinkUp
\trate:\t\t 200 Gb/sec (4X HDR)
\tlink_layer:\t InfiniBand
"""
    info = """hca_id:\tmlx5_0
\ttransport:\t\t\tInfiniBand (0)
\tfw_ver:\t\t\t\t20.35.1012
\tvendor_part_id:\t\t\t4123
\tboard_id:\t\t\tMT_0000000222
\tphys_port_cnt:\t\t\t1
\t\tport:\t1
\t\t\tstate:\t\t\tPORT_ACTIVE (4)
\t\t\tport_lid:\t\t762
\t\t\tlink_layer:\t\tEthernet
"""
    one = ports(status)["mlx5_2/1"]
    assert (one.state, one.bytes_per_s, one.lanes) == ("up", 200 * GBIT, 4)
    other = ports(info)["mlx5_0/1"]
    assert (other.kind, other.state, other.model, other.board) == ("roce", "up", "MT4123", "MT_0000000222")


def test_counters_stand_on_their_port_by_lid_or_by_what_was_asked():
    by_lid = ports("$ ibstat\n" + ibstat(3, lid=18) + "$ perfquery\n" + perfquery(18, LinkDownedCounter=7))
    assert dict(by_lid["mlx5_3/1"].counters)["link_downed"] == 7
    asked = ports("$ perfquery -C mlx5_5 -P 1\n" + perfquery(99, LinkDownedCounter=7))
    assert dict(asked["mlx5_5/1"].counters)["link_downed"] == 7
    alone = ports(perfquery(99, SymbolErrorCounter=7, VL15Dropped=3))
    assert alone.keys() == {"lid99/1"}
    assert {("symbol_error", 7), ("VL15_dropped", 3)} <= set(alone["lid99/1"].counters)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("".join(map(ibstat, range(8))), []),
        (
            "".join(map(ibstat, range(7))) + ibstat(7, state="Down", phys="Polling", rate=10),
            [("ib_ports", "warning", "mlx5_7/1")],
        ),
        ("".join(map(ibstat, range(7))) + ibstat(7, rate=200), [("ib_ports", "warning", "mlx5_7/1")]),
        ("".join(map(ibstat, range(8))) + ibstat(8, rate=100, model="MT4123"), []),
        (perfquery(4, ExcessiveBufferOverrunErrors=15, LinkDownedCounter=255), []),
        (perfquery(4, LinkDownedCounter=37), [("ib_errors", "note", "lid4/1")]),
        ("$ mlxlink -d mlx5_0 -c -m\n" + MLXLINK.format(**SOUND), []),
        (
            "$ mlxlink -d mlx5_0 -c -m\n" + MLXLINK.format(**SOUND | {"errors": 90_000, "minutes": 60}),
            [("ib_errors", "warning", "mlx5_0/1")],
        ),
        ("$ mlxlink -d mlx5_0 -c\n" + MLXLINK.format(**SOUND | {"errors": 150}), []),  # in four days
        (
            "$ mlxlink -d mlx5_0\n" + MLXLINK.format(**SOUND | {"width": 1}),
            [("ib_ports", "warning", "mlx5_0/1")],
        ),
        (MLXLINK.format(**SOUND | {"advice": "Bad signal integrity"}), [("log_nics", "warning", None)]),
        (MLXLINK.format(**SOUND | {"heat": 81}), [("log_nics", "warning", None)]),
        ("$ iblinkinfo\n" + LINKINFO.format(width=4), []),
        ("$ iblinkinfo\n" + LINKINFO.format(width=2), [("ib_ports", "warning", "mlx5_1/1")]),
    ],
)
def test_what_is_wrong_is_found_and_nothing_else(text, wanted):
    assert found(text) == wanted


@pytest.mark.parametrize("cut", range(0, 700, 37))
def test_torn_texts_are_read_as_far_as_they_go(cut):
    text = ("$ ibstat\n" + ibstat(0) + "$ perfquery\n" + perfquery(10) + MLXLINK.format(**SOUND))[cut:]
    assert machine(text).ports is not None
