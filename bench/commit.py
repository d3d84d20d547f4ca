"""What one raw commit costs on this disk: the measure of all that is written at FULL."""

from __future__ import annotations

from append_rows import raw_appender
from measure import calm, percentile, time_of
from world import World, go_round

COMMITS = 200


class Commits:
    """Raw commits, to be timed now and then: other work on the machine comes and goes."""

    def __init__(self, world: World) -> None:
        table = world.new_raw("commit")
        self._append = raw_appender(table)
        go_round(table.path, self._append)

    def p50_us(self) -> float:
        """Return what one costs at the moment."""
        calm()
        return percentile([time_of(self._append) for _ in range(COMMITS)], 0.5)
