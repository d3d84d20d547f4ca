"""How an agent is set up, the same in both twins, and what a run has spent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any, TypedDict

import msgspec

from ..calls import has_to_be_awaited
from ..errors import UsageError
from ..event_loop import twin_of
from ..model import ModelInput, ToolDefinition, Usage
from ..rules import check
from ..rules.schemas import strict_schema_of
from ..rules.wording import a_kind, with_article
from ..session.settings import refuse_unknown
from ..tools.functions import Tool, refuse_name, tool_of
from ..vendors.sdk_model import is_named

MAX_STEPS = 20
MAX_RESULT_CHARS = 20_000
RETRIES = 2
OUTPUT_TRIES = 3
KEY = "agent"
"""Where a whole answer's metadata says who gave it; one that was cut off has none."""


class AgentFields(TypedDict, total=False):
    """What an agent may be given besides its model, name, tools and sessions."""

    instructions: str
    description: str
    output: Any
    max_steps: int
    max_tokens: int | None
    max_cost_micros: int | None
    price: Callable[[Usage], int] | None
    retries: int
    budget: int | None
    max_result_chars: int
    tool_timeout_s: float | None
    in_thread: bool
    before_respond: Callable[..., Any] | None
    on_context_update: Callable[..., Any] | None


Approval = bool | Mapping[str, bool] | None


class RunFields(TypedDict, total=False):
    """What a run may be given besides its question and session."""

    id: str | None
    sent: str | None
    context: dict[str, Any] | None
    wait_s: float


class ResumeFields(TypedDict, total=False):
    """What a run that goes on may be given."""

    approve: Approval
    context: dict[str, Any] | None
    wait_s: float


class AgentSettings(msgspec.Struct, frozen=True, kw_only=True):
    """All that an agent is."""

    model: Any
    name: str = "agent"
    tools: dict[str, Tool] = {}
    instructions: str = ""
    description: str = ""
    output: Any = None
    max_steps: int = MAX_STEPS
    max_tokens: int | None = None
    max_cost_micros: int | None = None
    price: Callable[[Usage], int] | None = None
    retries: int = RETRIES
    budget: int | None = None
    max_result_chars: int = MAX_RESULT_CHARS
    tool_timeout_s: float | None = None
    in_thread: bool = False
    before_respond: Callable[..., Any] | None = None
    on_context_update: Callable[..., Any] | None = None

    @property
    def definitions(self) -> list[ToolDefinition]:
        """The tools, as the model is told of them."""
        return [tool.definition for tool in self.tools.values()]

    def instruct(self, given: ModelInput) -> ModelInput:
        """Put the instructions before the prompt of the session's blocks."""
        texts = [text for text in (self.instructions, given.prompt) if text]
        return msgspec.structs.replace(given, prompt="\n\n".join(texts))


def check_twin(agent: object, value: object, kind: type, path: str) -> None:
    """Refuse sessions that are none, or of the other twin: the agent has to be of the same."""
    if isinstance(value, kind):
        return
    own, wanted = type(agent).__name__, kind.__name__
    if type(value).__name__ != twin_of(wanted):
        also = ", or its id" if path == "session" else ""
        raise UsageError(f"{path} is {a_kind(value)}: give {with_article(wanted)}{also}", path=path)
    raise UsageError(
        f"{path} is {a_kind(value)}, and {own} works with {with_article(wanted)}: take "
        f"{twin_of(own)}, or what sapwood.{'open_async' if wanted.startswith('Async') else 'open'} "
        "gives",
        path=path,
    )


def is_approval(given: object) -> bool:
    """Whether it says of calls, all together or each by its id, that they may be done, or not."""
    if not isinstance(given, Mapping):
        return given is None or isinstance(given, bool)
    return all(isinstance(id, str) and isinstance(it, bool) for id, it in given.items())


