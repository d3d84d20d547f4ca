"""Several writers at once: all land, once, in an order that explains what each was told."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

import pytest

from ...errors import AlreadyExistsError, ConflictError, StaleTipError, StaleVersionError
from ...model import ROOT, Message, NewSession, Root, SessionPatch, Usage
from ...store import AsyncStore
from ..counts import COUNTS
from ..makers import ADA, fork_of, say
from ..twin import AsyncTwin
from .base import AsyncContractBase, grow, history_of, record_of, shown_in


def in_order(shown: Sequence[str], own: Sequence[str]) -> bool:
    """Whether a writer's ids are all there, in the order in which it wrote them."""
    return [id for id in shown if id in set(own)] == list(own)


def parents(messages: Sequence[Message]) -> dict[str, str | Root]:
    """Return the parent's id of each message of a history."""
    ids: list[str | Root] = [ROOT, *(message.id for message in messages)]
    return {message.id: ids[n] for n, message in enumerate(messages)}


class AsyncConcurrencyContract(AsyncContractBase):
    """Rule 6, with real contention. Set `writers` and `concurrent_runs` to try harder."""

    writers: ClassVar[int] = 6
    appends_of_each: ClassVar[int] = 6
    concurrent_runs: ClassVar[int] = 2

    def _sessions_of_runs(self) -> list[str]:
        COUNTS[f"runs with concurrent writers, {AsyncTwin.name}"] += self.concurrent_runs
        return [f"run{n}" for n in range(self.concurrent_runs)]

    async def test_rule_06_blind_appends_all_land_once_in_each_writers_order(
        self, store: AsyncStore
    ) -> None:
        for session in self._sessions_of_runs():
            await grow(store, session=session)

            async def write(writer: int, session: str = session) -> list[str]:
                ids = [f"w{writer}-{n}" for n in range(self.appends_of_each)]
                for id in ids:
                    done = await store.append(ADA, session, [say(id, tokens=1)])
                    assert (done.written, done.tip) == (1, id)
                return ids

            written = await AsyncTwin.together([partial(write, w) for w in range(self.writers)])
            shown = await shown_in(store, session)
            assert sorted(shown) == sorted(id for own in written for id in own)
            assert all(in_order(shown, own) for own in written)
            assert [leaf.id for leaf in await store.list_leaves(ADA, session)] == [shown[-1]]
            record = await record_of(store, session)
            total = self.writers * self.appends_of_each
            assert (record.messages, record.context_tokens) == (total, total)

    async def test_rule_06_batches_stay_whole(self, store: AsyncStore) -> None:
        for session in self._sessions_of_runs():
            await grow(store, session=session)

            async def write(writer: int, session: str = session) -> list[list[str]]:
                batches = [
                    [f"w{writer}-{n}-{k}" for k in range(1 + (writer + n) % 4)]
                    for n in range(self.appends_of_each)
                ]
                for batch in batches:
                    await store.append(ADA, session, [say(id) for id in batch])
                return batches

            written = await AsyncTwin.together([partial(write, w) for w in range(self.writers)])
            shown = await shown_in(store, session)
            for batches in written:
                assert in_order(shown, [id for batch in batches for id in batch])
                for batch in batches:
                    start = shown.index(batch[0])
                    assert shown[start : start + len(batch)] == batch
            assert len(shown) == sum(len(batch) for batches in written for batch in batches)

    async def test_rule_06_with_an_expected_tip_each_success_follows_what_it_expected(
        self, store: AsyncStore
    ) -> None:
        for session in self._sessions_of_runs():
            await grow(store, session=session)

            async def write(writer: int, session: str = session) -> dict[str, str | Root]:
                expectations: dict[str, str | Root] = {}
                for n in range(self.appends_of_each):
                    id = f"w{writer}-{n}"
                    while id not in expectations:
                        expected = (await record_of(store, session)).tip
                        try:
                            await store.append(ADA, session, [say(id)], expected_tip=expected)
                            expectations[id] = expected
                        except StaleTipError:
                            continue
                return expectations

            written = await AsyncTwin.together([partial(write, w) for w in range(self.writers)])
            expected = {id: tip for own in written for id, tip in own.items()}
            assert parents((await history_of(store, session)).messages_only) == expected

    async def test_rule_06_of_appends_that_expect_the_same_tip_one_succeeds(
        self, store: AsyncStore
    ) -> None:
        for session in self._sessions_of_runs():
            await grow(store, "m0", session=session)

            async def write(writer: int, session: str = session) -> bool:
                try:
                    await store.append(ADA, session, [say(f"w{writer}")], expected_tip="m0")
                except StaleTipError:
                    return False
                return True

            written = await AsyncTwin.together([partial(write, w) for w in range(self.writers)])
            assert written.count(True) == 1
            assert await shown_in(store, session) == ["m0", f"w{written.index(True)}"]

    async def test_rule_02_the_same_batch_from_many_writers_lands_once(
        self, store: AsyncStore
    ) -> None:
        for session in self._sessions_of_runs():
            await grow(store, session=session)

            async def write(session: str = session) -> int:
                count = 0
                for n in range(self.appends_of_each):
                    batch = [say(f"b{n}-{k}") for k in range(3)]
                    count += (await store.append(ADA, session, batch)).written
                return count

            written = await AsyncTwin.together([write] * self.writers)
            assert sum(written) == 3 * self.appends_of_each
            expected = [f"b{n}-{k}" for n in range(self.appends_of_each) for k in range(3)]
            shown = await shown_in(store, session)
            assert shown == expected

    async def test_rule_06_writers_of_several_sessions_do_not_mix(self, store: AsyncStore) -> None:
        for run in self._sessions_of_runs():
            await grow(store, "m0", session=run)
            names = [f"{run}-{w}" for w in range(self.writers)]
            for name in names:
                await store.create_session(ADA, fork_of(run, id=name))

            async def write(name: str, run: str = run) -> list[str]:
                ids = [f"{name}-{n}" for n in range(self.appends_of_each)]
                for n, id in enumerate(ids):
                    await store.append(ADA, name, [say(id)])
                    await store.append(ADA, run, [say(f"{id}-{n}")])
                return ids

            written = await AsyncTwin.together([partial(write, w) for w in names])
            for name, own in zip(names, written, strict=True):
                assert await shown_in(store, name) == ["m0", *own]
            assert len(await shown_in(store, run)) == 1 + self.writers * self.appends_of_each

    async def test_rule_06_branches_from_one_parent_all_land(self, store: AsyncStore) -> None:
        for session in self._sessions_of_runs():
            await grow(store, "m0", "m1", session=session)

            async def write(writer: int, session: str = session) -> None:
                batch = [say(f"w{writer}-a"), say(f"w{writer}-b")]
                await store.append(ADA, session, batch, parent="m0")

            await AsyncTwin.together([partial(write, w) for w in range(self.writers)])
            children = {m.id for m in await store.list_children(ADA, session, "m0")}
            assert children == {"m1", *(f"w{w}-a" for w in range(self.writers))}
            for w in range(self.writers):
                expected = ["m0", f"w{w}-a", f"w{w}-b"]
                assert await shown_in(store, session, leaf=f"w{w}-b") == expected

    async def test_of_many_creators_one_succeeds(self, store: AsyncStore) -> None:
        for session in self._sessions_of_runs():

            async def create(session: str = session) -> bool:
                try:
                    await store.create_session(ADA, NewSession(id=session))
                except AlreadyExistsError:
                    return False
                return True

            assert (await AsyncTwin.together([create] * self.writers)).count(True) == 1

    async def test_rule_09_of_many_that_take_a_lease_one_succeeds(self, store: AsyncStore) -> None:
        for session in self._sessions_of_runs():
            await grow(store, session=session)

            async def take(session: str = session) -> bool:
                try:
                    await store.put_document(
                        ADA, "lease", b"", session=session, expected_version=0, expires_in_s=60
                    )
                except StaleVersionError:
                    return False
                return True

            assert (await AsyncTwin.together([take] * self.writers)).count(True) == 1

    async def test_versions_count_every_change_of_the_record(self, store: AsyncStore) -> None:
        for session in self._sessions_of_runs():
            await grow(store, session=session)

            async def count(session: str = session) -> None:
                done = False
                while not done:
                    record = await record_of(store, session)
                    patch = SessionPatch(attributes={"n": record.attributes.get("n", 0) + 1})
                    try:
                        await store.update_session(
                            ADA, session, patch, expected_version=record.version
                        )
                        done = True
                    except StaleVersionError:
                        continue

            await AsyncTwin.together([count] * self.writers)
            record = await record_of(store, session)
            assert (record.attributes, record.version) == ({"n": self.writers}, 1 + self.writers)

    async def test_rule_14_the_same_usage_from_many_counts_once(self, store: AsyncStore) -> None:
        for session in self._sessions_of_runs():
            await grow(store, session=session)

            async def add(session: str = session) -> bool:
                return await store.add_usage(ADA, session, Usage(id="u", input_tokens=3))

            assert (await AsyncTwin.together([add] * self.writers)).count(True) == 1
            [total] = await store.total_usage(ADA, session)
            assert (total.calls, total.input_tokens) == (1, 3)

    async def test_rule_09_deleting_and_appending_leave_a_whole_session(
        self, store: AsyncStore
    ) -> None:
        for session in self._sessions_of_runs():
            await grow(store, "m0", "m1", session=session)

            async def write(writer: int, session: str = session) -> None:
                for n in range(self.appends_of_each):
                    await store.append(ADA, session, [say(f"w{writer}-{n}", tokens=2)])
                    await store.delete_messages(ADA, session, [f"w{writer}-{n}"])

            async def edit(session: str = session) -> None:
                for n in range(self.appends_of_each):
                    await store.update_message(ADA, session, say("m0", str(n), tokens=n))

            jobs = [partial(write, w) for w in range(self.writers)]
            await AsyncTwin.together([*jobs, partial(edit)])
            assert await shown_in(store, session) == ["m0", "m1"]
            record = await record_of(store, session)
            assert (record.messages, record.context_tokens) == (2, self.appends_of_each)
            assert record.context_tokens == (await history_of(store, session)).context_tokens

    async def test_rule_04_readers_see_whole_batches_while_others_write(
        self, store: AsyncStore
    ) -> None:
        for session in self._sessions_of_runs():
            await grow(store, session=session)

            async def write(writer: int, session: str = session) -> None:
                for n in range(self.appends_of_each):
                    batch = [say(f"w{writer}-{n}-{k}", tokens=1) for k in range(3)]
                    await store.append(ADA, session, batch)

            async def look(session: str = session) -> None:
                for _ in range(self.appends_of_each):
                    history = await history_of(store, session)
                    assert len(history.entries) % 3 == 0
                    assert history.context_tokens == len(history.entries)

            jobs = [partial(write, w) for w in range(self.writers)]
            await AsyncTwin.together([*jobs, partial(look), partial(look)])

    async def test_an_edit_through_a_fork_is_refused_under_contention_too(
        self, store: AsyncStore
    ) -> None:
        await grow(store, "m0")
        await store.create_session(ADA, fork_of("s"))

        async def edit(session: str) -> bool:
            try:
                await store.update_message(ADA, session, say("m0", session))
            except ConflictError:
                return False
            return True

        pairs = [partial(edit, "s" if n % 2 else "fork") for n in range(self.writers)]
        done = await AsyncTwin.together(pairs)
        assert done == [bool(n % 2) for n in range(self.writers)]
        with pytest.raises(ConflictError):
            await store.delete_messages(ADA, "fork", ["m0"])
