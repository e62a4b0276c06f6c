"""Our records against the standard library's, which they stand in for."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rigright.base.record import dataclass, replace

NAMES = ["left", "right", "label", "rest"]


def two(**words):
    """The same class, made by ours and by the standard decorator."""

    def body():
        class Pair:
            """Two numbers."""

            left: int
            right: int = 2
            label: str = "x"
            rest: list[int] = dataclasses.field(default_factory=list, hash=False, compare=True)

            @property
            def total(self) -> int:
                return self.left + self.right

        return Pair

    settings = {"frozen": True, "slots": True, "kw_only": True} | words
    return dataclass(**settings)(body()), dataclasses.dataclass(**settings)(body())


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """At the top of a module, where pickle looks."""

    name: str
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class Version:
    """One that is placed and sorted."""

    major: int
    minor: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Alone:
    """One field: no tuple by itself."""

    only: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bare:
    """None at all."""


def outcome(make):
    """What came of it: the record's text, or the error word for word."""
    try:
        return repr(make())
    except (TypeError, AttributeError) as error:
        return type(error).__name__, str(error)


@given(st.dictionaries(st.sampled_from([*NAMES, "total", "other"]), st.integers(0, 3)), st.booleans())
def test_arguments_are_taken_and_refused_alike(named, kw_only):
    ours, theirs = two(kw_only=kw_only)
    assert outcome(lambda: ours(**named)) == outcome(lambda: theirs(**named))


@given(
    st.lists(st.integers(), max_size=5),
    st.dictionaries(st.sampled_from(NAMES), st.integers(), max_size=3),
    st.booleans(),
)
def test_places_and_names_mix_alike(placed, named, kw_only):
    ours, theirs = two(kw_only=kw_only)
    assert outcome(lambda: ours(*placed, **named)) == outcome(lambda: theirs(*placed, **named))


def test_fields_are_the_standard_ones():
    ours, theirs = two()
    assert repr(dataclasses.fields(ours)) == repr(dataclasses.fields(theirs))
    assert dataclasses.is_dataclass(ours)
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert (ours.__match_args__, ours.__slots__) == (theirs.__match_args__, theirs.__slots__)
    assert (ours.__doc__, ours.__qualname__) == (theirs.__doc__, theirs.__qualname__)
    assert ours.total.__get__(ours(left=1)) == 3


def test_replace_and_asdict_work():
    ours, theirs = two()
    one, other = ours(left=1, rest=[1]), theirs(left=1, rest=[1])
    assert repr(dataclasses.replace(one, right=5)) == repr(dataclasses.replace(other, right=5))
    assert dataclasses.asdict(one) == dataclasses.asdict(other)
    assert dataclasses.replace(Version(1, 2), minor=3) == Version(1, 3)


def test_our_replace_is_the_standard_one():
    ours, theirs = two()
    for one in (ours(left=1, rest=[1]), theirs(left=1, rest=[1])):
        assert replace(one, right=5, label="y") == dataclasses.replace(one, right=5, label="y")
        assert replace(one) == one
        with pytest.raises(TypeError):
            replace(one, other=1)
    first = Kept(name="a")
    assert hash(first) != hash(replace(first, name="b")) == hash(Kept(name="b"))


def test_records_are_frozen_and_closed():
    one = Kept(name="a")
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'name'"):
        one.name = "b"
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'name'"):
        del one.name
    assert not hasattr(one, "__dict__")


def test_equal_records_have_one_hash():
    assert Kept(name="a") == Kept(name="a", sizes=())
    assert hash(Kept(name="a")) == hash(Kept(name="a", sizes=()))
    assert Kept(name="a") != Kept(name="b")
    assert Alone(only=1) == Alone(only=1) != Alone(only=2)
    assert Alone(only=1) != Kept(name="a")
    assert len({Alone(only=1), Alone(only=1), Bare(), Bare()}) == 2


def test_order_is_that_of_the_fields():
    assert sorted([Version(2), Version(1, 5), Version(1)]) == [Version(1), Version(1, 5), Version(2)]
    assert Version(1) < Version(1, 1) <= Version(1, 1)
    with pytest.raises(TypeError):
        Kept(name="a") < Kept(name="b")  # noqa: B015


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])  # noqa: S301
def test_copies_are_equal(again):
    assert again(Kept(name="a", sizes=(1, 2))) == Kept(name="a", sizes=(1, 2))
    assert again(Alone(only=3)) == Alone(only=3)


def test_what_runs_after_init_runs():
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Checked:
        size: int

        def __post_init__(self):
            if self.size < 0:
                raise ValueError(self.size)

    assert Checked(size=1).size == 1
    with pytest.raises(ValueError, match="-1"):
        Checked(size=-1)
    with pytest.raises(ValueError, match="-2"):
        replace(Checked(size=1), size=-2)


def test_a_record_is_frozen_slotted_and_inherits_from_none():
    with pytest.raises(TypeError, match="inherits from none"):
        dataclass(frozen=True, slots=True)(type("Child", (Alone,), {}))
    with pytest.raises(TypeError, match="frozen"):
        dataclass(frozen=False, slots=True)(type("Thawed", (), {}))


def test_making_records_needs_no_dataclasses():
    code = (
        "import sys; from rigright.base.record import dataclass\n"
        "made = dataclass(frozen=True, slots=True)(type('A', (), {'__annotations__': {'b': 'int'}}))(1)\n"
        "print(made, made == made, 'dataclasses' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "A(b=1) True False"