def approval_below(approve: Approval, call: str) -> Approval:
    """Return what is decided of a sub-agent's calls, whose ids are told after that of its own."""
    if not isinstance(approve, Mapping):
        return approve
    above = f"{call}/"
    return {id.removeprefix(above): it for id, it in approve.items() if id.startswith(above)}


def settings_for(
    agent: object,
    model: Any,
    name: str,
    tools: Sequence[Any],
    fields: Mapping[str, Any],
    *,
    awaits: bool,
) -> AgentSettings:
    """Check what an agent is made of; `awaits` says whether it can await."""
    _check_model(model)
    refuse_name(name, "name")
    refuse_unknown(fields, AgentFields, ("name", "tools", "sessions"))
    for limit in ("max_steps", "max_tokens", "max_cost_micros", "budget", "max_result_chars"):
        if fields.get(limit) is not None:
            check.count(fields[limit], limit, 1)
    check.count(fields.get("retries", 0), "retries", 0)
    check.instance(fields.get("in_thread", False), bool, "in_thread")
    named: dict[str, Tool] = {}
    for given in tools:
        if type(given).__name__ == twin_of(type(agent).__name__):
            raise UsageError(
                f"a tool is {a_kind(given)}: take {type(agent).__name__}", path="tools"
            )
        made = tool_of(given)
        if made.name in named:
            raise UsageError(f"there are two tools {made.name!r}: rename one", path="tools")
        named[made.name] = made
    called = [("model", "the model", model)]
    called += [("tools", f"the tool {it.name!r}", it.function) for it in named.values()]
    for path, what, function in called:
        if not awaits and has_to_be_awaited(function):
            own = type(agent).__name__
            raise UsageError(
                f"{what} has to be awaited, which {own} does not: take Async{own}, or give a plain "
                "function",
                path=path,
            )
    settings = AgentSettings(model=model, name=name, tools=named, **fields)
    return settings if settings.output is None else _with_output(settings)


def _check_model(model: Any) -> None:
    if callable(model):
        return
    if hasattr(model, "messages") or hasattr(model, "chat"):
        kind = "OpenAIChat" if hasattr(model, "chat") else "AnthropicMessages"
        kind = f"Async{kind}" if is_named(model, "Async") else kind
        raise UsageError(
            f"model is {a_kind(model)}, the client alone: wrap it, {kind}(client, 'a-model')",
            path="model",
        )
    if isinstance(model, str):
        raise UsageError(
            f"model is a name: give what asks it, as OpenAIChat(openai.OpenAI(), {model!r})",
            path="model",
        )
    check.function(model, "model")


def _with_output(settings: AgentSettings) -> AgentSettings:
    """Let the model know the type of its answer: in its vendor's way, or in words."""
    schema = strict_schema_of(settings.output)
    if hasattr(settings.model, "with_output"):
        return msgspec.structs.replace(settings, model=settings.model.with_output(schema))
    told = "Answer with JSON alone, which fits this schema: " + msgspec.json.encode(schema).decode()
    texts = [text for text in (settings.instructions, told) if text]
    return msgspec.structs.replace(settings, instructions="\n\n".join(texts))


class Spent:
    """What a run has spent, with its sub-agents."""

    def __init__(self) -> None:
        self.steps = 0
        self.tokens = 0
        self.cost_micros = 0

    def add(self, usage: Usage) -> None:
        """Count a call of a model."""
        self.tokens += usage.input_tokens + usage.output_tokens
        self.cost_micros += usage.cost_micros

    def limit(self, settings: AgentSettings) -> str | None:
        """Return the limit that is reached."""
        if self.steps >= settings.max_steps:
            return "steps"
        if settings.max_tokens is not None and self.tokens >= settings.max_tokens:
            return "tokens"
        most = settings.max_cost_micros
        return "cost" if most is not None and self.cost_micros >= most else None


def delegate_id(session: str, message: str, call: str) -> str:
    """Return the id of the session in which a sub-agent does a call: the same after a restart."""
    told = "\0".join((session, message, call)).encode()
    return f"delegate-{sha256(told).hexdigest()[:32]}"
