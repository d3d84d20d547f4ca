"""The way to the servers: commands and scripts, one by one or together, and what to do when
they fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from redis.exceptions import NoScriptError

from ....calling import AsyncAnswer
from ....errors import ClosedError, SapwoodError, StoreBusyError, UsageError
from ..driver import AsyncDriver, AsyncGate, AsyncSlots
from ..failure import FAILURES, is_moving, may_help, translate
from ..scripts import script

TRIES = 4
# While a slot is moved to another node. The driver has waited for half a second each time.
MOVING_TRIES = 60
MOVING_PAUSE_S = 0.05
# What a driver stumbles over when its connection is closed under it, or is of another event loop.
TORN = (AttributeError, TypeError, ValueError, RuntimeError)
NEVER = "-"
"""The part of a key that is never there."""

Command = Sequence[Any]


class Asked(NamedTuple):
    """A script to run, with the keys that say where, and its arguments."""

    name: str
    keys: Sequence[str]
    args: Sequence[Any]


class AsyncLink:
    """A client in use by one store: of one server, or of a cluster."""

    def __init__(
        self,
        connect: Callable[[], Any],
        *,
        is_cluster: bool,
        owns_client: bool,
        slots: AsyncSlots,
    ) -> None:
        self._slots = slots
        self._connect = connect
        self.is_cluster = is_cluster
        self._owns_client = owns_client
        self._client: Any = None
        self._gate = AsyncGate()
        self._is_closed = False

    async def client(self) -> Any:
        """Give the client; a cluster's sync one connects when it is made."""
        if self._is_closed:
            raise ClosedError("the store is closed")
        if self._client is None:
            async with self._gate:
                if self._client is None:
                    self._client = self._connect()
        return self._client

    async def run(self, *command: Any, **options: Any) -> Any:
        """Run one command; a slot that is being moved is waited for."""
        tries, waits = TRIES, MOVING_TRIES
        while True:
            try:
                client = await self.client()
                async with self._slots:
                    return await client.execute_command(*command, **options)
            except NoScriptError:
                raise
            except FAILURES as error:
                tries -= may_help(error)
                waits -= is_moving(error)
                if not (tries and may_help(error)) and not (waits and is_moving(error)):
                    raise translate(error) from error
                if is_moving(error):
                    await self.pause(MOVING_PAUSE_S)
            except TORN as error:
                raise self._torn(error) from error

    def _torn(self, error: Exception) -> SapwoodError:
        if self._is_closed:
            return ClosedError("the store was closed meanwhile")
        if isinstance(error, RuntimeError) and "loop" in str(error):
            return UsageError("Redis: the client has connections of another event loop")
        raise error

    async def ask(self, name: str, keys: Sequence[str], *args: Any) -> Any:
        """Run a script. All of them may be sent again when an answer was lost."""
        asked = Asked(name, keys, args)
        try:
            return await self.run(*self.command(asked))
        except NoScriptError:
            return await self.run(*self._with_text(asked))

    def command(self, asked: Asked) -> Command:
        """Give the command that runs a script, once the server knows it."""
        return ("EVALSHA", script(asked.name).digest, *self._where(asked), *asked.args)

    def _with_text(self, asked: Asked) -> Command:
        """Give the command that runs a script which the server does not know."""
        return ("EVAL", script(asked.name).text, *self._where(asked), *asked.args)

    def _where(self, asked: Asked) -> Sequence[Any]:
        """Give the keys, with their number before them.

        While a cluster moves a slot, its keys are on two nodes, and a script on either would find
        some of them missing. A node runs no script then of whose keys one is not there.
        """
        keys = [*asked.keys, asked.keys[0][:-1] + NEVER] if self.is_cluster else asked.keys
        return (len(keys), *keys)

    async def run_all(self, commands: Sequence[Command]) -> list[Any]:
        """Run commands in one go, not as a transaction; the first that fails is raised."""
        if not commands:
            return []
        answers = await self.send(commands)
        for answer in answers:
            if isinstance(answer, Exception):
                raise translate(answer) from answer
        return answers

    async def ask_all(self, asked: Sequence[Asked]) -> list[Any]:
        """Run scripts in one go; where one fails, its error is its answer.

        Nobody waits here for a slot that is being moved: the others need not wait with them.
        """
        answers = await self.send([self.command(it) for it in asked]) if asked else []
        unknown = [n for n, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
        if unknown:
            texts = await self.send([self._with_text(asked[n]) for n in unknown])
            for n, answer in zip(unknown, texts, strict=True):
                answers[n] = answer
        return [translate(it) if isinstance(it, Exception) else it for it in answers]

    async def ask_each(self, asked: Sequence[Asked]) -> list[Any]:
        """Run scripts in one go; a slot that is being moved is waited for, a failure is raised."""
        answers = await self.ask_all(asked)
        for n, answer in enumerate(answers):
            if isinstance(answer, StoreBusyError):
                answers[n] = await self.ask(asked[n].name, asked[n].keys, *asked[n].args)
            elif isinstance(answer, Exception):
                raise answer
        return answers

    async def send(self, commands: Sequence[Command]) -> list[Any]:
        """Run commands in one go; where one fails, the driver's error is its answer."""
        return await self._send(commands, self._by_pipeline)

    async def fetch(self, commands: Sequence[Command]) -> list[Any]:
        """Run commands in one go that only read; their answers are as the server gives them.

        A client of somebody else's may do more than ours when something fails.
        """
        is_direct = self._owns_client and not self.is_cluster
        return await self._send(commands, AsyncDriver.fetch if is_direct else self._by_pipeline)

    async def _by_pipeline(self, client: Any, commands: Sequence[Command]) -> list[Any]:
        pipe = client.pipeline(transaction=False)
        for command in commands:
            pipe.execute_command(*command)
        answers: list[Any] = await pipe.execute(raise_on_error=False)
        return answers

    async def _send(
        self,
        commands: Sequence[Command],
        go: Callable[[Any, Sequence[Command]], AsyncAnswer[list[Any]]],
    ) -> list[Any]:
        tries = TRIES
        while True:
            tries -= 1
            try:
                client = await self.client()
                async with self._slots:
                    answers = await go(client, commands)
            except FAILURES as error:
                if not (tries and may_help(error)):
                    raise translate(error) from error
            except TORN as error:
                raise self._torn(error) from error
            else:
                return answers

    async def on_each_server(self, *command: Any) -> list[Any]:
        """Run a command on every server that takes writes."""
        if not self.is_cluster:
            return [await self.run(*command)]
        answers = await self.run(*command, target_nodes="primaries")
        return list(answers.values()) if self._is_by_node(answers) else [answers]

    def _is_by_node(self, answers: Any) -> bool:
        nodes = {node.name for node in self._client.get_primaries()}
        return isinstance(answers, dict) and set(answers) <= nodes

    async def pause(self, seconds: float) -> None:
        """Wait."""
        await AsyncDriver.pause(seconds)

    async def aclose(self) -> None:
        """Close the client, unless it is somebody else's."""
        self._is_closed = True
        if self._owns_client and self._client is not None:
            try:
                await AsyncDriver.close(self._client)
            except FAILURES as error:
                raise translate(error) from error
