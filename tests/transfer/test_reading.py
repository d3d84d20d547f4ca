"""What users have read goes along with a session, where its places have other names, too."""

from __future__ import annotations

from pathlib import Path

import sapwood
from sapwood.transfer import copy_store


def test_a_mark_holds_in_a_copy_where_segments_have_other_numbers(tmp_path: Path) -> None:
    with (
        sapwood.open("memory://", owner="ada") as sessions,
        sapwood.open(f"sqlite:///{tmp_path}/copy.db", owner="ada") as there,
    ):
        there.session("first").append_all([("user", "a"), ("assistant", "b")])
        chat = sessions.session("chat")
        chat.append("user", "q", id="q")
        chat.append("assistant", "one", id="a1")
        chat.append("assistant", "two", id="a2", parent="q")
        chat.append("user", "thanks")
        chat.mark_read("bob", upto="a2")
        for _ in range(2):
            copy_store(sessions.store, there.store)
            assert there.get("chat").unread("bob") == chat.unread("bob") == 1
        there.get("chat").checkout("a1")
        assert there.get("chat").unread("bob") == 1
