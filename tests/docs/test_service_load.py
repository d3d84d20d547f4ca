"""The service under load: hundreds of streams, two tabs, stops, and a server that is killed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from signal import SIGTERM

import pytest
from tier import often

import sapwood

from .load import Crowd, check
from .site import Site

USERS, TURNS, TABS = often(30, 200), 3, often(4, 20)
KILLS, IN_FLIGHT = often(2, 6), often(10, 50)
WORDS, PAUSE_S = 10, often(2, 10) / 100
LEASE_S = 2.0


@pytest.mark.timeout(900)
@pytest.mark.fault
async def test_no_answer_is_lost_mixed_up_or_taken_for_whole(tmp_path: Path) -> None:
    site = Site(tmp_path, WORDS, PAUSE_S)
    site.start()
    crowd = Crowd(site, USERS, TURNS, TABS, seed=16)
    try:
        await site.is_up()
        await crowd.run(KILLS)
    finally:
        site.end(SIGTERM)
    await asyncio.sleep(LEASE_S)
    async with sapwood.open_async(f"sqlite:///{tmp_path}/service.db") as sessions:
        found = await check(sessions, crowd, WORDS)
    assert len(crowd.asked) == USERS * TURNS
    assert crowd.most_streaming >= IN_FLIGHT
    assert 2 * sum(1 for streams in crowd.kills if streams) >= len(crowd.kills) == KILLS
    assert found.interrupted > 0
