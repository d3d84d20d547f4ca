"""What others do between two steps of a Redis store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sapwood.stores.redis import RedisStore
from sapwood.stores.redis.scripts import script

SCRIPTS = (
    "append",
    "apply",
    "release_name",
    "apply_freeing",
    "inheritance",
    "look",
    "publish_changes",
    "range_tokens",
    "context_tokens",
    "index_key",
)


def before(store: RedisStore, step: str, act: Callable[[], Any]) -> list[str]:
    """Do something once, before the first script or command so named; give what was done."""
    client: Any = store._runner.here()._client
    run, send = client.run, client.send
    done: list[str] = []

    def meet(commands: Sequence[Sequence[Any]]) -> None:
        if not done and any(step in _names(it) for it in commands):
            done.append(step)
            act()

    def run_after(*command: Any, **options: Any) -> Any:
        meet([command])
        return run(*command, **options)

    def send_after(commands: Sequence[Sequence[Any]]) -> Any:
        meet(commands)
        return send(commands)

    client.run, client.send = run_after, send_after
    return done


def _names(command: Sequence[Any]) -> Sequence[str]:
    """Name a command, alone and with the last letter of its key; or the script that it runs."""
    name, what, *_ = [*command, ""]
    if name == "EVALSHA":
        return [it for it in SCRIPTS if what == script(it).digest]
    return [name, f"{name} {str(what)[-1:]}"]
