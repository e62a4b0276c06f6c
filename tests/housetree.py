"""The package as a tree of syntax: what the house test asks about it."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "rigright"


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One file of the package."""

    name: str  # "rigright.base.words"
    path: str  # "base/words.py"
    lines: int
    tree: ast.Module

    @property
    def room(self) -> str:
        """The first name under the package; "" for the package itself."""
        return ([*self.name.split("."), ""])[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """One function or method, wherever it stands."""

    where: str  # "base/words.py:say"
    node: ast.FunctionDef | ast.AsyncFunctionDef
    method: bool

    @property
    def lines(self) -> int:
        """From `def` to its last line."""
        return (self.node.end_lineno or self.node.lineno) - self.node.lineno + 1

    @property
    def positional(self) -> list[str]:
        """Parameters that may be given by place, self and cls apart."""
        found = [argument.arg for argument in (*self.node.args.posonlyargs, *self.node.args.args)]
        return found[1:] if self.method and found[:1] in (["self"], ["cls"]) else found

    @property
    def parameters(self) -> list[str]:
        """All parameters, self and cls apart."""
        return [*self.positional, *(argument.arg for argument in self.node.args.kwonlyargs)]


@cache
def modules() -> dict[str, Module]:
    """Every module of the package by its dotted name."""
    return {module.name: module for module in map(_module, sorted(PACKAGE.rglob("*.py")))}


def _module(path: Path) -> Module:
    source = path.read_text(encoding="utf-8")
    inside = path.relative_to(PACKAGE)
    parts = [part for part in inside.with_suffix("").parts if part != "__init__"]
    return Module(
        name=".".join(["rigright", *parts]),
        path=inside.as_posix(),
        lines=source.count("\n"),
        tree=ast.parse(source),
    )


def used_once() -> list[str]:
    """Private functions and methods that their module names exactly once, as "base/words.py:_say".

    Private: one leading underscore, at the top of a module or in a class there. A use: the bare name or
    `.name`, anywhere in the same module, the function's own body included; an import elsewhere is none.
    """
    found = []
    for module in modules().values():
        uses = Counter(
            node.id if isinstance(node, ast.Name) else node.attr
            for node in nodes(module)
            if isinstance(node, ast.Name | ast.Attribute)
        )
        bodies = [
            module.tree.body,
            *(node.body for node in module.tree.body if isinstance(node, ast.ClassDef)),
        ]
        found += [
            f"{module.path}:{node.name}"
            for body in bodies
            for node in body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and node.name.startswith("_")
            and not node.name.startswith("__")
            and uses[node.name] == 1
        ]
    return found


def classes() -> dict[str, list[str]]:
    """The modules that define a class, by the name of the class."""
    found: dict[str, list[str]] = {}
    for module in modules().values():
        for node in nodes(module):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(module.path)
    return found


def circles() -> set[frozenset[str]]:
    """Folders of one room that reach each other through imports; the room itself is one too."""
    graph: dict[str, set[str]] = {}
    for module in modules().values():
        here = module.path.rpartition("/")[0]
        for target in imports(module):
            there = modules()[target].path.rpartition("/")[0] if target in modules() else here
            if here != there and here.partition("/")[0] == there.partition("/")[0]:
                graph.setdefault(here, set()).add(there)
    reach = {start: _reached(graph, start) for start in graph}
    return {
        frozenset(mutual)
        for start in graph
        if len(mutual := {other for other in reach[start] if start in reach.get(other, ())}) > 1
    }


def _reached(graph: dict[str, set[str]], start: str) -> set[str]:
    found, left = set(), [start]
    while left:
        new = graph.get(left.pop(), set()) - found
        found |= new
        left += new
    return found


@cache
def nodes(module: Module) -> tuple[ast.AST, ...]:
    """Every node of a module, walked once."""
    return tuple(ast.walk(module.tree))


@cache
def functions() -> tuple[Function, ...]:
    """Every function of the package."""
    return tuple(found for module in modules().values() for found in _functions(module.tree, module.path, ""))


def _functions(node: ast.AST, path: str, prefix: str) -> Iterator[Function]:
    for child in ast.iter_child_nodes(node):
        name = getattr(child, "name", None)
        inner = f"{prefix}{name}." if isinstance(name, str) and hasattr(child, "body") else prefix
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            method = isinstance(node, ast.ClassDef)
            yield Function(where=f"{path}:{prefix}{child.name}", node=child, method=method)
        yield from _functions(child, path, inner)


@cache
def imports(module: Module) -> tuple[str, ...]:
    """Each module of the package that one imports, wherever the import stands and for whatever it is."""
    return tuple(_imports(module))


def _imports(module: Module) -> Iterator[str]:
    for node in nodes(module):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name.partition(".")[0] == "rigright")
        elif isinstance(node, ast.ImportFrom):
            yield from _from(module, node)


def _from(module: Module, node: ast.ImportFrom) -> Iterator[str]:
    base = node.module or ""
    if node.level:
        package = module.name if module.path.endswith("__init__.py") else module.name.rpartition(".")[0]
        stem = package.split(".")[: len(package.split(".")) - node.level + 1]
        base = ".".join([*stem, *([base] if base else [])])
    if base.partition(".")[0] != "rigright":
        return
    for one in node.names:
        if base == "rigright" and one.name == "__version__":
            continue  # the name tag of the whole house
        inner = f"{base}.{one.name}"
        yield inner if inner in modules() else base


def outside(module: Module, *, top_only: bool) -> Iterator[str]:
    """The first names of what is imported from elsewhere; at the top of the module, or anywhere."""
    for node in _top_statements(module.tree) if top_only else nodes(module):
        if isinstance(node, ast.Import):
            yield from (one.name.partition(".")[0] for one in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]


def _top_statements(node: ast.AST) -> Iterator[ast.AST]:
    """Statements that run when the module is imported."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield child
            yield from _top_statements(child)


def assigned(module: Module) -> set[str]:
    """Names a module bears at its top."""
    names = set()
    for node in module.tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.ImportFrom):
            names |= {one.asname or one.name for one in node.names}
    return names
