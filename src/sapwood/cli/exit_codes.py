"""Exit codes: one for each kind of error, documented, and never given to another."""

from __future__ import annotations

from .. import errors

OK = 0
UNEXPECTED = 1
USAGE = 2
PROBLEMS = 10
INTERRUPTED = 130
BROKEN_PIPE = 141

CODES: dict[type[errors.SapwoodError], int] = {
    errors.SapwoodError: UNEXPECTED,
    errors.UsageError: USAGE,
    errors.NotFoundError: 3,
    errors.ConflictError: 4,
    errors.StoreError: 5,
    errors.StoreCorruptError: 6,
    errors.SchemaError: 7,
    errors.UnsupportedOperationError: 8,
    errors.MissingDependencyError: 9,
    errors.CompactionError: 11,
    errors.ContextOverflowError: 12,
}


def exit_code_of(error: errors.SapwoodError) -> int:
    """Return the exit code of an error: that of the nearest class which has one."""
    return next(CODES[cls] for cls in type(error).__mro__ if cls in CODES)
