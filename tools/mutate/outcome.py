"""What became of the mutations: kept in a file as they come, shown as a table."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from draw import Drawn


class Outcome(NamedTuple):
    """The tier that noticed, and its first test that did; None when none did."""

    tier: str | None
    by: str

    @property
    def words(self) -> str:
        """Return it for a cell of the table."""
        if self.tier is None:
            return "survived"
        by = _code(self.by) if "::" in self.by else self.by
        return by if self.tier == "default" else f"only {self.tier}: {by}"


class Outcomes:
    """Those of earlier runs and of this one, by the mutation."""

    def __init__(self, path: Path) -> None:
        self._path = path
        stored = json.loads(path.read_text()) if path.exists() else {}
        self._known = {key: Outcome(*value) for key, value in stored.items()}

    def find(self, drawn: Drawn) -> Outcome | None:
        return self._known.get(drawn.mutation.key)

    def put(self, drawn: Drawn, outcome: Outcome) -> None:
        self._known[drawn.mutation.key] = outcome
        self._path.parent.mkdir(parents=True, exist_ok=True)
        written = self._path.with_suffix(".new")
        written.write_text(json.dumps(self._known, indent=1, ensure_ascii=False))
        written.replace(self._path)


def table(outcomes: list[tuple[Drawn, Outcome]]) -> Iterator[str]:
    """Yield the lines of a table in Markdown, and of the sums below it."""
    yield "| # | place | kind | change | caught by |"
    yield "|---|---|---|---|---|"
    for number, ((_, mutation), outcome) in enumerate(outcomes, 1):
        change = f"{_code(mutation.was)} → {_code(mutation.becomes)}"
        place = f"{mutation.path.removeprefix('src/sapwood/')}:{mutation.line}"
        cells = (str(number), place, mutation.kind, change, outcome.words)
        yield "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"
    tiers = [outcome.tier for _, outcome in outcomes]
    yield ""
    yield (
        f"{len(tiers)} mutations: {tiers.count('default')} caught by the default tier,"
        f" {tiers.count('full')} by the full tier only, {tiers.count(None)} survived."
    )


def _code(text: str) -> str:
    """Quote code; a text with a backtick needs two around it."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"
