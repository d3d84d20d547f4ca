"""Names of a package that are loaded when they are asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module

from .errors import MissingDependencyError


def lazy_names(
    package: str,
    modules: Mapping[str, str],
    *,
    drivers: Collection[str] = (),
    missing: str = "",
) -> Callable[[str], object]:
    """Return the `__getattr__` of a package, given in which module of it each name stands.

    A driver that is not installed is an error that says what is `missing`.
    """

    def load(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            module = import_module(modules[name], package)
        except ImportError as error:
            if (error.name or "").partition(".")[0] not in drivers:
                raise
            raise MissingDependencyError(missing, name=error.name) from error
        value: object = getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return load
