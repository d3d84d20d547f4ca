"""Every error that sapwood raises.

SapwoodError
├─ UsageError (ValueError)          the call is wrong whatever is stored
│  ├─ MessageTooLargeError
│  └─ BlockLimitError
├─ NotFoundError (LookupError)      a session, message, overlay ... that is not there
├─ ConflictError                    what is stored says otherwise: read again, then decide
│  ├─ MessageConflictError
│  ├─ StaleTipError
│  ├─ StaleVersionError
│  ├─ AlreadyExistsError
│  ├─ LeaseLostError
│  ├─ SessionClosedError
│  ├─ SessionBusyError
│  ├─ TurnStoppedError
│  └─ IllegalStateError
├─ StoreError                       the store failed; the driver's error is the cause
│  ├─ StoreUnavailableError
│  ├─ StoreBusyError
│  ├─ StoreCorruptError
│  ├─ ReadOnlyError
│  ├─ ClosedError
│  └─ SchemaError
│     ├─ SchemaTooNewError
│     └─ MigrationNeededError
├─ CompactionError                  the summary could not be made; its error is the cause
├─ ContextOverflowError             what has to be shown does not fit the model's context
├─ ModelFailedError                 a model's answer failed, or ended too early
├─ UnsupportedOperationError        the store does not declare this capability
└─ MissingDependencyError (ImportError)
"""

from __future__ import annotations

from typing import Any, ClassVar


class SapwoodError(Exception):
    """The root of the tree. `code` is a stable slug, and the message says what to do."""

    code: ClassVar[str] = "error"

    def __reduce__(self) -> tuple[Any, ...]:
        # Exceptions pickle by their positional arguments alone; ours carry keyword fields too.
        return _restore, (type(self), self.args, self.__dict__)


def _restore(
    kind: type[SapwoodError], args: tuple[Any, ...], fields: dict[str, Any]
) -> SapwoodError:
    error = kind.__new__(kind, *args)
    error.args = args
    for name, value in fields.items():
        setattr(error, name, value)
    return error


class UsageError(SapwoodError, ValueError):
    """The call is wrong, whatever is stored. `path` says where in the argument."""

    code = "usage"

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class MessageTooLargeError(UsageError):
    """A message is larger than the store takes."""

    code = "message_too_large"


class BlockLimitError(UsageError):
    """A context block would exceed its token limit."""

    code = "block_limit"


class NotFoundError(SapwoodError, LookupError):
    """Nothing of this kind has this id, for this owner."""

    code = "not_found"

    def __init__(self, message: str, *, kind: str = "", id: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.id = id


class ConflictError(SapwoodError):
    """What is stored contradicts the call: read again, then decide."""

    code = "conflict"


class MessageConflictError(ConflictError):
    """A message id is taken by other content, another parent, or a deleted message."""

    code = "message_conflict"


class StaleTipError(ConflictError):
    """The session's tip is not the expected one: somebody else appended."""

    code = "stale_tip"


class StaleVersionError(ConflictError):
    """The record's version is not the expected one: somebody else changed it."""

    code = "stale_version"


class AlreadyExistsError(ConflictError):
    """Something with this id exists already."""

    code = "already_exists"


class LeaseLostError(ConflictError):
    """The lease that guards this write was taken over, released or cleared."""

    code = "lease_lost"


class SessionClosedError(ConflictError):
    """The session is closed: it takes no messages, edits, overlays or checkouts."""

    code = "session_closed"


class SessionBusyError(ConflictError):
    """Another turn of the session went on for longer than was to be waited."""

    code = "session_busy"


class TurnStoppedError(ConflictError):
    """The turn was stopped from outside: it takes no more writes."""

    code = "turn_stopped"


class IllegalStateError(ConflictError):
    """A session cannot go from its state to the one asked for; `allowed` are those it can go to."""

    code = "illegal_state"

    def __init__(self, message: str, *, state: str = "", allowed: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.state = state
        self.allowed = allowed


class StoreError(SapwoodError):
    """The store failed. `retryable` says whether the same call may succeed later."""

    code = "store"
    retryable: ClassVar[bool] = False


class StoreUnavailableError(StoreError):
    """The store cannot be reached, or has no room."""

    code = "store_unavailable"
    retryable = True


class StoreBusyError(StoreError):
    """Other writers held the store for longer than the patience allows."""

    code = "store_busy"
    retryable = True


class StoreCorruptError(StoreError):
    """What is stored cannot be read; the message names the row."""

    code = "store_corrupt"


class ReadOnlyError(StoreError):
    """The store can be read but not written."""

    code = "read_only"


class ClosedError(StoreError):
    """The store was closed, or was opened before a fork of the process."""

    code = "closed"


class SchemaError(StoreError):
    """The stored schema does not fit this version of sapwood."""

    code = "schema"


class SchemaTooNewError(SchemaError):
    """A newer version of sapwood wrote this store."""

    code = "schema_too_new"


class MigrationNeededError(SchemaError):
    """An older version wrote this store, and it may not be migrated here."""

    code = "migration_needed"


class CompactionError(SapwoodError):
    """A summary could not be made. Everything is as it was; the summariser's error is the cause."""

    code = "compaction_failed"


class ContextOverflowError(SapwoodError):
    """What has to be shown does not fit the model's context, even after a compaction."""

    code = "context_overflow"


class ModelFailedError(SapwoodError):
    """A model's answer failed, or its stream ended too early. `said` is its vendor's own code."""

    code = "model_failed"

    def __init__(self, message: str, *, said: str | None = None) -> None:
        super().__init__(message)
        self.said = said


class UnsupportedOperationError(SapwoodError):
    """This store does not declare the capability that the call needs."""

    code = "unsupported"


class MissingDependencyError(SapwoodError, ImportError):
    """A package is missing; the message names the extra to install."""

    code = "missing_dependency"

    def __reduce__(self) -> tuple[Any, ...]:
        # An ImportError keeps these outside of its __dict__.
        own = {"msg": self.msg, "name": self.name, "path": self.path}
        return _restore, (type(self), self.args, {**self.__dict__, **own})


class SapwoodWarning(UserWarning):
    """What works, and is most likely not what was meant."""
