"""The client of the servers: it runs commands and scripts, and deals with their failures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from redis import __version__
from redis.exceptions import NoScriptError, ResponseError

from ....calls import AsyncAnswer
from ....errors import SapwoodError, StoreBusyError, UsageError
from ...base.queues import AsyncCallerQueues
from ...base.refusals import store_closed
from ..driver_errors import FAILURES, is_moving, may_help, translate
from ..options import AsyncConnectionSlots, AsyncLock, AsyncRedisDriver
from ..scripts import script

TRIES = 4
# While a slot is moved to another node. The driver has waited for half a second each time.
MOVING_TRIES = 60
MOVING_PAUSE_S = 0.05
# What a driver stumbles over when its connection is closed under it, or is of another event loop.
TORN = (AttributeError, TypeError, ValueError, RuntimeError)
# Before that version a pool wanted to know for which command, and never used it.
FOR: tuple[str, ...] = () if tuple(map(int, __version__.split(".")[:2])) >= (5, 3) else ("_",)
NEVER = "-"
"""The part of a key that is never there."""

RedisCommand = Sequence[Any]


class ScriptCall(NamedTuple):
    """A script to run, with the keys that say where, and its arguments."""

    name: str
    keys: Sequence[str]
    args: Sequence[Any]


class AsyncRedisClient:
    """The driver's client in use by one store: of one server, or of a cluster."""

    def __init__(
        self,
        connect: Callable[[], Any],
        *,
        is_cluster: bool,
        owns_client: bool,
        slots: AsyncConnectionSlots,
    ) -> None:
        self._slots = slots
        self._connect = connect
        self.is_cluster = is_cluster
        self._owns_client = owns_client
        self._driver: Any = None
        self._lock = AsyncLock()
        self._is_closed = False

    async def driver(self) -> Any:
        """Return the driver's client; a cluster's sync one connects when it is made."""
        if self._is_closed:
            raise store_closed()
        if self._driver is None:
            async with self._lock:
                if self._driver is None:
                    self._driver = self._connect()
        return self._driver

    async def run(self, *command: Any, **options: Any) -> Any:
        """Run one command; a slot that is being moved is waited for."""
        tries, waits = TRIES, MOVING_TRIES
        while True:
            try:
                driver = await self.driver()
                async with self._slots:
                    return await driver.execute_command(*command, **options)
            except NoScriptError:
                raise
            except FAILURES as error:
                tries -= may_help(error)
                waits -= is_moving(error)
                if not (tries and may_help(error)) and not (waits and is_moving(error)):
                    raise translate(error) from error
                if is_moving(error):
                    await AsyncCallerQueues.pause(MOVING_PAUSE_S)
            except TORN as error:
                raise self._torn(error) from error

    def _torn(self, error: Exception) -> SapwoodError:
        if self._is_closed:
            return store_closed()
        if isinstance(error, RuntimeError) and "loop" in str(error):
            return UsageError("Redis: the client has connections of another event loop")
        raise error

    async def run_script(self, name: str, keys: Sequence[str], *args: Any) -> Any:
        """Run a script. All of them may be sent again when an answer was lost."""
        call = ScriptCall(name, keys, args)
        try:
            return await self.run(*self.command(call))
        except NoScriptError:
            return await self.run(*self.command(call, with_text=True))

    def command(self, call: ScriptCall, *, with_text: bool = False) -> RedisCommand:
        """Return the command that runs a script; with its text, if the server does not know it.

        While a cluster moves a slot, its keys are on two nodes, and a script on either would find
        some of them missing. A node runs no script then of whose keys one is not there.
        """
        keys = [*call.keys, call.keys[0][:-1] + NEVER] if self.is_cluster else call.keys
        text, digest = script(call.name)
        how = ("EVAL", text) if with_text else ("EVALSHA", digest)
        return (*how, len(keys), *keys, *call.args)

    async def run_all(self, commands: Sequence[RedisCommand]) -> list[Any]:
        """Run commands in one go, not as a transaction; the first that fails is raised."""
        if not commands:
            return []
        answers = await self.send(commands)
        for answer in answers:
            if isinstance(answer, Exception):
                raise translate(answer) from answer
        return answers

    async def try_scripts(self, calls: Sequence[ScriptCall]) -> list[Any]:
        """Run scripts in one go; where one fails, its error is its answer.

        Nobody waits here for a slot that is being moved: the others need not wait with them.
        """
        answers = await self.send([self.command(it) for it in calls]) if calls else []
        unknown = [n for n, answer in enumerate(answers) if isinstance(answer, NoScriptError)]
        if unknown:
            texts = await self.send([self.command(calls[n], with_text=True) for n in unknown])
            for n, answer in zip(unknown, texts, strict=True):
                answers[n] = answer
        return [translate(it) if isinstance(it, Exception) else it for it in answers]

    async def run_scripts(self, calls: Sequence[ScriptCall]) -> list[Any]:
        """Run scripts in one go; a slot that is being moved is waited for, a failure is raised."""
        answers = await self.try_scripts(calls)
        for n, answer in enumerate(answers):
            if isinstance(answer, StoreBusyError):
                answers[n] = await self.run_script(calls[n].name, calls[n].keys, *calls[n].args)
            elif isinstance(answer, Exception):
                raise answer
        return answers

    async def fetch(self, commands: Sequence[RedisCommand]) -> list[Any]:
        """Run commands in one go that only read; their answers are as the server gives them.

        A client of somebody else's may do more than ours when something fails.
        """
        is_direct = self._owns_client and not self.is_cluster
        return await self._send(commands, _directly if is_direct else _by_pipeline)

    async def send(self, commands: Sequence[RedisCommand]) -> list[Any]:
        """Run commands in one go; where one fails, the driver's error is its answer."""
        return await self._send(commands, _by_pipeline)

    async def _send(
        self,
        commands: Sequence[RedisCommand],
        go: Callable[[Any, Sequence[RedisCommand]], AsyncAnswer[list[Any]]],
    ) -> list[Any]:
        tries = TRIES
        while True:
            tries -= 1
            try:
                driver = await self.driver()
                async with self._slots:
                    return await go(driver, commands)
            except FAILURES as error:
                if not (tries and may_help(error)):
                    raise translate(error) from error
            except TORN as error:
                raise self._torn(error) from error

    async def on_each_server(self, *command: Any) -> list[Any]:
        """Run a command on every server that takes writes."""
        if not self.is_cluster:
            return [await self.run(*command)]
        answers = await self.run(*command, target_nodes="primaries")
        nodes = {node.name for node in self._driver.get_primaries()}
        is_by_node = isinstance(answers, dict) and set(answers) <= nodes
        return list(answers.values()) if is_by_node else [answers]

    async def aclose(self) -> None:
        """Close the client, unless it is somebody else's."""
        self._is_closed = True
        if self._owns_client and self._driver is not None:
            try:
                await AsyncRedisDriver.close(self._driver)
            except FAILURES as error:
                raise translate(error) from error


async def _by_pipeline(driver: Any, commands: Sequence[RedisCommand]) -> list[Any]:
    pipe = driver.pipeline(transaction=False)
    for command in commands:
        pipe.execute_command(*command)
    answers: list[Any] = await pipe.execute(raise_on_error=False)
    return answers


async def _directly(driver: Any, commands: Sequence[RedisCommand]) -> list[Any]:
    """Run commands on a connection; an error is an answer, too.

    A pipeline does the same, and as much again to get ready for all that it can do.
    """
    pool = driver.connection_pool
    connection = await pool.get_connection(*FOR)
    try:
        await connection.send_packed_command(connection.pack_commands(commands))
        answers: list[Any] = []
        for _ in commands:
            try:
                answers.append(await connection.read_response())
            except ResponseError as error:
                answers.append(error)
    except BaseException:
        # Who gets the connection next must not get answers that are still to come.
        await connection.disconnect()
        raise
    finally:
        await pool.release(connection)
    return answers
