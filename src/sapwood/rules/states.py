"""The states of a session: what leads from one to another, and what is shown of them.

Stored are `active`, `suspended`, `ending`, `ended` and `archived`. `idle` (active, and quiet for
long) and `compacting` (active, and its compaction's lease is held) are derived when one asks.
"""

from __future__ import annotations

from typing import Literal, get_args

from ..errors import IllegalStateError, UsageError
from .ids import check_name
from .wording import did_you_mean

SessionState = Literal["active", "suspended", "ending", "ended", "archived"]
ShownState = Literal["active", "idle", "compacting", "suspended", "ending", "ended", "archived"]
Cause = Literal["suspend", "crashes", "resume", "end", "hooks ran", "archive", "reopen"]

TRANSITIONS: dict[SessionState, dict[SessionState, tuple[Cause, ...]]] = {
    # Crashes: its process died three times in the same turn.
    "active": {"suspended": ("suspend", "crashes"), "ending": ("end",)},
    "suspended": {"active": ("resume",), "ending": ("end",)},
    # The hooks run first, whatever comes next. What is ended to be archived is so at once.
    "ending": {"ended": ("hooks ran",), "archived": ("hooks ran",)},
    "ended": {"active": ("reopen",), "archived": ("archive",)},
    "archived": {"active": ("reopen",)},
}
"""From each state, where it may lead to, and by what."""

CAUSES: tuple[str, ...] = get_args(Cause)
CLOSED_STATES: frozenset[str] = frozenset({"ending", "ended", "archived"})
"""In these a session takes no messages, edits, overlays or checkouts."""

END_REASONS = (
    "archive",
    "reset",
    "delete",
    "timeout",
    "new",
    "switch",
    "compaction",
    "completed",
    "abandoned",
)
"""Why a session was closed; programs may have reasons of their own."""


def check_transition(state: str, to: SessionState, cause: Cause, session: str = "") -> None:
    """Refuse to lead a session from one state to another when the table does not.

    Raises `IllegalStateError`, which names what is allowed from there.
    """
    _check_known(to, tuple(TRANSITIONS), "state")
    _check_known(cause, CAUSES, "cause")
    row = {name: causes for name, causes in TRANSITIONS.items() if name == state}
    allowed = row.get(state, {})  # type: ignore[call-overload]
    if cause in allowed.get(to, ()):
        return
    which = f"the session {session!r}" if session else "the session"
    ways = [f"{name} ({', '.join(causes)})" for name, causes in allowed.items()]
    by = f" by {cause!r}" if to in allowed else ""
    raise IllegalStateError(
        f"{which} is {state} and cannot become {to}{by}: "
        + (f"from here it may become {' or '.join(ways)}" if ways else "this state is unknown"),
        state=state,
        allowed=tuple(allowed),
    )


def is_closed(state: str) -> bool:
    """Whether a session in this state is closed."""
    return state in CLOSED_STATES


def state_after_hooks(reason: str | None) -> SessionState:
    """Return the state of a session whose hooks have run, by why it was closed."""
    return "archived" if reason == "archive" else "ended"


def shown_state(state: str, *, quiet_us: int, idle_after_us: int, is_compacting: bool) -> str:
    """Return the state to show: that which is stored, or of an active session a derived one."""
    if state != "active":
        return state
    if is_compacting:
        return "compacting"
    return "idle" if quiet_us >= idle_after_us else state


def check_reason(reason: str) -> None:
    """Check why a session is closed: one of `END_REASONS`, or a name of one's own."""
    check_name(reason, "reason")


def _check_known(value: str, known: tuple[str, ...], what: str) -> None:
    if value not in known:
        raise UsageError(
            f"there is no {what} {value!r}{did_you_mean(str(value), known)}; "
            f"known are {', '.join(known)}",
            path=what,
        )
