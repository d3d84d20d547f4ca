"""Python functions as tools of a model: described by their signatures, and called by them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast, get_type_hints

import msgspec

from ..context.model_tools import read_arguments
from ..errors import UsageError
from ..model import ToolDefinition
from ..rules.schemas import read_value, schema_of
from ..rules.wording import a_kind
from .run_base import RunBase

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")

NeedsApproval = bool | Callable[[dict[str, Any]], bool]


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A function that the model may call; made by `tool`, or by hand with a schema of one's own.

    `arguments` is the type that the arguments are read as; without one they are given by name as
    the model wrote them. `run_argument` names the parameter that is given the run. Whether somebody
    has to approve of a call may depend on its arguments. What is not `repeatable` is not called
    again when a process died before its result was stored. On an event loop a plain function runs
    there, or `in_thread`.
    """

    definition: ToolDefinition
    function: Callable[..., Any]
    arguments: Any = None
    run_argument: str | None = None
    needs_approval: NeedsApproval = False
    repeatable: bool = True
    in_thread: bool = False

    @property
    def name(self) -> str:
        """What the model calls it."""
        return self.definition.name

    def read(self, given: Any) -> dict[str, Any]:
        """Read what the model wrote as arguments; `UsageError` says what is wrong."""
        arguments = read_arguments(given)
        if self.arguments is None:
            return arguments
        read = read_value(arguments, self.arguments)
        return {name: getattr(read, name) for name in self.arguments.__struct_fields__}


def tool(
    function: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    needs_approval: NeedsApproval = False,
    repeatable: bool = True,
    in_thread: bool = False,
) -> Any:
    """Make a function a tool. A decorator, with or without settings.

    Its name and docstring are what the model is told, and the signature is the schema.
    """

    def made(function: Callable[..., Any]) -> Tool:
        called = str(name or getattr(function, "__name__", ""))
        if name is None and called in ("", "<lambda>"):
            raise UsageError(
                f"the tool {function!r:.80} has no name: use tool(name=...)(function)", path="tools"
            )
        refuse_name(called)
        arguments, run_argument = _arguments_of(function, called)
        schema = {**schema_of(arguments), "additionalProperties": False}
        said = description if description is not None else inspect.getdoc(function) or ""
        return Tool(
            definition=ToolDefinition(name=called, description=said, schema=schema),
            function=function,
            arguments=arguments,
            run_argument=run_argument,
            needs_approval=needs_approval,
            repeatable=repeatable,
            in_thread=in_thread,
        )

    return made if function is None else made(function)


def refuse_name(name: str, path: str = "tools") -> None:
    """Refuse a name that no vendor takes for a tool."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is no name for a tool: use up to 64 letters, digits, _ and -", path=path
        )


def tool_of(given: Any) -> Tool:
    """Return what was given among an agent's tools as a tool."""
    if isinstance(given, Tool):
        return given
    if hasattr(given, "as_tool"):
        return cast(Tool, given.as_tool())
    if not callable(given) or isinstance(given, (type, Mapping)):
        raise UsageError(
            f"a tool is {a_kind(given)}: give a function, a Tool, or an agent", path="tools"
        )
    return cast(Tool, tool(given))


def _arguments_of(function: Callable[..., Any], name: str) -> tuple[Any, str | None]:
    """Return the type of a function's arguments, and which of them is the run."""
    try:
        typed = function.func if isinstance(function, partial) else function
        hints = get_type_hints(typed, include_extras=True)
    except (NameError, TypeError) as error:
        raise UsageError(
            f"the types of {name!r} cannot be read ({error}): give types of the module's top level",
            path="tools",
        ) from error
    fields: list[Any] = []
    run_argument = None
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise UsageError(
                f"{name!r} takes {parameter}: a model gives each argument by its name", path="tools"
            )
        hint = hints.get(parameter.name, Any)
        if isinstance(hint, type) and issubclass(hint, RunBase):
            run_argument = parameter.name
        elif parameter.default is parameter.empty:
            fields.append((parameter.name, hint))
        else:
            fields.append((parameter.name, hint, _default(parameter.default)))
    return msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=True), run_argument


def _default(value: Any) -> Any:
    """Return a default as a field has it; what is no plain value is not part of the schema."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    return msgspec.field(default_factory=lambda: value)
