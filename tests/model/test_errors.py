"""Every error has a code, says what to do, and survives pickling (section 9 of the design)."""

from __future__ import annotations

import copy
import pickle
import re

import pytest

from sapwood import errors
from sapwood.errors import (
    ConflictError,
    MissingDependencyError,
    NotFoundError,
    SapwoodError,
    StoreError,
    UsageError,
)

ALL = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, SapwoodError)
]

# Section 9 of the design: each class, and what it is an instance of.
TREE = {
    "SapwoodError": (Exception,),
    "UsageError": (SapwoodError, ValueError),
    "MessageTooLargeError": (UsageError,),
    "BlockLimitError": (UsageError,),
    "NotFoundError": (SapwoodError, LookupError),
    "ConflictError": (SapwoodError,),
    "MessageConflictError": (ConflictError,),
    "StaleTipError": (ConflictError,),
    "StaleVersionError": (ConflictError,),
    "AlreadyExistsError": (ConflictError,),
    "LeaseLostError": (ConflictError,),
    "SessionBusyError": (ConflictError,),
    "TurnStoppedError": (ConflictError,),
    "SessionClosedError": (ConflictError,),
    "IllegalStateError": (ConflictError,),
    "StoreError": (SapwoodError,),
    "StoreUnavailableError": (StoreError,),
    "StoreBusyError": (StoreError,),
    "StoreCorruptError": (StoreError,),
    "ReadOnlyError": (StoreError,),
    "ClosedError": (StoreError,),
    "SchemaError": (StoreError,),
    "SchemaTooNewError": (errors.SchemaError,),
    "MigrationNeededError": (errors.SchemaError,),
    "CompactionError": (SapwoodError,),
    "ContextOverflowError": (SapwoodError,),
    "ModelFailedError": (SapwoodError,),
    "UnsupportedOperationError": (SapwoodError,),
    "MissingDependencyError": (SapwoodError, ImportError),
}

every_error = pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)


def test_the_errors_are_those_of_the_design() -> None:
    assert {kind.__name__: kind.__bases__ for kind in ALL} == TREE


def drawn_tree() -> dict[str, str | None]:
    """Read the docstring's drawing: each class and the one that it hangs from."""
    parents: dict[str, str | None] = {}
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        if found := re.match(r"([│├└─ ]*)(\w+Error)\b", line):
            level = len(found[1]) // 3
            parents[found[2]] = above[level - 1] if level else None
            above[level:] = [found[2]]
    return parents


def test_the_module_s_docstring_draws_the_whole_tree() -> None:
    real = {kind.__name__: kind.__bases__[0].__name__ for kind in ALL if kind is not SapwoodError}
    assert drawn_tree() == {"SapwoodError": None, **real}


def test_the_docstring_names_the_builtin_that_an_error_is_too() -> None:
    for builtin, name in (
        ("ValueError", "UsageError"),
        ("LookupError", "NotFoundError"),
        ("ImportError", "MissingDependencyError"),
    ):
        assert f"{name} ({builtin})" in (errors.__doc__ or "")


def test_every_code_is_a_slug_of_its_own() -> None:
    codes = [vars(kind)["code"] for kind in ALL]
    assert len(set(codes)) == len(ALL)
    assert all(re.fullmatch("[a-z]+(_[a-z]+)*", code) for code in codes)


def test_codes_do_not_change() -> None:
    assert {kind.__name__: kind.code for kind in ALL} == {
        "SapwoodError": "error",
        "UsageError": "usage",
        "MessageTooLargeError": "message_too_large",
        "BlockLimitError": "block_limit",
        "NotFoundError": "not_found",
        "ConflictError": "conflict",
        "MessageConflictError": "message_conflict",
        "StaleTipError": "stale_tip",
        "StaleVersionError": "stale_version",
        "AlreadyExistsError": "already_exists",
        "LeaseLostError": "lease_lost",
        "SessionClosedError": "session_closed",
        "SessionBusyError": "session_busy",
        "TurnStoppedError": "turn_stopped",
        "IllegalStateError": "illegal_state",
        "StoreError": "store",
        "StoreUnavailableError": "store_unavailable",
        "StoreBusyError": "store_busy",
        "StoreCorruptError": "store_corrupt",
        "ReadOnlyError": "read_only",
        "ClosedError": "closed",
        "SchemaError": "schema",
        "SchemaTooNewError": "schema_too_new",
        "MigrationNeededError": "migration_needed",
        "CompactionError": "compaction_failed",
        "ContextOverflowError": "context_overflow",
        "ModelFailedError": "model_failed",
        "UnsupportedOperationError": "unsupported",
        "MissingDependencyError": "missing_dependency",
    }


def test_only_a_store_that_is_busy_or_unavailable_may_be_tried_again() -> None:
    stores = [kind for kind in ALL if issubclass(kind, StoreError)]
    retryable = {kind.__name__ for kind in stores if kind.retryable}
    assert retryable == {"StoreUnavailableError", "StoreBusyError"}


@every_error
def test_an_error_says_what_it_was_given(kind: type[SapwoodError]) -> None:
    assert str(kind("what to do")) == "what to do"
    assert kind.__doc__


def with_all_fields(kind: type[SapwoodError]) -> SapwoodError:
    fields: dict[str, str] = {}
    if issubclass(kind, UsageError):
        fields = {"path": "parts[0].text"}
    elif issubclass(kind, NotFoundError):
        fields = {"kind": "session", "id": "s-1"}
    elif issubclass(kind, MissingDependencyError):
        fields = {"name": "psycopg", "path": "/nowhere"}
    error = kind("what to do", **fields)
    for name, value in fields.items():
        assert getattr(error, name) == value
    error.add_note("seen in a test")
    return error


@every_error
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_an_error_is_pickled_with_all_its_fields(kind: type[SapwoodError], protocol: int) -> None:
    assert_alike(pickle.loads(pickle.dumps(with_all_fields(kind), protocol)), with_all_fields(kind))


@every_error
def test_an_error_is_copied_with_all_its_fields(kind: type[SapwoodError]) -> None:
    error = with_all_fields(kind)
    for twin in (copy.copy(error), copy.deepcopy(error)):
        assert twin is not error
        assert_alike(twin, error)


def assert_alike(twin: SapwoodError, error: SapwoodError) -> None:
    assert type(twin) is type(error)
    assert (str(twin), twin.args, twin.code) == (str(error), error.args, error.code)
    assert vars(twin) == vars(error)
    for name in ("path", "kind", "id", "name", "msg", "retryable"):
        assert getattr(twin, name, None) == getattr(error, name, None), name


def test_fields_that_are_not_given_are_empty() -> None:
    assert UsageError("no").path == ""
    missing = NotFoundError("no")
    assert (missing.kind, missing.id) == ("", "")


class TwoFieldsError(ConflictError):
    """An error as an integration may add one, with an argument that must be given."""

    def __init__(self, message: str, *, attempt: int) -> None:
        super().__init__(message)
        self.attempt = attempt


def test_a_subclass_with_fields_of_its_own_is_pickled_too() -> None:
    twin = pickle.loads(pickle.dumps(TwoFieldsError("again", attempt=3)))
    assert (str(twin), twin.attempt) == ("again", 3)
