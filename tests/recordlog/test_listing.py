"""The order of a listing: by the second of the last activity."""

from __future__ import annotations

from recordlog.stores import DictionaryStore
from sapwood.model import NewSession, SessionQuery
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA, say

SECOND_US = 1_000_000


def test_a_session_that_was_active_in_a_later_second_comes_first() -> None:
    clock = ManualClock()
    store = DictionaryStore(clock)
    for name in ("later", "earlier"):
        store.create_session(ADA, NewSession(id=name))
    # To the microsecond: the last of one second, and the first of the next.
    clock.now_us += SECOND_US - clock.now_us % SECOND_US + SECOND_US - 1
    store.append(ADA, "earlier", [say("m")])
    clock.now_us += 1
    store.append(ADA, "later", [say("m")])
    page = store.list_sessions(ADA, SessionQuery(order="active"))
    assert [it.id for it in page.sessions] == ["later", "earlier"]
