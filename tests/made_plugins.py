"""Small packages with entry points for rigright, as the manual says to make them."""

from __future__ import annotations

import csv
import io
import re
import tomllib
from pathlib import Path

from rigright.base.tables import DATA

SOURCE = DATA.parents[1]
COLUMNS = {
    table: (DATA / table).read_text(encoding="utf-8").partition("\n")[0].split(",")
    for table in ("chips.csv", "prices.csv", "clouds.csv", "hosts.csv", "chip_production.csv")
}
CHIP = {
    "id": "acme-x1", "name": "Acme X1", "vendor": "NVIDIA", "segment": "workstation",
    "architecture": "Ada Lovelace", "launch": "2026-03", "isa": "8.9",
    "mem_gib": "64", "mem_confidence": "low", "mem_type": "GDDR6", "bus_bits": "384", "mem_gb_per_s": "1200",
    "ecc": "y", "unified": "n", "devices": "1",
    "fp32_tflops": "90", "fp16_tflops": "360", "fp16_acc32_tflops": "360", "bf16_tflops": "360",
    "fp8_tflops": "720", "int8_tops": "720", "sparsity": "y", "pcie_gen": "5", "pcie_lanes": "16",
    "form": "PCIe blower", "slots": "2", "tdp_w": "300", "sources": "data sheet of Acme, March 2026",
    "as_of": "2026-06", "confidence": "med",
}  # fmt: skip
PRICE = {
    "chip": "acme-x1", "kind": "shop", "currency": "USD", "typical": "1900", "as_of": "2026-10",
    "source": "shop.acme.example, October 2026", "confidence": "high",
}  # fmt: skip
MODEL = (
    '{"_model":"acme/acme-lm-1","_source":"model card of Acme","architectures":["LlamaForCausalLM"],'
    '"hidden_size":2048,"intermediate_size":8192,"model_type":"llama","num_attention_heads":32,'
    '"num_hidden_layers":16,"num_key_value_heads":8,"head_dim":64,"vocab_size":128256,'
    '"max_position_embeddings":8192}\n'
)
_MANUAL = (Path(__file__).parents[1] / "docs" / "plugins.md").read_text(encoding="utf-8")
TARGET, CHECKS = re.findall(r"```python\n(.*?)```", _MANUAL, re.DOTALL)
POINTS = {
    group.partition(".")[2]: points
    for group, points in tomllib.loads(re.search(r"```toml\n(.*?)```", _MANUAL, re.DOTALL)[1])["project"][
        "entry-points"
    ].items()
}
SHOWN = re.search(r"```csv\n(.*?)```", _MANUAL, re.DOTALL)[1]


def table(name, *rows):
    """A table of ours with these rows."""
    text = io.StringIO()
    made = csv.DictWriter(text, COLUMNS[name], lineterminator="\n", restval="")
    made.writeheader()
    made.writerows(rows)
    return text.getvalue()


def entries(**groups):
    """The text of entry_points.txt."""
    lines = []
    for group, points in groups.items():
        lines.append(f"[rigright.{group}]")
        lines += [f"{name} = {value}" for name, value in points.items()]
    return "\n".join(lines) + "\n"


WHOLE = {
    "acme_rig/__init__.py": '"""All that Acme adds."""\n',
    "acme_rig/target.py": TARGET,
    "acme_rig/checks.py": CHECKS,
    "acme_rig/data/chips.csv": table("chips.csv", CHIP),
    "acme_rig/data/prices.csv": table("prices.csv", PRICE),
    "acme_rig/data/models.jsonl": MODEL,
}


def install(folder, files, points, *, package="acme-rig", version="1.2"):
    """The files of a package in a folder of Python's path, with the metadata that pip leaves there."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    metadata = folder / f"{package.replace('-', '_')}-{version}.dist-info"
    metadata.mkdir(exist_ok=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    (metadata / "entry_points.txt").write_text(entries(**points))
    return folder
