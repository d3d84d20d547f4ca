"""An SDK that may not be installed, and the client that is made of it."""

from __future__ import annotations

from importlib import import_module
from inspect import iscoroutinefunction
from typing import Any

import msgspec

from ..errors import MissingDependencyError, UsageError
from ..rules.wording import a_kind


class ClientSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How a client reaches its endpoint. What is None is left to the SDK."""

    base_url: str | None
    api_key: str | None
    timeout_s: float
    max_retries: int


def load_sdk(extra: str) -> Any:
    """Import an SDK, which is named as its extra is; `MissingDependencyError` without it."""
    try:
        return import_module(extra)
    except ModuleNotFoundError as error:
        if error.name != extra:
            # The SDK is there, and lacks something of its own.
            raise
        raise MissingDependencyError(
            f"the package {extra} is not installed: pip install 'sapwood[{extra}]'", name=extra
        ) from error


def client_of(given: Any, kind: Any, settings: ClientSettings) -> Any:
    """Return a client with these settings: one that was given, or a new one of this class."""
    limits = {"timeout": settings.timeout_s, "max_retries": settings.max_retries}
    if given is None:
        return kind(base_url=settings.base_url, api_key=settings.api_key, **limits)
    for name in ("base_url", "api_key"):
        if getattr(settings, name) is not None:
            raise UsageError(f"the client has its own {name}: give one or the other", path=name)
    if not hasattr(given, "with_options") or _is_async(given) != _is_async(kind):
        raise UsageError(
            f"client is {a_kind(given)}: give a {kind.__name__} of the SDK", path="client"
        )
    return given.with_options(**limits)


def _is_async(client: Any) -> bool:
    return iscoroutinefunction(getattr(client, "close", None))


def check_settings(model: str, settings: ClientSettings, max_tokens: int | None) -> None:
    """Refuse what no endpoint could do, before anything is loaded."""
    if not isinstance(model, str) or not model:
        raise UsageError("model must be the name of a model", path="model")
    seconds, retries = settings.timeout_s, settings.max_retries
    if type(seconds) is bool or not isinstance(seconds, (int, float)) or seconds <= 0:
        raise UsageError("timeout_s must be a number of seconds above 0", path="timeout_s")
    if not _is_whole(retries) or retries < 0:
        raise UsageError("max_retries must be a whole number, 0 or more", path="max_retries")
    if max_tokens is not None and (not _is_whole(max_tokens) or max_tokens < 1):
        raise UsageError("max_tokens must be a whole number, 1 or more", path="max_tokens")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
