"""The packaged steps of the schema: forward only, each recorded with the checksum of its text."""

from __future__ import annotations

import hashlib
import re
from importlib import resources
from typing import NamedTuple

from psycopg import sql

from ...errors import SchemaError, SchemaTooNewError, UsageError

SCHEMA = "sapwood"
_SCHEMA_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")


_BY_TREE = "{by_tree}"
_TABLE_BY_TREE = re.compile(r"CREATE TABLE \{s\}\.(\w+) \(\n(?:    .*\n)+\) \{by_tree\};")
# Every append writes its session's row again: with some room beside it, only that page changes.
_ROOMY = ("session",)
MOST_PARTITIONS = 1024


class Step(NamedTuple):
    """One packaged migration."""

    version: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        """The digest of the step's text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def packaged_steps() -> list[Step]:
    """Return the migrations that this version of sapwood ships, in order."""
    folder = resources.files(__package__) / "schema"
    names = sorted(it.name for it in folder.iterdir() if it.name.endswith(".sql"))
    return [
        Step(int(name.partition("_")[0]), name, (folder / name).read_text("utf-8"))
        for name in names
    ]


def check_schema(name: str) -> str:
    """Check the name of a schema, and return it."""
    if not isinstance(name, str) or not _SCHEMA_NAME.fullmatch(name):
        raise UsageError(
            "schema must be up to 63 letters, digits and underscores, and begin with no digit",
            path="schema",
        )
    return name


def quoted(schema: str) -> str:
    """Return a schema's name as it stands in statements."""
    return sql.Identifier(schema).as_string()


def in_schema(text: str, schema: str) -> bytes:
    """Put the schema's name into a statement."""
    return text.replace("{s}", quoted(schema)).encode()


def statements(step: Step, schema: str, partitions: int) -> bytes:
    """Return the statements of a step; with partitions, the tables of trees are made of so many."""
    clause = "PARTITION BY HASH (tree)" if partitions else ""
    text = [step.text.replace(_BY_TREE, clause)]
    for table in _TABLE_BY_TREE.findall(step.text):
        parts = [f"{{s}}.{table}_p{n}" for n in range(partitions)]
        text += [
            f"CREATE TABLE {part} PARTITION OF {{s}}.{table}"
            f" FOR VALUES WITH (MODULUS {partitions}, REMAINDER {n});"
            for n, part in enumerate(parts)
        ]
        if table in _ROOMY:
            roomy = parts or [f"{{s}}.{table}"]
            text += [f"ALTER TABLE {part} SET (fillfactor = 70);" for part in roomy]
    return in_schema("\n".join(text), schema)


def check_partitions(count: int) -> int:
    """Check a number of partitions, and return it."""
    if type(count) is not int or not 0 <= count <= MOST_PARTITIONS:
        raise UsageError(
            f"partitions must be a whole number from 0, for none, to {MOST_PARTITIONS}",
            path="partitions",
        )
    return count


def steps_after(recorded: dict[int, str], where: str) -> list[Step]:
    """Return the steps that are still to be taken; refuse what is newer, or of another text."""
    steps = packaged_steps()
    newest = max(recorded, default=0)
    if newest > steps[-1].version:
        raise SchemaTooNewError(
            f"{where} has schema version {newest} and this sapwood knows up to "
            f"{steps[-1].version}: upgrade it"
        )
    for step in steps:
        if step.version in recorded and recorded[step.version] != step.checksum:
            raise SchemaError(
                f"{where} was made with another text of migration {step.name}: "
                "it comes from a version of sapwood that was never released"
            )
    return [step for step in steps if step.version not in recorded]
