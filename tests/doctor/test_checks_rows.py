"""Every check at its rows of the ledger: it finds, it is content, it cannot see, it is not concerned."""

from __future__ import annotations

import pytest
from ledger import finds, is_apart, is_fine, is_unseen, named
from test_checks_counted import LEDGER


@pytest.mark.parametrize("check", named(LEDGER, "finds"))
def test_each_fault_is_found(check):
    finds(check, LEDGER[check])


@pytest.mark.parametrize("check", named(LEDGER, "fine"))
def test_a_good_machine_gets_a_good_word(check):
    is_fine(check, LEDGER[check])


@pytest.mark.parametrize("check", named(LEDGER, "unseen"))
def test_what_is_not_told_is_not_observed(check):
    is_unseen(check, LEDGER[check])


@pytest.mark.parametrize("check", named(LEDGER, "apart"))
def test_what_it_does_not_concern_is_left_alone(check):
    is_apart(check, LEDGER[check])
