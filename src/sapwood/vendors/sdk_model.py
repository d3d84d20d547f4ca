"""What the models of all vendors share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from operator import attrgetter
from typing import Any, ClassVar, Self

from ..errors import UsageError
from ..event_loop import twin_of
from ..rules.wording import a_kind


class SdkModel:
    """A client of the SDK's, a model's name, and options."""

    awaits: ClassVar[bool]
    """Whether the client's calls are awaited."""
    method: ClassVar[str]
    """The client's method that is called."""

    def __init__(self, client: Any, model: str, **options: Any) -> None:
        own = type(self).__name__
        if not isinstance(model, str) or not model:
            raise UsageError("model must be the name of a model", path="model")
        try:
            self._create = attrgetter(self.method)(client)
        except AttributeError:
            raise UsageError(
                f"client is {a_kind(client)}, and has no {self.method}: give {own}(client, model) "
                "a client of the vendor's SDK",
                path="client",
            ) from None
        if is_named(client, "Sync" if self.awaits else "Async"):
            raise UsageError(
                f"client is {a_kind(client)}: take {twin_of(own)}, or give {own} the SDK's client "
                f"with{'' if self.awaits else 'out'} await",
                path="client",
            )
        self._options = {**self._defaults(), **options}
        self.name = model

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    def _defaults(self) -> dict[str, Any]:
        return {}

    def _asking(self, asked: Mapping[str, Any]) -> Callable[[], Any]:
        """Return the call that asks the model for a stream."""
        return partial(self._create, **asked, model=self.name, stream=True, **self._options)

    def _with(self, **options: Any) -> Self:
        """Return the same model with more options."""
        other = copy(self)
        other._options = {**self._options, **options}
        return other


def is_named(client: object, prefix: str) -> bool:
    """Whether a client is of the SDK's for an event loop, or of those without one."""
    return any(kind.__name__.startswith(prefix) for kind in type(client).__mro__)
