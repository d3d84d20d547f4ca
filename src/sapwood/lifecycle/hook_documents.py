"""What is stored of hooks: which ones are done, who is calling them, and what failed."""

from __future__ import annotations

import hashlib

import msgspec

from ..model import DocumentPut, LifecycleProblem, Occasion

DONE = "hooks/"
LEASE = "hooks-lease/"
PROBLEMS = "hook-problem/"
"""An owner's documents, so that all of them are found at once."""
FIRST_PAUSE_S = 60.0
LONGEST_PAUSE_S = 6 * 3600.0
LEASE_MARGIN_S = 30.0


class DoneHooks(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The names of the hooks that were called for an occasion, without an error."""

    names: tuple[str, ...] = ()


def done_key(occasion: Occasion, number: int) -> str:
    """Return where it is noted which hooks are done."""
    return f"{DONE}{occasion}/{number}"


def put_done(occasion: Occasion, number: int, done: DoneHooks) -> DocumentPut:
    """Note which hooks are done."""
    value = msgspec.json.encode(done)
    return DocumentPut(key=done_key(occasion, number), value=value, inherit=False)


def lease_key(occasion: Occasion, number: int) -> str:
    """Return the key of the lease of whoever calls the hooks."""
    return f"{LEASE}{occasion}/{number}"


def problems_of(session: str) -> str:
    """Return what the keys of a session's problems begin with."""
    return f"{PROBLEMS}{_digest(session)}/"


def problem_key(session: str, occasion: Occasion, number: int, hook: str) -> str:
    """Return where a hook's failure is kept."""
    return f"{problems_of(session)}{occasion}/{number}/{_digest(hook)}"


def failed_again(
    before: LifecycleProblem | None,
    error: BaseException,
    now_us: int,
    *,
    hook: str,
    occasion: Occasion,
    session: str,
    number: int,
) -> LifecycleProblem:
    """Return what is kept of a failure; each time the next attempt is twice as far away."""
    attempts = 1 + (0 if before is None else before.attempts)
    pause_s = min(FIRST_PAUSE_S * 2 ** min(attempts - 1, 20), LONGEST_PAUSE_S)
    said = str(error).encode("utf-8", "replace").decode()[:500]
    return LifecycleProblem(
        hook=hook,
        occasion=occasion,
        session=session,
        number=number,
        error=f"{type(error).__name__}: {said}" if said else type(error).__name__,
        attempts=attempts,
        failed_us=now_us,
        next_us=now_us + round(pause_s * 1_000_000),
    )


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:32]
