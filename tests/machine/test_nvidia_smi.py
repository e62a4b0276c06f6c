"""What nvidia-smi writes: our own logs field by field, and other people's captures against themselves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rigright.base.errors import DataError
from rigright.base.units import GIGA, MEGA, MIB
from rigright.machine.device import Retired, Slice
from rigright.machine.nvidia_smi.capture import read_capture, sections
from rigright.machine.nvidia_smi.query import read_xml
from rigright.machine.nvidia_smi.text import links_of, listed, numa_of, paths_of

HEAD = '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n'
SIMPLE_TOPO = """\
\t\x1b[4mGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m
GPU0\t X \tNV12\tSYS\tPXB\t0-15,32-47\t0\t\tN/A
GPU1\tNV12\t X \tSYS\tNODE\t0-15,32-47\t0\t\tN/A
GPU2\tSYS\tSYS\t X \tSYS\t16-31\t1\t\tN/A
NIC0\tPXB\tNODE\tSYS\t X

Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes
"""


def log(*cards, attached=None, before=""):
    """A log of cards; each is the inside of its <gpu>."""
    count = len(cards) if attached is None else attached
    inside = "".join(
        f'<gpu id="00000000:{place + 1:02X}:00.0">{card}</gpu>' for place, card in enumerate(cards)
    )
    return (
        f"{before}{HEAD}<nvidia_smi_log><timestamp>now</timestamp><driver_version>550.54.15</driver_version>"
        f"<cuda_version>12.4</cuda_version><attached_gpus>{count}</attached_gpus>{inside}</nvidia_smi_log>\n"
    )


def device(inside, **more):
    (found,) = dict(read_xml(log(inside, **more)).fields)["devices"]
    return found


def test_a_card_is_read_in_si_units():
    card = device(
        "<product_name>NVIDIA H100 80GB HBM3</product_name><serial>1650</serial><uuid>GPU-1a</uuid>"
        "<pci><pci_device_id>233010DE</pci_device_id><pci_sub_system_id>16C110DE</pci_sub_system_id>"
        "<pci_gpu_link_info><pcie_gen><max_link_gen>5</max_link_gen><current_link_gen>1</current_link_gen>"
        "</pcie_gen><link_widths><max_link_width>16x</max_link_width><current_link_width>8x</current_link_width>"
        "</link_widths></pci_gpu_link_info><rx_util>2000 KB/s</rx_util></pci>"
        "<fb_memory_usage><total>81559 MiB</total><used>100 MiB</used><free>81000 MiB</free>"
        "</fb_memory_usage>"
        "<gpu_power_readings><instant_power_draw>612.50 W</instant_power_draw>"
        "<current_power_limit>700.00 W</current_power_limit></gpu_power_readings>"
        "<clocks><sm_clock>1980 MHz</sm_clock></clocks><fan_speed>30 %</fan_speed>"
        "<temperature><gpu_temp>52 C</gpu_temp><gpu_temp_tlimit>35 C</gpu_temp_tlimit></temperature>"
        "<utilization><gpu_util>97 %</gpu_util></utilization><performance_state>P0</performance_state>"
    )
    assert (card.name, card.pci, card.pci_id, card.board_id) == (
        "NVIDIA H100 80GB HBM3",
        "0000:01:00.0",
        "10de:2330",
        "10de:16c1",
    )
    assert card.mem_total_bytes == 81559 * MIB
    assert card.mem_free_bytes == 81000 * MIB
    assert (card.pcie.gen, card.pcie.gen_max, card.pcie.lanes, card.pcie.lanes_max) == (1, 5, 8, 16)
    assert card.pcie.rx_bytes_per_s == 2 * MEGA
    assert (card.power.draw_w, card.power.limit_w) == (612.5, 700)
    assert card.clocks.sm_hz == 1.98 * GIGA
    assert card.thermal.fans == pytest.approx((0.3,))
    assert (card.thermal.gpu_c, card.thermal.margin_c) == (52, 35)
    assert (card.busy_share, card.pstate) == (pytest.approx(0.97), 0)


@pytest.mark.parametrize(
    "silence",
    [
        *("N/A", "[N/A]", "Not Supported", "[Not Supported]", "Unknown Error", "[Unknown Error]", "", "ERR!"),
        *("Requested functionality has been deprecated", "[Insufficient Permissions]"),
    ],
)
def test_what_a_driver_will_not_say_is_unknown_and_never_zero(silence):
    card = device(
        f"<serial>{silence}</serial><fan_speed>{silence}</fan_speed><persistence_mode>{silence}</persistence_mode>"
        f"<fb_memory_usage><total>{silence}</total><used>{silence}</used></fb_memory_usage>"
        f"<power_readings><power_draw>{silence}</power_draw></power_readings>"
        f"<ecc_mode><current_ecc>{silence}</current_ecc></ecc_mode>"
        f"<mig_mode><current_mig>{silence}</current_mig></mig_mode>"
    )
    told = (
        card.serial,
        card.mem_total_bytes,
        card.mem_used_bytes,
        card.power.draw_w,
        card.persistence,
        card.mig,
    )
    assert told == (None,) * 6
    assert card.ecc is None
    assert card.thermal.fans == ()


def test_errors_are_summed_over_the_memories_that_were_counted():
    card = device(
        "<ecc_mode><current_ecc>Enabled</current_ecc></ecc_mode><ecc_errors><volatile>"
        "<sram_correctable>1</sram_correctable><dram_correctable>20</dram_correctable>"
        "<sram_uncorrectable_parity>3</sram_uncorrectable_parity><sram_uncorrectable_secded>4"
        "</sram_uncorrectable_secded><dram_uncorrectable>N/A</dram_uncorrectable></volatile></ecc_errors>"
    )
    assert (card.ecc.on, card.ecc.corrected_volatile, card.ecc.uncorrected_volatile) == (True, 21, 7)
    assert card.ecc.corrected_aggregate is None
    old = device(
        "<ecc_errors><volatile><single_bit><total>5</total></single_bit><double_bit><total>2</total>"
        "</double_bit></volatile></ecc_errors>"
    )
    assert (old.ecc.corrected_volatile, old.ecc.uncorrected_volatile) == (5, 2)


@pytest.mark.parametrize("word", ["event", "throttle"])
def test_what_slows_it_down_has_one_word_before_and_after_the_renaming(word):
    card = device(
        f"<clocks_{word}_reasons><clocks_{word}_reason_gpu_idle>Not Active</clocks_{word}_reason_gpu_idle>"
        f"<clocks_{word}_reason_sw_power_cap>Active</clocks_{word}_reason_sw_power_cap>"
        f"<clocks_{word}_reason_hw_thermal_slowdown>Active</clocks_{word}_reason_hw_thermal_slowdown>"
        f"</clocks_{word}_reasons>"
    )
    assert card.slowed_by == ("hw_thermal", "sw_power_cap")
    assert device("<product_name>x</product_name>").slowed_by is None


@pytest.mark.parametrize(
    ("inside", "recovery"),
    [
        ("<gpu_recovery_action>None</gpu_recovery_action>", "none"),
        ("<gpu_recovery_action>Reset</gpu_recovery_action>", "gpu reset"),
        ("<gpu_recovery_action>Reboot</gpu_recovery_action>", "node reboot"),
        ("<gpu_recovery_action>Drain and Reset</gpu_recovery_action>", "drain and reset"),
        ("<gpu_reset_status><reset_required>Yes</reset_required></gpu_reset_status>", "gpu reset"),
        ("<gpu_reset_status><reset_required>No</reset_required></gpu_reset_status>", "none"),
        ("<utilization><gpu_util>GPU requires reset</gpu_util></utilization>", "gpu reset"),
        ("<product_name>x</product_name>", None),
    ],
)
def test_what_would_bring_a_card_back(inside, recovery):
    assert device(inside).recovery == recovery


def test_a_card_that_fell_off_the_bus_is_told_beside_the_others():
    before = (
        "Unable to determine the device handle for GPU0000:3B:00.0: GPU is lost.  "
        "Reboot the system to recover this GPU\n"
    )
    read = read_xml(log("<product_name>a</product_name>", attached=2, before=before))
    well, lost = dict(read.fields)["devices"]
    assert (well.state, lost.state, lost.pci, lost.index) == ("ok", "lost", "0000:3b:00.0", 1)
    assert read.unseen == ()
    assert device("<fb_memory_usage><total>GPU is lost</total></fb_memory_usage>").state == "lost"


def test_cards_that_are_counted_and_not_shown_are_not_observed():
    read = read_xml(log("<product_name>a</product_name>", attached=4))
    assert [one.what for one in read.unseen] == ["devices"]
    assert {4, 1} <= {value for _, value in read.unseen[0].why.values}


def test_programs_and_instances_stand_under_their_card():
    card = device(
        "<mig_mode><current_mig>Enabled</current_mig></mig_mode><mig_devices><mig_device><index>0</index>"
        "<gpu_instance_id>3</gpu_instance_id><compute_instance_id>0</compute_instance_id><fb_memory_usage>"
        "<total>19968 MiB</total><used>12 MiB</used></fb_memory_usage></mig_device></mig_devices>"
        "<processes><process_info><pid>725</pid><type>C</type><process_name>python</process_name>"
        "<used_memory>1005 MiB</used_memory></process_info><process_info><pid>9</pid><type>G</type>"
        "<process_name>N/A</process_name><used_memory>N/A</used_memory></process_info></processes>"
    )
    assert card.slices == (
        Slice(gpu_instance=3, compute_instance=0, mem_total_bytes=19968 * MIB, mem_used_bytes=12 * MIB),
    )
    first, second = card.programs
    assert (first.pid, first.name, first.kind, first.mem_bytes) == (725, "python", "compute", 1005 * MIB)
    assert (second.name, second.kind, second.mem_bytes) == (None, "graphics", None)
    assert device("<processes></processes>").programs == ()


def test_a_card_of_shared_memory_is_known_by_its_name():
    assert device("<product_name>NVIDIA GB10</product_name>").unified_memory is True
    assert device("<product_name>NVIDIA GH200 480GB</product_name>").unified_memory is None


def test_a_matrix_gives_each_pair_once_and_leaves_network_cards_out():
    assert [(one.a, one.b, one.kind) for one in paths_of(SIMPLE_TOPO)] == [
        (0, 1, "NV12"),
        (0, 2, "SYS"),
        (1, 2, "SYS"),
    ]
    assert numa_of(SIMPLE_TOPO) == {0: 0, 1: 0, 2: 1}
    assert paths_of("") == paths_of("GPU0 GPU1\nrubbish") == ()


def test_links_are_up_down_or_not_there():
    status = (
        "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-1)\n\t Link 0: 25 GB/s\n\t Link 1: <inactive>\n"
        "GPU 1: NVIDIA L40S (UUID: GPU-2)\nDevice does not have or support Nvlink\n"
        "GPU 2: NVIDIA H100 (UUID: GPU-3)\n"
        "NVML: Unable to retrieve NVLink information as all links are inActive\n"
    )
    links = links_of(status)
    assert [(one.index, one.active, one.bytes_per_s) for one in links[0]] == [
        (0, True, 25 * GIGA),
        (1, False, None),
    ]
    assert links[1] == ()
    assert [one.active for one in links[2]] == [False]


def test_a_list_names_cards_and_their_instances():
    told = (
        "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-5e)\n"
        "  MIG 1g.10gb     Device  0: (UUID: MIG-aa)\n  MIG 3g.40gb     Device  1: (UUID: MIG-bb)\n"
    )
    (card,) = listed(told)
    assert (card.name, card.uuid, card.mig) == ("NVIDIA H100 80GB HBM3", "GPU-5e", True)
    assert [(one.profile, one.uuid) for one in card.slices] == [("1g.10gb", "MIG-aa"), ("3g.40gb", "MIG-bb")]


def test_the_table_that_people_paste_is_read():
    told = """
| NVIDIA-SMI 535.54.03              Driver Version: 535.54.03    CUDA Version: 12.2     |
|   0  NVIDIA GeForce RTX 4090        Off | 00000000:01:00.0 Off |                  Off |
|  0%   41C    P8              22W / 450W |    345MiB / 24564MiB |      3%      Default |
|                                         |                      |                  N/A |
|   1  NVIDIA H100 80GB HBM3          On  | 00000000:41:00.0  On |                    0 |
| N/A   33C    P0             ERR! / 700W |      0MiB / 81559MiB |      0%   E. Process |
"""
    fields = dict(read_capture(told).fields)
    first, second = fields["devices"]
    assert (first.name, first.power.limit_w, first.mem_total_bytes) == (
        "NVIDIA GeForce RTX 4090",
        450,
        24564 * MIB,
    )
    assert (first.thermal.fans, first.display) == ((0,), False)
    assert (second.power.draw_w, second.compute_mode, second.display) == (None, "exclusive process", True)
    assert (fields["software"].driver, fields["software"].driver_cuda) == ("535.54.03", "12.2")


def test_a_query_is_read_with_and_without_units():
    told = (
        "index, name, memory.total [MiB], memory.free [MiB], temperature.gpu, compute_cap\n"
        "1, NVIDIA L4, 23034 MiB, 22565 MiB, 41, 8.9\n"
    )
    (card,) = dict(read_capture(told).fields)["devices"]
    assert (card.index, card.mem_total_bytes, card.isa) == (1, 23034 * MIB, "8.9")
    bare = "index, name, memory.total [MiB]\n0, NVIDIA L4, 23034\n"
    assert dict(read_capture(bare).fields)["devices"][0].mem_total_bytes == 23034 * MIB


@pytest.mark.parametrize(
    "broken",
    [
        "",
        "no log at all",
        HEAD + "<nvidia_smi_log><gpu>",
        HEAD + "<nvidia_smi_log>\0</nvidia_smi_log>",
        HEAD + "<nvidia_smi_log>" + "<a>" * 100 + "</a>" * 100 + "</nvidia_smi_log>",
        HEAD + "<nvidia_smi_log>" + '<gpu id="1"/>' * 600 + "</nvidia_smi_log>",
        HEAD + "<nvidia_smi_log>&unknown;</nvidia_smi_log>",
    ],
)
def test_what_is_no_log_is_refused_in_a_sentence(broken):
    with pytest.raises(DataError, match="`nvidia-smi -q -x`"):
        read_xml(broken)


def test_entities_are_never_expanded():
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    bomb = (
        f'<?xml version="1.0"?><!DOCTYPE nvidia_smi_log [<!ENTITY l0 "lol">{laughs}]>'
        "<nvidia_smi_log><driver_version>&l9;</driver_version></nvidia_smi_log>"
    )
    with pytest.raises(DataError):
        read_xml(bomb)
    file = (
        '<?xml version="1.0"?><!DOCTYPE nvidia_smi_log [<!ENTITY f SYSTEM "file:///etc/passwd">]>'
        "<nvidia_smi_log><driver_version>&f;</driver_version></nvidia_smi_log>"
    )
    with pytest.raises(DataError):
        read_xml(file)


XMLS = ["a100-sxm4-v12", "a10g", "rtx-3080-v13", "rtx-3090-v12", "tesla-t4"]


@pytest.mark.parametrize("name", XMLS)
def test_every_captured_log_is_read(shared, name):
    text = (shared / "captures" / "nvidia-smi-xml" / f"{name}.xml").read_text(encoding="utf-8")
    fields = dict(read_xml(text).fields)
    (card,) = fields["devices"]
    family = name.split("-")[0 if name.startswith("a") else 1].upper()
    assert family in card.name.upper()
    assert card.pcie.gen_max in {3, 4}
    assert card.mem_total_bytes >= card.mem_used_bytes + card.mem_free_bytes
    assert 0 < card.power.draw_w < card.power.limit_w
    assert 40 < card.thermal.slowdown_c < card.thermal.shutdown_c < 120
    assert fields["software"].driver.count(".") >= 1


TEXTS = ["rtx-4080-super__595.71.05", "h100-80gb-hbm3__590.48.01", "l40s__595.80"]


@pytest.fixture
def capture(shared):
    def read(name):
        (path,) = (shared / "captures" / "nvidia-smi-text").glob(f"*{name}.txt")
        return path.read_text(encoding="utf-8")

    return read


@pytest.mark.parametrize("name", TEXTS)
def test_a_capture_is_cut_at_its_commands(capture, name):
    assert len(sections(capture(name))) > 20


@pytest.mark.parametrize("name", TEXTS)
def test_two_forms_of_one_moment_say_the_same(capture, name):
    """-q and --query-gpu of one capture: two programs' ways of writing, one machine."""
    told = {}
    for section in sections(capture(name)):
        first = section.lstrip().partition("\n")[0]
        is_csv = first.startswith("timestamp, driver_version")
        kind = "log" if "NVSMI LOG" in section else "csv" if is_csv else None
        if kind is not None and kind not in told:
            (told[kind],) = dict(read_capture(section).fields)["devices"]
    log_, csv = told["log"], told["csv"]
    for field in (
        "name",
        "pci",
        "pci_id",
        "board_id",
        "vbios",
        "mem_total_bytes",
        "persistence",
        "mig",
        "recovery",
    ):
        assert getattr(log_, field) == getattr(csv, field), field
    assert log_.power.limit_w == csv.power.limit_w
    assert log_.clocks.sm_max_hz == csv.clocks.sm_max_hz
    assert (log_.pcie.gen_max, log_.pcie.lanes) == (csv.pcie.gen_max, csv.pcie.lanes)
    assert log_.ecc == csv.ecc or log_.ecc is None or csv.ecc is None or log_.ecc.on == csv.ecc.on
    assert bare(log_.retired) == bare(csv.retired)


def bare(retired):
    """Without repairs, which a query does not tell."""
    return replace(
        retired or Retired(), channel_repair_pending=None, tpc_repair_pending=None, unrepairable=None
    )


def test_a_whole_capture_joins_all_its_sections(capture):
    (card,) = dict(read_capture(capture("h100-80gb-hbm3__590.48.01")).fields)["devices"]
    assert card.isa == "9.0"  # of the query
    assert len(card.links) == 18  # of nvlink -s
    assert card.numa_node == 0  # of topo -m
    assert card.fabric.state == "completed"  # of -q
    assert card.busy_share == 0  # the first moment counts, the idle one


def test_eight_cards_of_a_status_of_links(shared):
    text = (shared / "captures" / "pci" / "nvidia-smi.nvlink.status.a100.txt").read_text(encoding="utf-8")
    cards = dict(read_capture(text).fields)["devices"]
    assert [len(card.links) for card in cards] == [12] * 8


def test_error_counters_of_links_in_the_words_of_hopper_and_of_blackwell():
    old = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n" + "".join(
        f"\t Link {n}: Replay Errors: {n}\n\t Link {n}: Recovery Errors: 0\n\t Link {n}: CRC Errors: 9\n\n"
        for n in range(18)
    )
    (links,) = links_of(old).values()
    assert [one.index for one in links] == list(range(18))
    assert {one.active for one in links} == {None}
    assert links[5].errors == (("replay", 5), ("recovery", 0), ("crc", 9))
    status = "GPU 0: NVIDIA B200 (UUID: GPU-1)\n\t Link 0: 53.125 GB/s\n\t Link 1: <inactive>\n"
    new = (
        "GPU 0: NVIDIA B200 (UUID: GPU-1)\n"
        "\t Link 0: Tx packets: 8219\n\t Link 0: Rx Errors: 4\n\t Link 0: Total link recovery events: 2\n"
        "\t Link 0: Effective Errors: 12\n\t Link 0: Effective BER: 15e-255\n\t Link 0: FEC Errors - 0: 9\n"
        "\t Link 1: Symbol Errors: 0\n"
    )
    (links,) = links_of(status + new).values()
    assert links[0].errors == (("rx", 4), ("recovery", 2), ("effective", 12))
    assert links[0].bytes_per_s == 53.125e9
    assert (links[1].active, links[1].errors) == (False, (("symbol", 0),))
    assert links_of(new + status)[0][0].errors == links[0].errors


def test_links_and_their_errors_of_two_commands_are_one_card():
    head = "GPU 0: NVIDIA B200 (UUID: GPU-1)\n"
    told = (
        f"$ nvidia-smi nvlink -s\n{head}\t Link 0: 53.125 GB/s\n"
        f"$ nvidia-smi nvlink -e\n{head}\t Link 0: Total link recovery events: 2\n"
    )
    for order in (told, "$" + "$".join(reversed(told.split("$")[1:]))):
        (device,) = read_capture(order).fields["devices"]
        (link,) = device.links
        assert (link.active, link.errors) == (True, (("recovery", 2),))
