"""Any PyTorch module: `file.py:factory`, built on the meta device in a process of its own, on request."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from rigright.arch.read import check
from rigright.arch.record import Arch, Layer, Tower, Weight
from rigright.arch.sources.files import plain_file, read_json
from rigright.base.errors import AskError, DataError, RigError
from rigright.base.extras import absent
from rigright.base.units import GIB, MIB
from rigright.base.words import Sentence, say

CHILD = Path(__file__).with_name("trace_child.py")
LIMIT_S = 120
LIMIT_BYTES = 8 * GIB
MAX_RESULT_BYTES = 64 * MIB
MAX_INPUTS, MAX_DIM = 8, 10**7
_INPUT = re.compile(r"(?P<dims>\d{1,8}(?:x\d{1,8}){0,7})(?::(?P<kind>int|float))?\Z")
_ROLES = (
    (re.compile(r"Conv"), "conv"),
    (re.compile(r"Norm|GRN|LayerScale"), "norm"),
    (re.compile(r"Embedding"), "embed"),
    (re.compile(r"MultiheadAttention|Attention"), "attn.qkv"),
    (re.compile(r"Linear"), "ffn"),
)
_DTYPES = {"torch.float32": "fp32", "torch.float16": "fp16", "torch.bfloat16": "bf16"}


def trace(
    file: Path,
    factory: str,
    *,
    run_code: bool,
    input_shape: str | None = None,
    python: str = sys.executable,
    limit_s: float = LIMIT_S,
) -> Arch:
    """The Arch of the module that a factory makes; an input such as 1x3x224x224 adds activations."""
    with plain_file(file):
        pass
    if not run_code:
        raise AskError(
            say("{file} is code and runs only if you allow it: add --run-code", file=f"{file}:{factory}")
        )
    inputs = parse_inputs(input_shape)
    fields = _run(file, factory, inputs=inputs, python=python, limit_s=limit_s)
    batch = inputs[0]["shape"][0] if inputs else 1
    arch = read_trace(fields, name=f"{file.name}:{factory}", inputs=inputs, batch=batch)
    try:
        check(arch)
    except RigError as error:
        raise DataError(
            say("{file} returns no usable module: {why}", file=file.name, why=error.sentence)
        ) from None
    return arch


def parse_inputs(text: str | None) -> list[dict[str, Any]]:
    """Inputs such as "1x3x224x224" or "1x128:int", several with commas between."""
    if text is None:
        return []
    items = [item.strip() for item in text.lower().split(",")]
    matches = [_INPUT.match(item) for item in items]
    if len(items) > MAX_INPUTS or not all(matches):
        raise AskError(
            say('cannot read "{text}" as an input; for example 1x3x224x224 or 1x128:int', text=text[:80])
        )
    inputs: list[dict[str, Any]] = [
        {"shape": [int(size) for size in match["dims"].split("x")], "kind": match["kind"] or "float"}
        for match in matches
        if match is not None
    ]
    if any(not 1 <= size <= MAX_DIM for item in inputs for size in item["shape"]):
        raise AskError(say('the input "{text}" has an impossible size', text=text[:80]))
    return inputs


def _run(
    file: Path, factory: str, *, inputs: list[dict[str, Any]], python: str, limit_s: float
) -> Mapping[str, Any]:
    """Let a child do it; it may crash, hang or print what it likes."""
    with tempfile.TemporaryDirectory(prefix="rigright-") as folder:
        job, result = Path(folder) / "job.json", Path(folder) / "result.json"
        work = {
            "file": str(file.resolve()),
            "factory": factory,
            "inputs": inputs,
            "memory_bytes": LIMIT_BYTES,
        }
        job.write_text(json.dumps(work), encoding="utf-8")
        try:
            process = subprocess.Popen(  # noqa: S603 - the user asked for exactly this file to be run
                [python, "-P", str(CHILD), str(job), str(result)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            try:
                code = process.wait(limit_s)
            finally:  # all that it started ends with it
                with suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()
                process.wait()
        except subprocess.TimeoutExpired:
            raise _failed(file, say("it did not finish within {limit} s", limit=f"{limit_s:g}")) from None
        except OSError as error:
            raise _failed(file, say("it could not be started: {why}", why=error.strerror or error)) from None
        if code or not result.is_file():
            raise _failed(file, say("its process exited with code {code}", code=code))
        fields = read_json(result, limit=MAX_RESULT_BYTES)
        if fields.get("missing"):
            raise absent("torch", say("tracing a module needs torch, which is not installed"))
        if "error" in fields:
            raise _failed(
                file, say('"{factory}" fails: {why}', factory=factory, why=str(fields["error"])[:300])
            )
        if not isinstance(fields.get("modules"), list):
            raise _failed(file, say("its process returned no result"))
        return fields


def _failed(file: Path, why: Sentence) -> DataError:
    return DataError(say("{file} could not be traced: {why}", file=file.name, why=why))


def read_trace(fields: Mapping[str, Any], *, name: str, inputs: list[dict[str, Any]], batch: int) -> Arch:
    """What the child wrote down, as an Arch: one layer for each module that holds or writes anything."""
    try:
        layers = tuple(_layer(row, batch) for row in fields["modules"])
        dtypes = {weight[2] for row in fields["modules"] for weight in row["weights"]}
        tied, buffers = list(fields["tied"]), list(fields["buffers"].values())
    except (TypeError, ValueError, LookupError, AttributeError):
        raise DataError(say("{name} returned an unreadable result", name=name)) from None
    is_image = bool(inputs) and len(inputs[0]["shape"]) == 4
    # the inputs of the last matrix: the width a head would be put on
    matrices = [weight.shape for layer in layers for weight in layer.weights if len(weight.shape) == 2]
    tower = Tower(
        name="module",
        hidden=matrices[-1][1] if matrices else 1,
        layers=layers,
        sample_tok=1 if inputs else None,
    )
    elems = sum(_product(shape) for shape in buffers)
    return Arch(
        name=name,
        family="module",
        task="vision" if is_image or not inputs or inputs[0]["kind"] == "float" else "text",
        towers=(tower,),
        tied=bool(tied),
        dtype=_DTYPES.get(next(iter(sorted(dtypes)), ""), "fp32"),
        source=f"traced: {name}",
        warnings=(
            *(
                (say("{count} parameters have a second name (tied): counted once", count=len(tied)),)
                if tied
                else ()
            ),
            *((say("{count} elements are buffers, not parameters", count=f"{elems:,}"),) if elems else ()),
        ),
    )


def _product(shape: Any) -> int:
    total = 1
    for size in shape:
        total *= int(size)
    return total


def _layer(row: Mapping[str, Any], batch: int) -> Layer:
    written, kept = int(row["written"]) // batch, int(row["kept"]) // batch
    role = next((role for pattern, role in _ROLES if pattern.search(row["kind"])), "other")
    return Layer(
        weights=tuple(_weight(role, key, shape=shape, written=written) for key, shape, _ in row["weights"]),
        map_elems=(written,) if written else (),
        kept_elems=kept,
    )


def _weight(role: str, key: str, *, shape: list[int], written: int) -> Weight:
    dims = tuple(int(size) for size in shape)
    if "bias" in key.lower():
        return Weight(role=f"{role}.bias", shape=dims)
    is_applied = len(dims) > 1 and role not in {"embed", "norm"}
    return Weight(role=role, shape=dims, sites=max(written // dims[0], 1) if is_applied and dims[0] else 1)
