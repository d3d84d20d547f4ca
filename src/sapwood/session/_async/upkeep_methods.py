"""The methods of a manager that keep its sessions tidy: sweeps, recovery, titles, and the end."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from ...calls import AsyncCall
from ...model import LifecycleProblem, SweepPolicy
from ...rules import check
from ...rules.budgets import budget_of, ratio_of
from ...rules.states import shown_state
from ...store._async.contract import AsyncStore
from ..settings import Configurable, refuse_uncallable

if TYPE_CHECKING:
    from ...lifecycle import RecoveryReport, SessionInfo, StopReport, SweepReport
    from ...lifecycle._async.lifecycle import AsyncLifecycle
    from ...lifecycle.background import AsyncBackground
    from ...lifecycle.report import SweepProgress

EVERY_S = 300.0
STOP_S = 10.0


@AsyncCall.reminding
class AsyncUpkeepMethods(Configurable):
    """What a manager does beside its calls, and when a program begins and ends."""

    @property
    @abstractmethod
    def store(self) -> AsyncStore: ...

    @property
    @abstractmethod
    def owner(self) -> str: ...

    @abstractmethod
    def _lifecycle(self, owner: str | None = None) -> AsyncLifecycle: ...

    @abstractmethod
    def _beside(self) -> AsyncBackground: ...

    async def info(self, id: str, *, policy: SweepPolicy | None = None) -> SessionInfo:
        """Return how a session stands: its state, idle and compacting too, and its budget."""
        from ...lifecycle.report import SessionInfo
        from ...lifecycle.route import key_of
        from .compactor import LEASE

        policy = _checked(policy)
        closings = self._lifecycle().closings
        record = await closings.get(id)
        lease = await self.store.find_document(self.owner, LEASE, session=id)
        budget = budget_of(record.budget, record.model)
        state = shown_state(
            record.state,
            quiet_us=await closings.now_us() - record.active_us,
            idle_after_us=round(policy.idle_after.total_seconds() * 1_000_000),
            is_compacting=lease is not None,
        )
        ratio = ratio_of(record.context_tokens, budget)
        return SessionInfo(
            record=record, key=key_of(record), state=state, budget=budget, ratio=ratio
        )

    async def lifecycle_problems(self) -> list[LifecycleProblem]:
        """List the hooks that failed, and when each is tried again."""
        return await self._lifecycle().hooks.problems()

    async def recover(self) -> RecoveryReport:
        """Mark turns whose process died, and finish endings; call it when a program begins.

        A session in which a turn has died for the third time is suspended.
        """
        from ...lifecycle._async.recovery import AsyncRecovery

        return await AsyncRecovery(self._lifecycle()).run()

    async def sweep(
        self,
        policy: SweepPolicy | None = None,
        *,
        dry_run: bool = False,
        all_owners: bool = False,
        limit_s: float | None = None,
        progress: SweepProgress | None = None,
    ) -> SweepReport:
        """End, archive and delete what has been quiet for long; finish what is ending.

        Nothing is done to a session that somebody uses. With `limit_s` it stops after so many
        seconds, and the next sweep goes on; `progress` is called with each session that is due.
        """
        from ...lifecycle._async.sweep import AsyncSweep

        policy = _checked(policy)
        check.given(check.seconds, limit_s, "limit_s")
        refuse_uncallable(progress, "progress")
        owner = None if all_owners else self.owner
        sweep = AsyncSweep(self.store, owner, self._lifecycle, time.monotonic)
        return await sweep.run(policy, dry_run=dry_run, limit_s=limit_s, progress=progress)

    def start_sweeping(
        self,
        policy: SweepPolicy | None = None,
        *,
        every_s: float = EVERY_S,
        all_owners: bool = False,
    ) -> None:
        """Sweep now and then from now on, beside all else, until `stop` or the manager's close."""
        policy = _checked(policy)
        check.seconds(every_s, "every_s")

        async def sweep() -> None:
            await self.sweep(policy, all_owners=all_owners, limit_s=every_s)

        self._beside().repeat("sweep", every_s, sweep)

    def with_titles(self, model: Callable[[str], Any] | None = None) -> Self:
        """Give each chat a title when the user first says something in it.

        It is taken from the message at once. A `model`, which takes a prompt and returns a title,
        is asked for a better one after that, beside all else. The user's own stays.
        """
        from ...lifecycle._async.title_writer import AsyncTitleWriter

        refuse_uncallable(model, "model")
        return self.on_event(AsyncTitleWriter(self._lifecycle, self._beside(), model))

    async def stop(self, timeout_s: float = STOP_S) -> StopReport:
        """Begin nothing more beside the calls, and wait for what runs; closing does so, too.

        Return what came to its end, and what was left when the time was over.
        """
        check.seconds(timeout_s, "timeout_s")
        return await self._beside().stop(timeout_s)


def _checked(policy: SweepPolicy | None) -> SweepPolicy:
    """Return a policy that was given, or the usual one."""
    if policy is None:
        return SweepPolicy()
    from ...rules.sweep_policy import check_policy

    check_policy(policy)
    return policy
