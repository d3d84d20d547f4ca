"""What goes wrong while clients write."""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import Any, Protocol

from servers.proxy import Proxy


class Clients(Protocol):
    """The clients, as far as something can happen to them."""

    def kill_one(self) -> None:
        """Kill one of them, and start it again."""


class Faults:
    """Carries out faults at random, and counts them."""

    def __init__(self, server: Any, proxy: Proxy, clients: Clients, chance: random.Random) -> None:
        self._server = server
        self._proxy = proxy
        self._clients = clients
        self._chance = chance
        self.tried: Counter[str] = Counter()
        self._kinds = {
            "server killed and restarted": self._kill_server,
            "connections cut": proxy.cut,
            "answers delayed for a while": self._delay,
            "answer truncated": lambda: proxy.truncate_next_answer(chance.randrange(1, 40)),
            "answer lost": proxy.swallow_next_answer,
            "request lost": proxy.lose_next_request,
            "network silent for a while": self._hold,
            "client killed and restarted": clients.kill_one,
        }

    def run(self, seconds: float) -> None:
        """Go on for so long, and leave everything in order."""
        end = time.monotonic() + seconds
        # Each kind once, whatever chance says.
        due = self._chance.sample(sorted(self._kinds), len(self._kinds))
        while time.monotonic() < end:
            time.sleep(min(self._chance.uniform(0.1, 1.5), max(0.0, end - time.monotonic())))
            kind = due.pop() if due else self._chance.choice(sorted(self._kinds))
            self._kinds[kind]()
            self.tried[kind] += 1
        self._proxy.restore()

    def _kill_server(self) -> None:
        self._server.kill()
        time.sleep(self._chance.uniform(0, 0.5))
        self._server.start()

    def _delay(self) -> None:
        self._proxy.delay(self._chance.uniform(0.01, 0.2))
        time.sleep(self._chance.uniform(0.2, 1))
        self._proxy.delay(0)

    def _hold(self) -> None:
        self._proxy.hold()
        time.sleep(self._chance.uniform(0.2, 2))
        self._proxy.release()
