"""A check asks for some at a time, however long a session is: servers limit what they take."""

from __future__ import annotations

from collections.abc import Sequence

from recordlog._sync.dictionary import DictionaryDriver
from recordlog.stores import DictionaryStore
from sapwood.model import NewSession
from sapwood.stores.recordlog._sync.admin import AT_ONCE
from sapwood.stores.recordlog.log_documents import LogDocument, LogKey
from sapwood.testing import ManualClock
from sapwood.testing.makers import ADA, say


class _Measured(DictionaryDriver):
    most = 0

    def get(self, keys: Sequence[LogKey]) -> list[LogDocument | None]:
        self.most = max(self.most, len(keys))
        return super().get(keys)


def test_look_ups_are_checked_and_repaired_some_at_a_time() -> None:
    log = _Measured()
    store = DictionaryStore(ManualClock(), log)
    store.create_session(ADA, NewSession(id="s"))
    store.append(ADA, "s", [say(f"m{n}") for n in range(AT_ONCE * 2 + 1)])
    store.finish_deletions()
    log.most = 0
    assert store.admin.check() == []
    store.admin.repair()
    assert 0 < log.most <= AT_ONCE
