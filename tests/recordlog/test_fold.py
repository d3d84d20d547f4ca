"""What records add up to: the same, from wherever one begins to read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.rules.tree import Place
from sapwood.stores.recordlog.feed import merged
from sapwood.stores.recordlog.fold import fold, turn_page
from sapwood.stores.recordlog.state import LogState, decode_state, encode_state
from sapwood.stores.recordlog.work import (
    AddOverlay,
    AddUsage,
    Append,
    AppendedMessage,
    BeginFork,
    ChangeProfile,
    Clear,
    CombinedWork,
    DropDocument,
    Edit,
    Erase,
    ErasedPlace,
    LogProfile,
    LogWork,
    MoveTip,
    PutDocument,
    Retire,
    log_of,
    number_of,
    segment_name,
    segment_of,
)

LOG = f"{7:030x}"
OTHER = f"{8:030x}"
names = st.text(min_size=1, max_size=5)
small = st.integers(0, 50)


_places = st.sampled_from([("", 1, 1), (OTHER, 4, 2), (OTHER, 4, 3)])
extras: tuple[st.SearchStrategy[LogWork], ...] = (
    st.builds(
        lambda key, until, inherit: PutDocument(key, 9, until, b"v", inherit),
        names,
        st.none() | small,
        st.booleans(),
    ),
    st.builds(DropDocument, names),
    st.builds(
        lambda title: ChangeProfile(LogProfile(title, "x", [], b"{}", None)), st.none() | names
    ),
)
others: st.SearchStrategy[LogWork] = st.one_of(
    st.builds(lambda n: Edit(9, 1, 1, 1, "m", 2, 3, n, 5, "user", b"d", b"{}"), small),
    st.builds(lambda at, n: Erase(9, [ErasedPlace(at, 1, n, "m")]), _places, small),
    *extras,
    st.builds(lambda id, model: AddUsage(id, model, None, (1, 2, 0, 0, 0)), names, names),
    st.builds(lambda n: MoveTip((OTHER, 1, 3), "x", n), small),
    st.builds(lambda n: BeginFork("s", f"s/{n}", OTHER, ("", 1, 1)), small),
    st.builds(
        lambda n: AddOverlay(f"o{n}", ("", 1, 1), (OTHER, 2, 3), 0, 4, 2, 4, n, "s", 9, b"{}", "x"),
        small,
    ),
    st.just(Clear(9)),
)


@st.composite
def works(draw: st.DrawFn) -> list[CombinedWork]:
    """Draw the units of work of a session, such as a store would record them."""
    done: list[CombinedWork] = []
    segments: list[int] = []
    for index in range(draw(st.integers(1, 12))):
        if segments and draw(st.booleans()):
            done.append(CombinedWork(draw(others), []))
            continue
        count = draw(st.integers(1, 3))
        said = [
            AppendedMessage(f"m{index}-{k}", "user", draw(small), 5, b"{}") for k in range(count)
        ]
        is_new = not segments or draw(st.booleans())
        if is_new:
            segments.append(0)
        first = segments[-1] + 1
        segments[-1] += count
        work = Append(9, len(segments), first, is_new, None, draw(small), said)
        done.append(CombinedWork(work, draw(st.lists(st.one_of(extras), max_size=3))))
    return done


def begun() -> LogState:
    return LogState(tree=LOG, log=LOG, owner="ada", session="s")


@given(works=works(), at=st.integers(0, 12))
def test_a_state_that_was_written_down_goes_on_as_the_one_that_was_not(
    works: list[CombinedWork], at: int
) -> None:
    plain = kept = begun()
    for index, work in enumerate(works):
        plain, kept = fold(plain, *work), fold(kept, *work)
        if index == at:
            kept = decode_state(encode_state(kept), "here")
    assert encode_state(kept) == encode_state(plain)


@given(works=works())
def test_a_page_forgets_only_what_was_done_before_it(works: list[CombinedWork]) -> None:
    state = begun()
    for work in works:
        before, state = state, fold(state, *work)
        page = turn_page(before, state)
        assert set(page.recent.values()) == {it for it in state.recent.values() if it.n == page.n}
        assert [*before.litter, *page.litter] == state.litter
        assert page.foreign.keys() | before.foreign.keys() == state.foreign.keys()
        assert (page.tip, page.messages, page.edits) == (state.tip, state.messages, state.edits)


@given(works=works())
def test_a_deleted_sessions_state_has_nothing_that_was_said_or_named(
    works: list[CombinedWork],
) -> None:
    state = begun()
    for work in works:
        state = fold(state, *work)
    gone = fold(state, Retire(9))
    assert (gone.is_alive, gone.owner, gone.session, gone.messages) == (False, "", "", 0)
    assert gone.segments == state.segments
    assert gone.retired == len(state.segments)
    assert gone.begun_forks == state.begun_forks


@given(works=works())
def test_all_that_a_record_did_has_its_number(works: list[CombinedWork]) -> None:
    state = begun()
    for work in works:
        before, state = state, fold(state, *work)
        assert state.n == before.n + 1
        changes = {it.key: it for it in work.also if isinstance(it, PutDocument | DropDocument)}
        put = [key for key, it in changes.items() if isinstance(it, PutDocument)]
        assert {state.documents[key].n for key in put} <= {state.n}
        if isinstance(work.work, Append):
            patches = sum(isinstance(it, ChangeProfile) for it in work.also)
            assert state.version == before.version + patches


@given(log=st.integers(0, 16**30 - 1), number=st.integers(1, 2**31))
def test_a_segment_is_its_log_and_its_number_there(log: int, number: int) -> None:
    segment = segment_of(f"{log:030x}", number)
    assert (log_of(segment), number_of(segment)) == (f"{log:030x}", number)
    assert segment_name(segment) == f"{log:030x}.{number}"
    assert Place(segment, 1) < Place(segment_of(f"{log:030x}", number + 1), 1)


@given(
    stamps=st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=5).map(sorted), min_size=1),
    more=st.booleans(),
)
def test_a_feed_takes_records_in_each_logs_order_and_none_before_its_time(
    stamps: list[list[int]], more: bool
) -> None:
    parts = [
        (f"s{index}", "t", f"{index}", 1, len(times) + (more and not index))
        for index, times in enumerate(stamps)
    ]
    runs = merged(parts, stamps)
    order = [(log, n) for _, _, log, first, last in runs for n in range(first, last + 1)]
    for index, times in enumerate(stamps):
        mine = [n for log, n in order if log == str(index)]
        assert mine == list(range(1, len(mine) + 1))
        if not more:
            assert len(mine) == len(times)
    told = [stamps[int(log)][n - 1] for log, n in order]
    assert told == sorted(told)
