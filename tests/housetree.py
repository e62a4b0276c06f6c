"""The package as the house test asks about it: a file is parsed and walked once, and its tree is let go."""

from __future__ import annotations

import ast
import gc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "rigright"
ASKS_FOR_KIND = {"isinstance", "vectorize", "hasattr", "isscalar"}
Import = ast.Import | ast.ImportFrom
Def = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """One function or method, wherever it stands."""

    where: str  # "base/words.py:say"
    name: str
    lines: int  # from `def` to its last line
    positional: tuple[str, ...]  # parameters that may be given by place, self and cls apart
    parameters: tuple[str, ...]  # all of them, self and cls apart


@dataclass(slots=True, kw_only=True)
class Found:
    """What stands in a file."""

    imports: list[Import] = field(default_factory=list)
    imports_at_top: list[Import] = field(default_factory=list)  # those that run when it is imported
    functions: list[Function] = field(default_factory=list)
    classes: list[tuple[str, list[ast.expr]]] = field(default_factory=list)  # with their decorators
    names_at_top: set[str] = field(default_factory=set)
    functions_at_top: set[str] = field(default_factory=set)
    helpers: list[str] = field(default_factory=list)  # private functions at its top and in a class there
    uses: Counter[str] = field(default_factory=Counter)  # of private names
    calls: list[tuple[int, str]] = field(default_factory=list)  # line, and what is called: "json.loads"
    kinds: list[ast.Call] = field(default_factory=list)  # calls that ask what something is
    numbers: list[ast.Constant | ast.BinOp] = field(default_factory=list)  # and sums with one
    texts: list[tuple[int, str]] = field(default_factory=list)  # with their lines


@dataclass(frozen=True, kw_only=True)
class Module:
    """One file of the package."""

    name: str  # "rigright.base.words"
    path: str  # "base/words.py"
    source: str

    @property
    def room(self) -> str:
        """The first name under the package; "" for the package itself."""
        return ([*self.name.split("."), ""])[1]

    @property
    def lines(self) -> int:
        return self.source.count("\n")

    @property
    def tree(self) -> ast.Module:
        """Its syntax, parsed anew: whoever needs no more of it lets it go."""
        with nothing_collected():
            return ast.parse(self.source)

    @cached_property
    def found(self) -> Found:
        with nothing_collected():
            return _found(ast.parse(self.source), self.path)


