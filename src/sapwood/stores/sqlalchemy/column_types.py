"""The types of our columns, in each kind of database."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Integer, LargeBinary, String, TypeDecorator
from sqlalchemy.dialects import mysql, postgresql
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeEngine, UserDefinedType

from ...rules.ids import MAX_KEY_BYTES, MAX_NAME_BYTES

MYSQL = ("mysql", "mariadb")
Big = BigInteger().with_variant(Integer, "sqlite")
"""A whole number of 64 bits; SQLite only counts up what it knows as INTEGER."""
Blob = LargeBinary().with_variant(mysql.LONGBLOB(), *MYSQL)
Digest = LargeBinary(32).with_variant(mysql.VARBINARY(32), *MYSQL)
KeyDigest = LargeBinary(88).with_variant(mysql.VARBINARY(88), *MYSQL)

_RISING = {"mysql": "BIGINT NOT NULL AUTO_INCREMENT", "postgresql": "BIGSERIAL"}


class Name(TypeDecorator[str]):
    """An id, label or owner: compared byte by byte, whatever the database's collation.

    MySQL and MariaDB keep it as bytes: their collations take names for equal that are not, and
    most of them do not count blanks at the end.
    """

    impl = String
    cache_ok = True
    most_bytes = MAX_NAME_BYTES

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name in MYSQL:
            return dialect.type_descriptor(mysql.VARBINARY(self.most_bytes))
        if dialect.name == "postgresql":
            return dialect.type_descriptor(postgresql.TEXT(collation="C"))
        return dialect.type_descriptor(String())

    def process_bind_param(self, value: str | None, dialect: Dialect) -> Any:
        if value is None or dialect.name not in MYSQL:
            return value
        return value.encode()

    def bind_processor(self, dialect: Dialect) -> Any:
        # Where there is nothing to be done, not even a call for each value.
        return super().bind_processor(dialect) if dialect.name in MYSQL else None

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        return super().result_processor(dialect, coltype) if dialect.name in MYSQL else None

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:
        # A table that somebody brought along may hold text where ours holds bytes.
        return value.decode() if isinstance(value, bytes) else value


class KeyName(Name):
    """A document's key, which may be longer than other names."""

    cache_ok = True
    most_bytes = MAX_KEY_BYTES


class Rising(UserDefinedType[int]):
    """A number that the server gives to each new row, larger than any before.

    SQLite has this for primary keys only: there the number is taken from a counter.
    """

    cache_ok = True

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def get_col_spec(self, **kw: Any) -> str:
        return _RISING.get(self.kind, "BIGINT")
