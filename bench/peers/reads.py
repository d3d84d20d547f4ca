"""Loading the long session, its end, and searching it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import partial

import apsw
from comparison import Comparison, by_time
from contest import LONG, Contest, short
from conversation import COMMON, RARE, text_of
from measure import calm
from peer import Peer, answer_of
from raw import RawReader
from rounds import Call, take_turns, time_of

from sapwood.model import NewMessage

LOAD = "10,000 loaded"
LOAD_AGAIN = "10,000 loaded again"
LAST = "last 50 of 10,000"
SEARCH_RARE = "search of a rare word"
SEARCH_COMMON = "search of a common word"
COUNT = 50
HITS = 20

_MAKE = "CREATE VIRTUAL TABLE said USING fts5(text)"
_FIND = "SELECT rowid FROM said WHERE said MATCH ? ORDER BY rank LIMIT ?"


async def load(contest: Contest) -> Comparison:
    """Load the long session with a store that has not loaded it before."""
    rounds, _ = contest.rounds(1)
    ours, peer, raw = [], [], []
    # One time each in a round is little, so there are more rounds; who goes first goes round.
    for number in range(2 * rounds):
        sides = [(contest.make_ours, "ours", ours), (contest.make, "peer", peer)]
        for make, file, times in sides if number % 2 else sides[::-1]:
            times.append([await _first_load(make(), contest, file)])
        with closing(RawReader(contest.file_of("ours"))) as reader:
            raw.append([await time_of(partial(reader.history, *reader.segment(), LONG))])
    return contest.row(LOAD, **by_time(ours, peer, raw))


async def _first_load(side: Peer, contest: Contest, file: str) -> float:
    """Open the file anew, read a short session to get going, and time the long one."""
    await answer_of(side.open(contest.file_of(file)))
    for session in (short(0), LONG):
        await answer_of(side.create(session))
    await answer_of(side.load(short(0)))
    calm()
    took = await time_of(lambda: side.load(LONG))
    await answer_of(side.close())
    return took


async def load_again(contest: Contest) -> Comparison:
    """Load the long session with a store that has loaded it before."""
    with closing(RawReader(contest.file_of("ours"))) as reader:
        raw = partial(reader.history, *reader.segment(), LONG)
        return await _compare(
            contest, LOAD_AGAIN, *(partial(it.load, LONG) for it in _of(contest)), raw
        )


async def last(contest: Contest) -> Comparison:
    """Load the last 50 messages."""
    calls = [partial(side.last, LONG, COUNT) for side in _of(contest)]
    for call in calls:
        assert len(await answer_of(call())) == COUNT
    with closing(RawReader(contest.file_of("ours"))) as reader:
        raw = partial(reader.last, *reader.segment(), COUNT, LONG)
        return await _compare(contest, LAST, *calls, raw)


def _of(contest: Contest) -> tuple[Peer, Peer]:
    return contest.ours, contest.peer


async def _compare(contest: Contest, work: str, ours: Call, peer: Call, raw: Call) -> Comparison:
    """Warm all three up, then let them take turns."""
    for call in (ours, peer, raw):
        await time_of(call)
    rounds, count = contest.rounds(await time_of(peer))
    times = await take_turns([ours, peer, raw], rounds, count)
    return contest.row(work, **by_time(*times))


async def search_rare(contest: Contest) -> Comparison:
    """Search for a word that three messages have."""
    return await _search(contest, SEARCH_RARE, RARE)


async def search_common(contest: Contest) -> Comparison:
    """Search for a word that most messages have."""
    return await _search(contest, SEARCH_COMMON, COMMON)


async def _search(contest: Contest, work: str, word: str) -> Comparison:
    if "search" in contest.peer.cannot:
        return contest.row(work)
    await answer_of(contest.peer.before_search(LONG))
    peer = partial(contest.peer.search, LONG, word)
    assert await answer_of(peer()), f"{contest.peer.name} finds no {word}"
    if not contest.ours.can_search:
        [rounds] = await take_turns([peer], *contest.rounds(await time_of(peer)))
        alone = by_time(rounds, rounds, rounds)
        return contest.row(work, peer=alone["peer"])
    await answer_of(contest.ours.before_search(LONG))
    ours = partial(contest.ours.search, LONG, word)
    assert (await answer_of(ours())).hits, f"ours finds no {word}"
    return await _compare(contest, work, ours, peer, _raw_search(contest.talk, word))


def _raw_search(talk: Sequence[NewMessage], word: str) -> Call:
    """Return a call that asks a full-text index of the same texts, in memory."""
    index = apsw.Connection(":memory:")
    index.execute(_MAKE)
    texts = [(text_of(message),) for message in talk]
    with index:
        index.executemany("INSERT INTO said VALUES (?)", texts)
    return lambda: index.execute(_FIND, (word, HITS)).fetchall()
