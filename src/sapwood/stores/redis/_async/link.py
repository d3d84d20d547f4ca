"""The way to the servers: commands and scripts, one by one or together, and what to do when
they fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from redis.exceptions import NoScriptError, RedisError

from ....errors import ClosedError
from ..driver import AsyncDriver, AsyncGate, AsyncSlots
from ..failure import may_help, translate
from ..scripts import script

TRIES = 4

Command = Sequence[Any]


class Asked(NamedTuple):
    """A script to run, with the keys that say where, and its arguments."""

    name: str
    keys: Sequence[str]
    args: Sequence[Any]

    @property
    def command(self) -> Command:
        """The command that runs it, once the server knows it."""
        return ("EVALSHA", script(self.name).digest, len(self.keys), *self.keys, *self.args)

    @property
    def whole(self) -> Command:
        """The command that runs it anywhere."""
        return ("EVAL", script(self.name).text, len(self.keys), *self.keys, *self.args)


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
        """Run one command."""
        tries = TRIES
        while True:
            tries -= 1
            try:
                client = await self.client()
                async with self._slots:
                    return await client.execute_command(*command, **options)
            except NoScriptError:
                raise
            except (RedisError, OSError) as error:
                if not (tries and may_help(error)):
                    raise translate(error) from error

    async def ask(self, name: str, keys: Sequence[str], *args: Any) -> Any:
        """Run a script. All of them may be sent again when an answer was lost."""
        asked = Asked(name, keys, args)
        try:
            return await self.run(*asked.command)
        except NoScriptError:
            return await self.run(*asked.whole)

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
        """Run scripts in one go; where one fails, its error is its answer."""
        answers = await self.send([it.command for it in asked]) if asked else []
        for n, answer in enumerate(answers):
            if isinstance(answer, NoScriptError):
                answers[n] = await self.run(*asked[n].whole)
            elif isinstance(answer, Exception):
                answers[n] = translate(answer)
        return answers

    async def send(self, commands: Sequence[Command]) -> list[Any]:
        """Run commands in one go; where one fails, the driver's error is its answer."""
        tries = TRIES
        while True:
            tries -= 1
            try:
                client = await self.client()
                pipe = client.pipeline(transaction=False)
                for command in commands:
                    pipe.execute_command(*command)
                async with self._slots:
                    answers: list[Any] = await pipe.execute(raise_on_error=False)
            except (RedisError, OSError) as error:
                if not (tries and may_help(error)):
                    raise translate(error) from error
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
        """Close the client, unless it is somebody else's; closing again does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._owns_client and self._client is not None:
            try:
                await self._client.aclose()
            except (RedisError, OSError) as error:
                raise translate(error) from error
