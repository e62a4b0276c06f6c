"""`@dataclass` of frozen, slotted records that cost next to nothing at start.

The standard one writes and compiles some six functions a class, and hundreds of classes pay for them at every
start. Here a class gets functions that look its fields up. The standard one still gives what is rare:
`fields`, signatures, and complaints about wrong arguments.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, NoReturn, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from builtins import property as derived
    from dataclasses import dataclass, replace

__all__ = [
    "Flat",
    "Inner",
    "Pairs",
    "Sparse",
    "columned",
    "dataclass",
    "defaults",
    "derived",
    "kept",
    "replace",
]

R = TypeVar("R")
P = ParamSpec("P")
T = TypeVar("T")
K = TypeVar("K")

Inner = Annotated[T, "inner"]  # for the program alone: no answer prints it
Flat = Annotated[T, "flat"]  # its own keys stand among those of the record that holds it
Sparse = Annotated[T, "sparse"]  # left out of an answer where it is None
Pairs = tuple[tuple[K, T], ...]  # printed as an object

_put = object.__setattr__
_answers = operator.attrgetter("_answers")


class _Kept:
    """Places for what was worked out about a record: its hash, which goes through all it holds, and laws."""

    __slots__ = ("_answers", "_hash")


class _Asked:
    """An attribute of a class that is made when somebody first asks for it."""

    def __init__(self, ask: Callable[[], object]) -> None:
        self._ask = ask

    def __set_name__(self, _: type, name: str) -> None:
        self._name = name

    def __get__(self, _: object, owner: type) -> object:
        value = self._ask()
        setattr(owner, self._name, value)
        return value


def kept(law: Callable[Concatenate[R, P], T]) -> Callable[Concatenate[R, P], T]:
    """A law about a record that is asked often: its answers stay with the record, and go with it."""

    @wraps(law)
    def asked(record: R, *more: P.args, **named: P.kwargs) -> T:
        try:
            answers: dict[object, T] = _answers(record)
        except AttributeError:
            _put(record, "_answers", answers := {})
        key = (law, more, *named.items())
        if key not in answers:
            answers[key] = law(record, *more, **named)
        return answers[key]

    return cast("Callable[Concatenate[R, P], T]", asked)


def _replace(record: T, /, **changes: Any) -> T:
    """The same with other values in some fields, as `dataclasses` has it, at a third of the price."""
    copy = getattr(record, "__replace__", None)
    if copy is None:
        import dataclasses

        return cast("T", dataclasses.replace(cast("Any", record), **changes))
    return cast("T", copy(**changes))


def columned(kind: type[T], columns: Mapping[str, Iterable[object]], *, count: int) -> tuple[T, ...]:
    """So many records at once, from the values of each of their fields."""
    made = tuple(object.__new__(kind) for _ in range(count))
    for name, values in columns.items():
        deque(map(getattr(kind, name).__set__, made, values), maxlen=0)
    return made


def defaults(kind: type) -> Mapping[str, object]:
    """The values of fields of a record that are not given; made anew each time where each has its own."""
    values, makers = _defaults(vars(kind)["_given"])
    return values | {name: make() for name, make in makers.items()}


def _record(
    *, frozen: bool, slots: bool, kw_only: bool = False, order: bool = False
) -> Callable[[type], type]:
    """Make a class a record: no base of it is one, and each annotation is a field."""

    def lay(plain: type) -> type:
        if not (frozen and slots) or hasattr(plain, "__dataclass_fields__"):
            raise TypeError(f"{plain.__name__}: a record is frozen, has slots and inherits from none")
        space = {
            name: value for name, value in vars(plain).items() if name not in {"__dict__", "__weakref__"}
        }
        names = tuple(space.get("__annotations__", ()))
        given = {name: space.pop(name) for name in names if name in space}
        ready = space.get("__post_init__")

        def standard(*, init: bool) -> Any:
            import dataclasses

            kept = ("__module__", "__annotations__", "__post_init__")
            body = {
                "__doc__": plain.__name__,
                **given,
                **{name: space[name] for name in kept if name in space},
            }
            bare = type(plain.__name__, (), body | {"__qualname__": plain.__qualname__})
            return dataclasses.dataclass(init=init, repr=False, eq=False, frozen=init, kw_only=kw_only)(bare)

        def signature() -> object:
            import inspect

            return inspect.signature(standard(init=True))

        def complain(*placed: object, **named: object) -> None:
            standard(init=True).__init__(*placed, **named)

        own = {
            "__qualname__": plain.__qualname__,
            "__slots__": names,
            "__match_args__": () if kw_only else names,
            "_given": given,
            "__dataclass_fields__": _Asked(lambda: standard(init=False).__dataclass_fields__),
            "__signature__": _Asked(signature),
            "__init__": _init(() if kw_only else names, names, given=given, refuse=complain, ready=ready),
        }
        methods = _methods(names, order=order, ready=ready)
        bases = tuple(base for base in plain.__bases__ if base is not object)
        return type(plain.__name__, (*bases, _Kept), own | methods | space)

    return lay


def _init(
    placeable: tuple[str, ...],
    names: tuple[str, ...],
    *,
    given: Mapping[str, object],
    refuse: Callable[..., None],
    ready: Callable[[object], None] | None,
) -> Callable[..., None]:
    """An `__init__` for any fields, as fast as a compiled one; `refuse` complains about wrong arguments."""
    defaults, factories = _defaults(given)
    count = len(names)
    places: list[tuple[str, Callable[[object, object], None]]] = []

    def __init__(self: object, *placed: object, **named: object) -> None:  # noqa: N807 - it becomes one
        full = dict(zip(placeable, placed, strict=False)) | named if placed else named
        known = not placed or len(full) == len(placed) + len(named)
        if len(full) < count:
            full = defaults | full
            for name, make in factories.items():
                if name not in full:
                    full[name] = make()
        if not known or len(full) != count:
            refuse(self, *placed, **named)
        if not places:
            places[:] = [(name, getattr(self.__class__, name).__set__) for name in names]
        try:
            for name, put in places:
                put(self, full[name])
        except KeyError:  # another is given that is no field
            refuse(self, *placed, **named)
        if ready is not None:
            ready(self)

    return __init__


def _defaults(given: Mapping[str, Any]) -> tuple[dict[str, object], dict[str, Callable[[], object]]]:
    """What stands for a field that is not given: a value, or what makes one."""
    plain = {name: value for name, value in given.items() if type(value).__name__ != "Field"}
    fields = {name: value for name, value in given.items() if name not in plain and value.init}
    if not fields:
        return plain, {}
    from dataclasses import MISSING  # loaded already: they are of it

    valued = {name: value.default for name, value in fields.items() if value.default is not MISSING}
    made = {
        name: value.default_factory for name, value in fields.items() if value.default_factory is not MISSING
    }
    return plain | valued, made


def _methods(
    names: tuple[str, ...], *, order: bool, ready: Callable[[object], None] | None
) -> dict[str, object]:
    """What a record does by the values of its fields."""
    values: Callable[[object], Any] = (
        operator.attrgetter(*names)
        if len(names) > 1
        else lambda record: tuple(getattr(record, name) for name in names)
    )

    def hashed(self: Any) -> int:
        try:
            return self._hash  # type: ignore[no-any-return]
        except AttributeError:
            _put(self, "_hash", number := hash(values(self)))
            return number

    def compare(by: Callable[[Any, Any], bool]) -> Callable[[object, object], object]:
        def compared(self: object, other: object) -> object:
            if other.__class__ is not self.__class__:
                return NotImplemented
            return (by is operator.eq and other is self) or by(values(self), values(other))

        return compared

    def shown(self: object) -> str:
        inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({inside})"

    def restore(self: object, state: list[object]) -> None:
        for name, value in zip(names, state, strict=True):
            _put(self, name, value)

    orders = (operator.lt, operator.le, operator.gt, operator.ge) if order else ()
    return {
        **{f"__{by.__name__}__": compare(by) for by in (operator.eq, *orders)},
        "__hash__": hashed,
        "__repr__": shown,
        "__replace__": _replacing(names, values, ready=ready),
        "__getstate__": lambda self: [getattr(self, name) for name in names],
        "__setstate__": restore,
        "__setattr__": _refuse_to_set,
        "__delattr__": _refuse_to_delete,
    }


def _replacing(
    names: tuple[str, ...],
    values: Callable[[object], Any],
    *,
    ready: Callable[[object], None] | None,
) -> Callable[..., object]:
    places: list[Callable[[object, object], None]] = []

    def replaced(self: object, **changes: object) -> object:
        if not places:
            places[:] = [getattr(self.__class__, name).__set__ for name in names]
        made = object.__new__(self.__class__)
        for put, value in zip(places, values(self), strict=True):
            put(made, value)
        for name, value in changes.items():
            if name not in names:
                raise TypeError(f"{self.__class__.__name__}: no field {name!r}")
            _put(made, name, value)
        if ready is not None:
            ready(made)
        return made

    return replaced


def _refuse_to_set(_: object, name: str, *_held: object) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_: object, name: str) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"cannot delete field {name!r}")


class _Derived(property):
    """A property that an answer prints beside the fields."""


if not TYPE_CHECKING:
    dataclass = _record
    derived = _Derived
    replace = _replace