@contextmanager
def nothing_collected() -> Iterator[None]:
    """The collector would go through all nodes again and again, and finds nothing."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@cache
def modules() -> dict[str, Module]:
    """Every module of the package by its dotted name."""
    return {module.name: module for module in map(_module, sorted(PACKAGE.rglob("*.py")))}


def _module(path: Path) -> Module:
    inside = path.relative_to(PACKAGE)
    parts = [part for part in inside.with_suffix("").parts if part != "__init__"]
    name = ".".join(["rigright", *parts])
    return Module(name=name, path=inside.as_posix(), source=path.read_text(encoding="utf-8"))


def _found(tree: ast.Module, path: str) -> Found:
    bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
    methods = (node.name for body in bodies for node in body if isinstance(node, Def))
    found = Found(
        names_at_top=_names(tree),
        functions_at_top={node.name for node in tree.body if isinstance(node, ast.FunctionDef)},
        helpers=[name for name in methods if name.startswith("_") and not name.startswith("__")],
    )
    _statements(tree, found, place=f"{path}:", at_top=True)
    _expressions(tree, found)
    return found


def _statements(node: ast.AST, found: Found, *, place: str, at_top: bool) -> None:
    """Imports, functions and classes: they stand in statements alone."""
    for part in ("body", "orelse", "handlers", "finalbody", "cases"):
        for child in getattr(node, part, ()):
            is_function = isinstance(child, Def)
            if isinstance(child, Import):
                found.imports.append(child)
                found.imports_at_top += [child] if at_top else []
            elif is_function:
                found.functions.append(_function(child, place, is_method=isinstance(node, ast.ClassDef)))
            elif isinstance(child, ast.ClassDef):
                found.classes.append((child.name, child.decorator_list))
            if hasattr(child, "body"):
                name = getattr(child, "name", None)
                inner = f"{place}{name}." if isinstance(name, str) else place
                _statements(child, found, place=inner, at_top=at_top and not is_function)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, place: str, *, is_method: bool) -> Function:
    positional = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
    if is_method and positional[:1] in (["self"], ["cls"]):
        del positional[0]
    return Function(
        where=f"{place}{node.name}",
        name=node.name,
        lines=(node.end_lineno or node.lineno) - node.lineno + 1,
        positional=tuple(positional),
        parameters=(*positional, *(one.arg for one in node.args.kwonlyargs)),
    )


def _expressions(tree: ast.Module, found: Found) -> None:
    """Names, calls, numbers and texts, wherever they stand."""
    left: list[object] = [tree]
    while left:
        node = left.pop()
        if type(node) is list:
            left += node
        elif isinstance(node, ast.AST):
            if note := NOTES.get(type(node)):
                note(found, node)
            left += vars(node).values()


def _name(found: Found, node: ast.Name) -> None:
    if node.id[0] == "_":
        found.uses[node.id] += 1


def _attribute(found: Found, node: ast.Attribute) -> None:
    if node.attr[0] == "_":
        found.uses[node.attr] += 1


def _constant(found: Found, node: ast.Constant) -> None:
    if isinstance(node.value, str):
        found.texts.append((node.lineno, node.value))
    elif isinstance(node.value, int | float):
        found.numbers.append(node)


def _sum(found: Found, node: ast.BinOp) -> None:
    if ast.Constant in {type(node.left), type(node.right)}:
        found.numbers.append(node)


def _call(found: Found, node: ast.Call) -> None:
    called = dotted(node.func)
    found.calls.append((node.lineno, called))
    if called.rpartition(".")[2] in ASKS_FOR_KIND:
        found.kinds.append(node)


NOTES: dict[type, Callable[[Found, Any], None]] = {
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Constant: _constant,
    ast.BinOp: _sum,
    ast.Call: _call,
}


def dotted(node: ast.AST) -> str:
    """A name with its attributes, as in "json.loads"; of what is no name, the attributes alone."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _names(tree: ast.Module) -> set[str]:
    """Names that a module bears at its top."""
    names = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.ImportFrom):
            names |= {one.asname or one.name for one in node.names}
    return names


def used_once() -> list[str]:
    """Private functions and methods that their module names exactly once, as "base/words.py:_say".

    Private: one leading underscore, at the top of a module or in a class there. A use: the bare name or
    `.name`, anywhere in the same module, the function's own body included; an import elsewhere is none.
    """
    return [
        f"{module.path}:{name}"
        for module in modules().values()
        for name in module.found.helpers
        if module.found.uses[name] == 1
    ]


def classes() -> dict[str, list[str]]:
    """The modules that define a class, by the name of the class."""
    found: dict[str, list[str]] = {}
    for module in modules().values():
        for name, _ in module.found.classes:
            found.setdefault(name, []).append(module.path)
    return found


def circles() -> set[frozenset[str]]:
    """Folders of one room that reach each other through imports; the room itself is one too."""
    graph: dict[str, set[str]] = {}
    for module in modules().values():
        here = module.path.rpartition("/")[0]
        for target in imports(module.name):
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
def functions() -> tuple[Function, ...]:
    """Every function of the package."""
    return tuple(found for module in modules().values() for found in module.found.functions)


@cache
def imports(name: str) -> tuple[str, ...]:
    """Each module of the package that one imports, wherever the import stands and for whatever it is."""
    return tuple(_imports(modules()[name]))


def _imports(module: Module) -> Iterator[str]:
    for node in module.found.imports:
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name.partition(".")[0] == "rigright")
        else:
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
    for node in module.found.imports_at_top if top_only else module.found.imports:
        if isinstance(node, ast.Import):
            yield from (one.name.partition(".")[0] for one in node.names)
        elif not node.level:
            yield (node.module or "").partition(".")[0]
