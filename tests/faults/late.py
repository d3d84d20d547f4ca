"""Answers that are late: waited for while there is time, and told of when there is none left."""

from __future__ import annotations

from typing import Any

import pytest
from servers.proxy import Proxy

from sapwood.errors import StoreUnavailableError
from sapwood.model import NewMessage, NewSession, Read, TextPart

ADA = "ada"
LATE_S = 0.05
MESSAGES = 5


def wait_for_late_answers(store: Any, proxy: Proxy) -> int:
    """See that a store waits for answers that are late; tell how many were."""
    store.create_session(ADA, NewSession(id="s"))
    proxy.delay(LATE_S)
    for n in range(MESSAGES):
        assert store.append(ADA, "s", [_say(n)]).written == 1
    assert _ids(store.read(ADA, "s", Read())) == [f"m{n}" for n in range(MESSAGES)]
    proxy.delay(0)
    assert _ids(store.read(ADA, "s", Read())) == [f"m{n}" for n in range(MESSAGES)]
    assert proxy.delayed >= MESSAGES
    return proxy.delayed


async def wait_for_late_answers_on_a_loop(store: Any, proxy: Proxy) -> int:
    """See the same of the async twin."""
    await store.create_session(ADA, NewSession(id="s"))
    proxy.delay(LATE_S)
    for n in range(MESSAGES):
        assert (await store.append(ADA, "s", [_say(n)])).written == 1
    proxy.delay(0)
    assert _ids(await store.read(ADA, "s", Read())) == [f"m{n}" for n in range(MESSAGES)]
    assert proxy.delayed >= MESSAGES
    return proxy.delayed


def give_up_an_answer_that_is_too_late(store: Any, proxy: Proxy, late_s: float) -> int:
    """See that an answer beyond a store's time is told of, and that a retry writes once."""
    store.create_session(ADA, NewSession(id="late"))
    store.append(ADA, "late", [_say(0)])
    proxy.delay(late_s)
    with pytest.raises(StoreUnavailableError) as caught:
        store.append(ADA, "late", [_say(1)])
    assert caught.value.retryable
    assert "'m1' may have been stored: append it again under this id" in str(caught.value)
    assert caught.value.__cause__ is not None
    proxy.delay(0)
    # It was written, or is now: by its id, it is there once.
    store.append(ADA, "late", [_say(1)])
    assert _ids(store.read(ADA, "late", Read())) == ["m0", "m1"]
    return 1


def _say(n: int) -> NewMessage:
    return NewMessage(id=f"m{n}", role="user", parts=[TextPart(text=str(n))])


def _ids(history: Any) -> list[str]:
    return [it.id for it in history.messages_only]
