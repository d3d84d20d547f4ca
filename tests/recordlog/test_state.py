"""The state of a log as it is stored."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from sapwood.stores.recordlog.state import LogState, decode_state, encode_state


def test_a_state_that_lacks_the_newest_field_is_read() -> None:
    """Fields are added at the end: what was stored before them has fewer."""
    state = LogState(tree="t", log="l", session="s", version=7)
    stored = msgspec.msgpack.decode(encode_state(state))
    found = [decode_state(msgspec.msgpack.encode(it), "here") for it in (stored, stored[:-1])]
    assert [replace(it, page_bytes=0) for it in found] == [state, state]
