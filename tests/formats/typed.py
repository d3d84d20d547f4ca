"""Does a value fit a vendor's typed parameters?

Strictly: no field that they do not name, and every element of every list. (What pydantic makes of
an `Iterable` is checked when it is read, so that a wrong element would pass.)
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin

from typing_extensions import TypeAliasType, get_type_hints, is_typeddict

Miss = str


def misfit(value: Any, kind: Any, path: str = "$") -> Miss | None:
    """Say where a value does not fit a type, None when it does."""
    if isinstance(kind, TypeAliasType):
        kind = kind.__value__
    if kind is Any or kind is object:
        return None
    if is_typeddict(kind):
        return _misfit_object(value, kind, path)
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Required, NotRequired, Annotated):
        return misfit(value, args[0], path)
    if origin is Union or origin is types.UnionType:
        return _misfit_union(value, args, path)
    if origin is Literal:
        return None if value in args else f"{path} is {value!r}, not one of {args}"
    return _misfit_plain(value, kind, origin, args, path)


def _misfit_union(value: Any, kinds: Iterable[Any], path: str) -> Miss | None:
    misses = [misfit(value, kind, path) for kind in kinds]
    if None in misses:
        return None
    return max((miss for miss in misses if miss is not None), key=len)


def _misfit_plain(value: Any, kind: Any, origin: Any, args: Any, path: str) -> Miss | None:
    if origin is not None and issubclass(origin, Mapping):
        return None if isinstance(value, dict) else f"{path} is no object"
    if origin is not None and issubclass(origin, Iterable):
        if not isinstance(value, list):
            return f"{path} is no list"
        misses = (misfit(item, args[0], f"{path}[{i}]") for i, item in enumerate(value))
        return next((miss for miss in misses if miss is not None), None)
    kind = type(None) if kind is None else origin or kind
    is_it = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    return None if is_it else f"{path} is a {type(value).__name__}, not {kind}"


def _misfit_object(value: Any, kind: Any, path: str) -> Miss | None:
    if not isinstance(value, dict):
        return f"{path} is no object"
    hints = _hints(kind)
    if unknown := value.keys() - hints.keys():
        return f"{path} has {sorted(unknown)}, which {kind.__name__} does not"
    for name, hint in hints.items():
        if name in value:
            miss = misfit(value[name], hint, f"{path}.{name}")
            if miss is not None:
                return miss
        elif get_origin(hint) is Required:
            return f"{path} lacks {name}"
    return None


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)
