"""Append is idempotent by message id (rule 2 of the design)."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.errors import AlreadyExistsError, MessageConflictError, StaleTipError
from sapwood.model import ROOT, OnKnown, Root
from sapwood.rules.append_plan import AppendPlan, KnownMessage, plan_append
from sapwood.rules.codec import Body, Packed, digest

Id = str | Root
SAME, OTHER = digest("user", Body([])), digest("other", Body([]))


def packed(id: str, digest: bytes | None = None, data: bytes | None = None) -> Packed:
    role = "other" if digest == OTHER else "user"
    made = Packed(id=id, role=role, parts=[], metadata={}, body=b"", tokens=0, is_ours=False)
    return msgspec.structs.replace(made, data=data)


def plan(
    ids: str,
    seen: dict[str, KnownMessage],
    tip: Id = ROOT,
    parent: Id | None = None,
    expected_tip: Id | None = None,
    on_known: OnKnown = "return",
) -> AppendPlan:
    return plan_append([packed(id) for id in ids], seen, tip, parent, expected_tip, on_known)


def found(plan: AppendPlan) -> tuple[int, Id | None]:
    """Return what a plan says where the batch is as it was given."""
    return plan.known, plan.parent


# a, b and c are stored one after the other; d was deleted.
CHAIN = {"a": KnownMessage(SAME, ROOT), "b": KnownMessage(SAME, "a"), "c": KnownMessage(SAME, "b")}
STORED = {**CHAIN, "d": KnownMessage(None, "c")}


def test_new_messages_go_to_the_tip() -> None:
    assert found(plan("xy", CHAIN, tip="c")) == (0, None)


def test_new_messages_go_after_an_explicit_parent() -> None:
    assert found(plan("xy", CHAIN, tip="c", parent="a")) == (0, "a")
    assert found(plan("xy", CHAIN, tip="c", parent=ROOT)) == (0, ROOT)


def test_what_is_known_is_refused_where_that_is_asked_for() -> None:
    assert found(plan("xy", CHAIN, tip="c", on_known="raise")) == (0, None)
    with pytest.raises(AlreadyExistsError, match="'b' is stored already"):
        plan("xb", CHAIN, tip="c", on_known="raise")


def test_what_is_known_is_passed_over_where_that_is_asked_for() -> None:
    done = plan("xbyc", CHAIN, tip="c", parent="a", expected_tip="c", on_known="skip")
    assert found(done) == (2, "a")
    assert [it.id for it in done.batch] == ["b", "c", "x", "y"]
    assert found(plan("cb", CHAIN, tip="c", expected_tip="a", on_known="skip")) == (2, None)
    with pytest.raises(StaleTipError):
        plan("bx", CHAIN, tip="c", expected_tip="b", on_known="skip")
    with pytest.raises(MessageConflictError, match="other content"):
        plan("xb", {**CHAIN, "b": KnownMessage(OTHER, "a")}, tip="c", on_known="skip")
    with pytest.raises(MessageConflictError, match="'d' was deleted"):
        plan("xd", STORED, tip="d", on_known="skip")


def test_a_retry_writes_nothing() -> None:
    assert plan("abc", CHAIN, tip="c").known == 3


@pytest.mark.parametrize("expected", ["a", "gone", ROOT])
def test_the_id_is_looked_up_before_the_expected_tip(expected: Id) -> None:
    assert plan("bc", CHAIN, tip="c", expected_tip=expected).known == 2


def test_other_content_is_a_conflict() -> None:
    with pytest.raises(MessageConflictError, match="'b' is stored with other content"):
        plan("ab", {**CHAIN, "b": KnownMessage(OTHER, "a")}, tip="c")


def test_a_deleted_id_stays_taken() -> None:
    with pytest.raises(MessageConflictError, match="'d' was deleted"):
        plan("d", STORED, tip="d")


def test_another_explicit_parent_is_a_conflict() -> None:
    with pytest.raises(MessageConflictError, match="'b' is stored after message 'a', not after"):
        plan("b", CHAIN, tip="c", parent="c")
    with pytest.raises(MessageConflictError, match="stored after the root"):
        plan("a", CHAIN, tip="c", parent="c")


def test_a_known_message_inside_a_batch_was_stored_after_the_one_before_it() -> None:
    assert plan("abc", CHAIN, tip="c", parent=ROOT).known == 3
    with pytest.raises(MessageConflictError, match="'c' is stored after message 'b'"):
        plan("ac", CHAIN, tip="c", parent=ROOT)


def test_the_same_parent_given_again_is_no_conflict() -> None:
    assert plan("b", CHAIN, tip="c", parent="a").known == 1


def test_the_known_messages_of_a_batch_form_a_prefix() -> None:
    with pytest.raises(MessageConflictError, match="'b' is stored already"):
        plan("xb", CHAIN, tip="c")
    with pytest.raises(MessageConflictError, match="'c' is stored already"):
        plan("axc", CHAIN, tip="c")


def test_an_id_given_twice_is_a_conflict() -> None:
    with pytest.raises(MessageConflictError, match="'x' is given twice"):
        plan("xyx", {}, tip=ROOT)


def test_the_rest_follows_the_prefix_with_an_explicit_parent() -> None:
    assert found(plan("bx", CHAIN, tip="c", parent="a")) == (1, "b")


def test_the_rest_goes_to_the_tip_without_an_explicit_parent() -> None:
    assert found(plan("bx", CHAIN, tip="c")) == (1, None)


def test_with_an_expected_tip_the_prefix_has_to_end_at_the_tip() -> None:
    assert found(plan("bcx", CHAIN, tip="c", expected_tip="a")) == (2, None)
    with pytest.raises(StaleTipError, match="the tip is message 'c', not message 'b'"):
        plan("bx", CHAIN, tip="c", expected_tip="a")


def test_a_stale_tip_is_told() -> None:
    with pytest.raises(StaleTipError, match="the tip is message 'c', not the root"):
        plan("x", CHAIN, tip="c", expected_tip=ROOT)
    with pytest.raises(StaleTipError, match="the tip is the root, not message 'c'"):
        plan("x", {}, tip=ROOT, expected_tip="c")


def test_root_is_no_message_of_that_name() -> None:
    with pytest.raises(StaleTipError):
        plan("x", {}, tip=ROOT, expected_tip="root")


def test_a_conflict_is_told_before_a_stale_tip() -> None:
    with pytest.raises(MessageConflictError):
        plan("dx", STORED, tip="c", expected_tip="a")


def rule_two(
    batch: list[Packed],
    seen: dict[str, KnownMessage],
    tip: Id,
    parent: Id | None,
    expected: Id | None,
    marked: list[Id],
) -> tuple[int, Id | None] | type[Exception]:
    """The oracle: what rule 2 says, sentence by sentence. The place of nothing is None."""
    ids = [message.id for message in batch]
    known = [message for message in batch if message.id in seen]
    previous = [parent, *ids]  # of each message, what an explicit parent puts it after
    if (
        len(set(ids)) != len(ids)
        or ids[: len(known)] != [message.id for message in known]
        or any(seen[message.id].digest != message.digest for message in known)
        or any(seen[message.id].data != message.data for message in known)
        or (
            parent is not None
            and any(seen[m.id].parent != previous[i] for i, m in enumerate(known))
        )
    ):
        return MessageConflictError
    if len(known) == len(batch):
        return len(known), None
    follows = known[-1].id if known else None
    if expected is not None and (follows or expected) not in [tip, *marked]:
        return StaleTipError
    return len(known), (follows or parent) if parent is not None else None


ids = st.sampled_from("abcdef")
places = st.just(ROOT) | ids
digests = st.sampled_from([SAME, SAME, SAME, OTHER])
data = st.sampled_from([None, None, None, b"{}", b'{"n":1}'])
known_messages = st.builds(KnownMessage, digests | st.none(), places, data)
CHAINS = [CHAIN, STORED, {"a": KnownMessage(SAME, ROOT)}, {}]
seen_messages = st.sampled_from(CHAINS) | st.dictionaries(ids, known_messages, max_size=4)
batches = st.lists(st.builds(packed, ids, digests, data), min_size=1, max_size=5) | st.sampled_from(
    [[packed(id) for id in word] for word in ("a", "ab", "abc", "abcef", "bcf", "cef", "ef")]
)


@settings(deadline=None, max_examples=600)
@given(
    batches,
    seen_messages,
    places,
    st.none() | places,
    st.none() | places,
    st.lists(places, max_size=2),
)
def test_append_does_what_rule_two_says(
    batch: list[Packed],
    seen: dict[str, KnownMessage],
    tip: Id,
    parent: Id | None,
    expected: Id | None,
    marked: list[Id],
) -> None:
    wanted = rule_two(batch, seen, tip, parent, expected, marked)
    try:
        got: object = tuple(plan_append(batch, seen, tip, parent, expected, "return", marked))[:2]
    except (MessageConflictError, StaleTipError) as error:
        got = type(error)
    assert got == wanted
