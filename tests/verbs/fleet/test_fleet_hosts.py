"""Many nodes in few words and back, and files that name them."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import spoken
from rigright.base.errors import AskError, DataError, MissingError, RigError
from rigright.verbs.fleet.hosts import MOST_NODES, expand, file_of, folded, hosts_of, read_hosts


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("n1", ["n1"]),
        ("n1, n2 ,n1", ["n1", "n2"]),
        ("node[08-11]", ["node08", "node09", "node10", "node11"]),
        ("node[1,3-4,007]", ["node1", "node3", "node4", "node007"]),
        ("r[1-2]n[01-02],gpu9", ["r1n01", "r1n02", "r2n01", "r2n02", "gpu9"]),
        ("r[1-2]n[01-02].x.org", ["r1n01.x.org", "r1n02.x.org", "r2n01.x.org", "r2n02.x.org"]),
        ("root@10.0.0.[7-8]", ["root@10.0.0.7", "root@10.0.0.8"]),
        ("fe80::1%eth0", ["fe80::1%eth0"]),
    ],
)
def test_ranges_are_written_out(words, names):
    assert list(expand(words)) == names


@pytest.mark.parametrize(
    "words",
    [
        "-oProxyCommand=sh", "n1,-v", "n[1-", "n]1[", "n[[1]]", "n[2-1]", "n[a-b]", "n[]", "a b", "n$(id)",
        "n;id", "ñ", "n[0-999999999]", "n[1-2", "[]", "n`id`", "n|id", "n>x", "'n'", '"n"', "\x1b[31m",
    ],
)  # fmt: skip
def test_what_is_no_host_is_refused(words):
    with pytest.raises(AskError) as refused:
        expand(words)
    assert len(str(refused.value)) < 300


@given(st.text(max_size=40))
@example("n[1-1]]")
@example("[1-3]")
@example("a[1-200]b[1-200]")
def test_any_text_is_names_that_a_shell_leaves_alone_or_a_clear_no(text):
    try:
        found = expand(text)
    except RigError as error:
        assert len(str(error)) < 400  # noqa: PT017 - both outcomes are right
        return
    assert len(set(found)) == len(found)
    for name in found:
        assert name[0] not in "-."
        assert not set(name) & set(" \t\n;|&$`'\"\\<>()*?#~")


def test_no_more_hosts_than_anybody_has():
    for words in ("a[1-9999],b[1-9999],c[1-9999]", "r[1-5000]n[1-5000]"):
        with pytest.raises(AskError) as refused:
            expand(words)
        assert str(MOST_NODES) in spoken.shown(refused.value.sentence)


NAMES = st.lists(
    st.builds(
        lambda start, number, zeros: f"{start}{number:0{zeros}}",
        st.sampled_from(["n", "gpu-a", "rack1-", "x9y"]),
        st.integers(0, 1200),
        st.integers(1, 4),
    ),
    min_size=1,
    max_size=40,
)


@given(NAMES)
def test_folded_names_mean_the_same_nodes_and_are_no_longer(names):
    assert set(expand(folded(names))) == set(names)
    assert len(folded(names)) <= len(",".join(sorted(set(names)))) + 2


@given(st.text(min_size=1, max_size=300))
def test_a_node_is_kept_in_a_file_below_the_folder(node):
    name = file_of(node)
    assert not set(name) & {"/", "\x00"}
    assert len(name) <= 205
    assert name.endswith(".json")


def test_a_file_as_mpi_has_them(tmp_path):
    file = tmp_path / "hosts"
    file.write_text("# rack 1\nn[1-2] slots=8\n\nroot@n3   # the odd one\nn1\n", encoding="utf-8")
    assert hosts_of(str(file)) == ("n1", "n2", "root@n3")


def test_a_wrong_line_of_a_file_is_named(tmp_path):
    file = tmp_path / "hosts"
    file.write_text("n1\nn2\n-oProxyCommand=x\n", encoding="utf-8")
    with pytest.raises(AskError) as refused:
        read_hosts(file)
    assert {str(file), "3"} <= set(spoken.shown(refused.value.sentence))


def test_a_file_that_names_nobody(tmp_path):
    file = tmp_path / "hosts"
    for text in ("", "# nobody\n\n"):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(DataError) as refused:
            hosts_of(str(file))
        assert str(file) in spoken.shown(refused.value.sentence)


def test_a_file_without_end_is_not_read(tmp_path):
    file = tmp_path / "hosts"
    file.write_bytes(b"n1\n" * 2_000_000)
    with pytest.raises(RigError):
        read_hosts(file)


@pytest.mark.parametrize("words", ["hosts.txt", "no/such/file", " ", "./x"])
def test_a_file_that_is_not_there(words):
    with pytest.raises(MissingError if words.strip() else AskError):
        hosts_of(words)


@given(st.binary(max_size=300))
def test_any_file_of_hosts(tmp_path_factory, content):
    file = tmp_path_factory.mktemp("hosts") / "hosts"
    file.write_bytes(content)
    try:
        found = read_hosts(file)
    except RigError as error:
        assert str(file) in str(error) or str(MOST_NODES) in str(error)  # noqa: PT017 - both outcomes are right
        return
    assert found
    assert not any(name.startswith("-") or set(name) & set(" \n;|$`'\"") for name in found)
