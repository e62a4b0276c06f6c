"""Runs by itself, in a process of its own: builds a module on the meta device and writes down what it is.

Called as: trace_child.py JOB.json RESULT.json. Imports nothing of rigright: the code it runs is the user's.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

MAX_MODULES = 200_000
MAX_MESSAGE = 300


class _Trace:
    """What hooks write down while a sample runs through."""

    def __init__(self) -> None:
        self.stack: list[str] = []
        self.written: dict[str, int] = {}
        self.kept: dict[str, int] = {}
        self.seen: dict[int, Any] = {}

    def enter(self, name: str) -> Callable[..., None]:
        return lambda *_: self.stack.append(name)

    def leave(self, name: str) -> Callable[..., None]:
        def hook(*call: Any) -> None:
            self.stack.pop()
            written = sum(tensor.numel() for tensor in _tensors(call[-1]))
            self.written[name] = self.written.get(name, 0) + written

        return hook

    def pack(self, tensor: Any) -> Any:
        """Autograd keeps a tensor for the backward pass: count its storage once."""
        storage = tensor.untyped_storage()
        if storage._cdata not in self.seen:  # noqa: SLF001 - the one name a storage has
            self.seen[storage._cdata] = storage  # noqa: SLF001
            name = self.stack[-1] if self.stack else ""
            self.kept[name] = self.kept.get(name, 0) + storage.nbytes() // max(tensor.element_size(), 1)
        return tensor


def _tensors(value: Any) -> list[Any]:
    if hasattr(value, "numel"):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [tensor for item in value for tensor in _tensors(item)] if isinstance(value, list | tuple) else []


def limit(memory_bytes: int) -> None:
    """Bound the memory of this process, where the system can."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))


def load(path: Path, factory: str) -> Any:
    """What the file bears under that name."""
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location("traced_module", path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["traced_module"] = module
    spec.loader.exec_module(module)
    value: Any = module
    for name in factory.split("."):
        value = getattr(value, name)
    return value


def build(torch: Any, value: Any) -> Any:
    """The module, on the meta device: no weight is allocated."""
    if isinstance(value, torch.nn.Module):
        return value.to("meta")
    with torch.device("meta"):
        module = value()
    if not isinstance(module, torch.nn.Module):
        raise TypeError(f"it gives a {type(module).__name__}, no torch.nn.Module")
    return module.to("meta")


def describe(torch: Any, module: Any, *, inputs: list[dict[str, Any]]) -> dict[str, Any]:
    """Leaves with their own parameters, what each wrote, what autograd kept."""
    named = dict(module.named_modules())
    if len(named) > MAX_MODULES:
        raise ValueError(f"it has {len(named)} modules")
    trace = _Trace()
    if inputs:
        run(torch, module, inputs=inputs, trace=trace)
    seen: set[int] = set()
    rows = [_row(name, part, seen=seen, trace=trace) for name, part in named.items()]
    names = [name for name, _ in module.named_parameters(remove_duplicate=False)]
    own = {name for name, _ in module.named_parameters()}
    return {
        "modules": [row for row in rows if row is not None],
        "buffers": {name: list(buffer.shape) for name, buffer in module.named_buffers()},
        "tied": [name for name in names if name not in own],
    }


def run(torch: Any, module: Any, *, inputs: list[dict[str, Any]], trace: _Trace) -> None:
    """One forward pass on the meta device: shapes only."""
    for parameter in module.parameters():
        storage = parameter.untyped_storage()
        trace.seen[storage._cdata] = storage  # noqa: SLF001
    for name, part in module.named_modules():
        part.register_forward_pre_hook(trace.enter(name))
        part.register_forward_hook(trace.leave(name))
    kinds = {"float": torch.float32, "int": torch.int64}
    samples = [torch.empty(item["shape"], dtype=kinds[item["kind"]], device="meta") for item in inputs]
    with torch.autograd.graph.saved_tensors_hooks(trace.pack, lambda tensor: tensor):
        trace.seen[0] = module(*samples)


def _row(name: str, part: Any, *, seen: set[int], trace: _Trace) -> dict[str, Any] | None:
    weights = []
    for key, parameter in part.named_parameters(recurse=False):
        if id(parameter) not in seen:
            seen.add(id(parameter))
            weights.append([key, list(parameter.shape), str(parameter.dtype)])
    is_leaf = not any(True for _ in part.children())
    if not weights and not (is_leaf and trace.written.get(name)) and not trace.kept.get(name):
        return None
    return {
        "name": name,
        "kind": type(part).__name__,
        "weights": weights,
        "written": trace.written.get(name, 0) if is_leaf else 0,
        "kept": trace.kept.get(name, 0),
    }


def main(job_path: str, result_path: str) -> int:
    """Do one job; the result says what went wrong where something did."""
    job = json.loads(Path(job_path).read_text(encoding="utf-8"))
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError:
        result: dict[str, Any] = {"missing": "torch"}
    else:
        limit(job["memory_bytes"])
        try:
            module = build(torch, load(Path(job["file"]), job["factory"]))
            result = describe(torch, module, inputs=job["inputs"])
        except BaseException as error:  # noqa: BLE001 - whatever the user's code raises is stated, not thrown
            result = {"error": f"{type(error).__name__}: {error}"[:MAX_MESSAGE]}
    Path(result_path).write_text(json.dumps(result), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
