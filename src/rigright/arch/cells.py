"""Cells of the table of families: Python expressions over the keys of a config.

A name is one of the reader's own quantities (`heads`, `i`) or a key of the config, null where it is absent;
`a | b` is the first that is not null, `part.key` a key of a nested config, `list[i]` a layer's entry of a
list (a number instead of a list is that of all layers). Of calls there are `has` (there, and neither empty
nor zero), `count` (entries of a list, letters of a word), `matches` (a text in lower case, and a pattern),
`up` and `near` (the next and the nearest multiple of a step), `int`, `max` and `min`. No more is read.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from rigright.arch.config import Config
from rigright.arch.decoder import LAYERS
from rigright.arch.plan import listed
from rigright.base.record import dataclass

Cell = str | int

_OPERATORS: Mapping[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def up(number: float, step: int) -> int:
    """The next multiple of a step."""
    return -(-int(number) // step) * step


def near(number: float, step: int, *, least: int = 0) -> int:
    """The nearest multiple of a step, never a tenth below."""
    nearest = max(least or step, int(number + step / 2) // step * step)
    return nearest + step if nearest < 0.9 * number else nearest


_CALLS: Mapping[str, Callable[..., Any]] = {"int": int, "max": max, "min": min, "up": up, "near": near}
_WORDS = frozenset({*_CALLS, "has", "count", "matches"})


@cache
def _tree(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


@cache
def names(cell: Cell) -> frozenset[str]:
    """The names a cell looks up."""
    nodes = ast.walk(_tree(cell)) if isinstance(cell, str) else ()
    return frozenset(node.id for node in nodes if isinstance(node, ast.Name))


@dataclass(frozen=True, slots=True)
class Scope:
    """What cells are worked out over: a config and the reader's own quantities, some as functions."""

    config: Config
    own: Mapping[str, Any]

    def over(self, **more: Any) -> Scope:
        """The same with more quantities."""
        return Scope(self.config, {**self.own, **more})

    def value(self, cell: Cell) -> Any:
        """What a cell says, unchecked."""
        return self._value(_tree(cell)) if isinstance(cell, str) else cell

    def flag(self, cell: Cell) -> bool:
        """A yes or no; no where it is null."""
        return self._flag(_tree(cell)) if isinstance(cell, str) else bool(cell)

    def whole(self, cell: Cell) -> int:
        """A count."""
        if not isinstance(cell, str):
            return cell
        config, key = self._alone(_tree(cell))
        return config.whole(key)

    def size(self, cell: Cell) -> int:
        """A count above zero; what the table itself says may be zero."""
        if not isinstance(cell, str):
            return cell
        config, key = self._alone(_tree(cell))
        return config.size(key)

    def _flag(self, node: ast.expr) -> bool:
        if isinstance(node, ast.BoolOp):
            some = all if isinstance(node.op, ast.And) else any
            return some(map(self._flag, node.values))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return not self._flag(node.operand)
        config, key = self._alone(node)
        return config.flag(key, default=False)

    def _number(self, node: ast.expr) -> float:
        config, key = self._alone(node)
        return config.number(key)

    def _alone(self, node: ast.expr) -> tuple[Config, str]:
        """An expression's value as the only key of a config, under the name of the first key it looks up."""
        key = next((key for key in _keys(node) if key not in self.own), None) or _written(node)
        return Config({key: self._value(node)}, self.config.where), key

    def _value(self, node: ast.expr) -> Any:
        read = getattr(self, f"_{type(node).__name__.lower()}", None)
        if read is None:
            message = f"a cell of the table of families cannot hold {ast.unparse(node)}"
            raise ValueError(message)
        return read(node)

    def _name(self, node: ast.Name) -> Any:
        if node.id not in self.own:
            return self.config.raw.get(node.id)
        own = self.own[node.id]
        return own() if callable(own) else own

    def _attribute(self, node: ast.Attribute) -> Any:
        return self.config.part(_written(node.value)).raw.get(node.attr)

    def _subscript(self, node: ast.Subscript) -> Any:
        """One layer's entry of a list, null where the list is empty; what is no list speaks of all layers."""
        value, key = self._value(node.value), _key(node.value)
        if not isinstance(value, list | tuple):
            return value
        index = int(self._number(node.slice))
        if value and index >= len(value):
            listed(
                Config({key: value}, self.config.where), key, layers=self.config.layers(*LAYERS)
            )  # says so
        return value[index] if value else None

    def _ifexp(self, node: ast.IfExp) -> Any:
        return self._value(node.body if self._flag(node.test) else node.orelse)

    def _binop(self, node: ast.BinOp) -> Any:
        if isinstance(node.op, ast.BitOr):
            first = self._value(node.left)
            return self._value(node.right) if first is None else first
        return _OPERATORS[type(node.op)](self._number(node.left), self._number(node.right))

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        return self._flag(node) if isinstance(node.op, ast.Not) else -self._number(node.operand)

    def _compare(self, node: ast.Compare) -> bool:
        kind, left, right = node.ops[0], node.left, node.comparators[0]
        if isinstance(kind, ast.Eq | ast.NotEq):
            return bool(self._value(left) == self._value(right)) == isinstance(kind, ast.Eq)
        if isinstance(kind, ast.In | ast.NotIn):
            config, key = self._alone(right)
            return (self._value(left) in config.items(key, default=())) == isinstance(kind, ast.In)
        return bool(_OPERATORS[type(kind)](self._number(left), self._number(right)))

    def _call(self, node: ast.Call) -> Any:
        name = _written(node.func)
        if name == "has":
            return bool(self._value(node.args[0]))
        if name == "matches":
            text, pattern = map(self._value, node.args)
            return re.search(pattern, str(text or "").lower()) is not None
        if name == "count":
            counted = self._value(node.args[0])
            return len(counted) or None if isinstance(counted, str | list) else None
        return _CALLS[name](*map(self._number, node.args))

    def _list(self, node: ast.List) -> list[Any]:
        return [self._value(each) for each in node.elts]

    def _boolop(self, node: ast.BoolOp) -> bool:
        return self._flag(node)

    def _constant(self, node: ast.Constant) -> Any:
        return node.value


@cache
def _written(node: ast.expr) -> str:
    return ast.unparse(node)


@cache
def _keys(node: ast.expr) -> tuple[str, ...]:
    """The keys of a config that an expression looks up, in their order."""
    return tuple(filter(None, map(_key, ast.walk(node))))


def _key(node: ast.AST) -> str:
    """The key of a config that a name or an attribute looks up."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) and node.id not in _WORDS else ""
