"""One table says which state leads to which, and by what; everything else is refused."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import IllegalStateError, UsageError
from sapwood.rules.states import (
    CAUSES,
    CLOSED_STATES,
    END_REASONS,
    TRANSITIONS,
    check_reason,
    check_transition,
    is_closed,
    shown_state,
    state_after_hooks,
)

STATES = ("active", "suspended", "ending", "ended", "archived")
ALLOWED = {
    ("active", "suspended", "suspend"),
    ("active", "suspended", "crashes"),
    ("active", "ending", "end"),
    ("suspended", "active", "resume"),
    ("suspended", "ending", "end"),
    ("ending", "ended", "hooks ran"),
    ("ending", "archived", "hooks ran"),
    ("ended", "archived", "archive"),
    ("ended", "active", "reopen"),
    ("archived", "active", "reopen"),
}


def test_the_states_are_those_of_the_design() -> None:
    assert tuple(TRANSITIONS) == STATES
    assert {state for state in STATES if is_closed(state)} == {"ending", "ended", "archived"}


@pytest.mark.parametrize(("state", "to", "cause"), product(STATES, STATES, CAUSES))
def test_what_the_table_does_not_have_is_refused(state: str, to: str, cause: str) -> None:
    if (state, to, cause) in ALLOWED:
        check_transition(state, to, cause)  # type: ignore[arg-type]
        return
    with pytest.raises(IllegalStateError) as told:
        check_transition(state, to, cause, "s1")  # type: ignore[arg-type]
    ways = {(way, by) for source, way, by in ALLOWED if source == state}
    assert told.value.state == state
    assert set(told.value.allowed) == {way for way, _ in ways}
    assert "'s1'" in str(told.value)
    for way, by in ways:
        assert way in str(told.value)
        assert by in str(told.value)


def test_every_cause_leads_somewhere() -> None:
    assert {cause for _, _, cause in ALLOWED} == set(CAUSES)


def test_no_hook_is_left_out() -> None:
    """Out of `ending` only the hooks lead, and into a closed state only `ending`."""
    for state, row in TRANSITIONS.items():
        for to, causes in row.items():
            assert (state == "ending") == (causes == ("hooks ran",))
            if to in CLOSED_STATES and state not in CLOSED_STATES:
                assert to == "ending"


def test_a_stored_state_that_nobody_knows_leads_nowhere() -> None:
    with pytest.raises(IllegalStateError, match="unknown") as told:
        check_transition("asleep", "active", "resume")
    assert told.value.allowed == ()


def test_a_state_or_a_cause_that_there_is_not_is_a_mistake_of_the_call() -> None:
    with pytest.raises(UsageError, match="did you mean 'suspended'"):
        check_transition("active", "suspend", "suspend")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="cause 'bored'"):
        check_transition("active", "suspended", "bored")  # type: ignore[arg-type]


def test_what_is_ended_to_be_archived_is_archived() -> None:
    for reason in (*END_REASONS, "bored", None):
        assert state_after_hooks(reason) == ("archived" if reason == "archive" else "ended")


@given(st.sampled_from(STATES), st.integers(-5, 20), st.integers(0, 20), st.booleans())
def test_only_an_active_session_is_shown_otherwise(
    state: str, quiet: int, limit: int, is_compacting: bool
) -> None:
    shown = shown_state(state, quiet_us=quiet, idle_after_us=limit, is_compacting=is_compacting)
    if state != "active":
        assert shown == state
    elif is_compacting:
        assert shown == "compacting"
    else:
        assert shown == ("idle" if quiet >= limit else "active")


def test_reasons_may_be_ones_own() -> None:
    for reason in (*END_REASONS, "customer moved away"):
        check_reason(reason)
    for wrong in ("", "a\nb", "\ud800", "x" * 257):
        with pytest.raises(UsageError):
            check_reason(wrong)
