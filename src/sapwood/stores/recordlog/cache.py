"""What a process remembers of logs, so that it need not read them for each append.

What is remembered may be old: a record is only created after the last one of its log, so that
whoever decided by an old state is told, and reads on.
"""

from __future__ import annotations

import threading

from .state import LogState

MOST_STATES = 2000


class StateCache:
    """The states of logs that were used lately, and which logs sessions' names stand for."""

    def __init__(self, most: int = MOST_STATES) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._states: dict[str, LogState] = {}
        self._names: dict[tuple[str, str], str] = {}
        self._stamp = 0

    def find(self, log: str) -> LogState | None:
        """Find what is remembered of a log."""
        return self._states.get(log)

    def find_session(self, owner: str, session: str) -> LogState | None:
        """Find what is remembered of a session that is alive."""
        state = self._states.get(self._names.get((owner, session), ""))
        return state if state is not None and state.is_alive else None

    def keep(self, state: LogState) -> LogState:
        """Remember a state, unless a newer one is; return it."""
        with self._lock:
            known = self._states.pop(state.log, None)
            if known is not None and not state.is_alive:
                self._drop(known)
            self._states[state.log] = state if known is None or known.n <= state.n else known
            while len(self._states) > self._most:
                self._drop(self._states.pop(next(iter(self._states))))
        return state

    def name(self, state: LogState) -> None:
        """Remember that an entry names this log; a log alone is not known to be a session."""
        with self._lock:
            self._names[state.owner, state.session] = state.log

    def forget(self, log: str) -> None:
        """Forget a log."""
        with self._lock:
            gone = self._states.pop(log, None)
            if gone is not None:
                self._drop(gone)

    def clear(self, stamp: int = 0) -> None:
        """Forget all logs, but no stamp that was given, here or by another who gave this one."""
        with self._lock:
            self._states.clear()
            self._names.clear()
            self._stamp = max(self._stamp, stamp)

    def _drop(self, gone: LogState) -> None:
        if self._names.get((gone.owner, gone.session)) == gone.log:
            del self._names[gone.owner, gone.session]

    def stamp(self, now_us: int) -> int:
        """Return a number that is larger than all that were given before, and than the time."""
        with self._lock:
            self._stamp = max(self._stamp + 1, now_us)
            return self._stamp
