"""The calls of tools in a run: which wait for somebody, and what each one gives."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

from ...calls import AsyncCall
from ...context.model_tools import REFUSED
from ...errors import UsageError
from ...model import ToolCallPart, ToolResultPart
from ...rules.schemas import as_plain
from ...tools.functions import Tool

if TYPE_CHECKING:
    from .run import AsyncAgentRun

logger = logging.getLogger(__name__)

DENIED = "The user did not approve of this call. Do not try it again without being asked to."
CUT_OFF = (
    "This call was cut off: it may have been done or not. Find that out before you call it again."
)


class WaitsForApprovalError(Exception):
    """A sub-agent waits for somebody."""

    def __init__(self, calls: list[ToolCallPart]) -> None:
        super().__init__("a sub-agent waits for an approval")
        self.calls = calls


class AsyncToolCalls:
    """Carries out what the model asks for."""

    def __init__(self, run: AsyncAgentRun) -> None:
        self._run = run
        self._settings = run.settings
        self._own = {definition.name for definition in run.session.tools()}
        if both := self._own & self._settings.tools.keys():
            raise UsageError(
                f"the session has a tool {min(both)!r}, too: rename yours", path="tools"
            )

    async def decided(
        self, calls: list[ToolCallPart], *, have_waited: bool
    ) -> dict[str, bool | None]:
        """Return what is decided of each call; a False for all is for those that wait."""
        said = self._run.approve
        if isinstance(said, Mapping):
            return {call.call_id: said.get(call.call_id) for call in calls}
        if said is not False:
            return {call.call_id: said for call in calls}
        denied = [call for call in calls if await self._has_to_wait(call)]
        if have_waited and not denied:
            # Somebody was asked about them, whatever their tools say by now.
            denied = [call for call in calls if not self._is_delegated(call)]
        return {call.call_id: False if call in denied else None for call in calls}

    async def undecided(self, calls: list[ToolCallPart]) -> list[ToolCallPart]:
        """Return the calls that somebody has to approve of first."""
        return [
            call
            for call in calls
            if self._run.decision(call.call_id) is None and await self._has_to_wait(call)
        ]

    async def _has_to_wait(self, call: ToolCallPart) -> bool:
        """Whether a call needs an approval; one with wrong arguments is refused without it."""
        tool = self._settings.tools.get(call.name)
        rule = False if tool is None else tool.needs_approval
        if tool is None or isinstance(rule, bool):
            return bool(rule)
        try:
            arguments = tool.read(call.input)
        except UsageError:
            return False
        return bool(await AsyncCall.now(rule, arguments))

    def _is_delegated(self, call: ToolCallPart) -> bool:
        """Whether a call is a sub-agent's task: what waits then are calls of its own."""
        tool = self._settings.tools.get(call.name)
        return tool is not None and hasattr(getattr(tool.function, "__self__", None), "as_tool")

    async def results(
        self, calls: list[ToolCallPart], *, again: bool
    ) -> tuple[list[ToolResultPart], list[ToolCallPart]]:
        """Do all calls at once: return the results, and the calls that are waited for.

        `again` says that a process died which may have begun them.
        """
        works = [partial(self._result, call, again) for call in calls]
        found = await AsyncCall.all_of(works)
        parts = [it for it in found if isinstance(it, ToolResultPart)]
        return parts, [call for it in found if isinstance(it, list) for call in it]

    async def _result(self, call: ToolCallPart, again: bool) -> ToolResultPart | list[ToolCallPart]:
        """Do a call; whatever goes wrong is told to the model."""
        try:
            output, is_error = await self._done(call, again)
        except WaitsForApprovalError as error:
            return error.calls
        except UsageError as error:
            output, is_error = str(error), True
        except Exception as error:
            logger.warning("the tool %r failed", call.name, exc_info=True)
            output, is_error = f"{type(error).__name__}: {error}", True
        return ToolResultPart(call_id=call.call_id, output=output, is_error=is_error)

    async def _done(self, call: ToolCallPart, again: bool) -> tuple[Any, bool]:
        if self._run.decision(call.call_id) is False:
            return DENIED, True
        tool = self._settings.tools.get(call.name)
        if tool is None and call.name in self._own:
            said = await self._run.session.call_tool(call.name, call.input)
            return said, said.startswith(REFUSED)
        if tool is None:
            names = ", ".join([*self._settings.tools, *sorted(self._own)]) or "none"
            raise UsageError(f"There is no tool {call.name!r:.80}. The tools are: {names}.")
        if again and not tool.repeatable:
            return CUT_OFF, True
        return as_plain(await self._call(tool, call)), False

    async def _call(self, tool: Tool, call: ToolCallPart) -> Any:
        arguments = tool.read(call.input)
        if tool.run_argument is not None:
            here = copy(self._run)
            here.call_id = call.call_id
            arguments[tool.run_argument] = here
        function = partial(tool.function, **arguments)
        seconds = self._settings.tool_timeout_s
        return await AsyncCall.within(seconds, function, in_thread=tool.in_thread)
