"""The tools for the model: they never raise, and answer in a short sentence."""

from __future__ import annotations

import logging
from typing import Any

from ...errors import ConflictError, NotFoundError, StoreError, UsageError
from ...model import Entry, Message, Read, Search, SessionQuery, ToolDefinition
from ...rules.prompt import usage
from ...store._async.contract import AsyncStore
from ..listings import NOTHING_FOUND, show_entries, show_hits, show_sessions
from ..model_tools import (
    LOAD,
    REFUSED,
    SEARCH,
    SESSION_SEARCH,
    UNLOAD,
    UPDATE,
    action_of,
    check_written,
    define_tools,
    label_of,
    limit_of,
    maybe_text,
    read_arguments,
    text_of,
)
from .context import AsyncContext

logger = logging.getLogger(__name__)

ORIGIN = "model"


class AsyncContextTools:
    """The tools of one context; with `search`, also that for the owner's sessions."""

    def __init__(self, context: AsyncContext, *, search: bool = True) -> None:
        self._context = context
        self._search = search

    def definitions(self) -> list[ToolDefinition]:
        """Return the tools that the configuration has a use for, the same between turns."""
        return define_tools(self._context.shapes, search=self._search)

    async def call(self, name: str, arguments: dict[str, Any] | str | None = None) -> str:
        """Carry out a call; whatever goes wrong is an answer that begins with "Error: "."""
        try:
            return await self._carry_out(name, read_arguments(arguments))
        except (UsageError, NotFoundError, ConflictError) as error:
            return f"{REFUSED}{error}"
        except StoreError as error:
            logger.warning("the tool %r failed", name, exc_info=True)
            again = "Try it again later." if error.retryable else "It will not work now."
            return f"{REFUSED}what is stored cannot be reached. {again}"
        except Exception as error:
            logger.warning("the tool %r failed", name, exc_info=True)
            return f"{REFUSED}the tool failed ({type(error).__name__})."

    async def _carry_out(self, name: str, arguments: dict[str, Any]) -> str:
        offered = [tool.name for tool in self.definitions()]
        if name not in offered:
            names = ", ".join(offered) or "none"
            raise UsageError(f"There is no tool {name!r:.80}. The tools are: {names}.")
        methods = {
            UPDATE: self._update,
            LOAD: self._load,
            UNLOAD: self._unload,
            SEARCH: self._search_block,
            SESSION_SEARCH: self._search_sessions,
        }
        return await methods[name](arguments)

    async def _update(self, arguments: dict[str, Any]) -> str:
        shapes = self._context.shapes
        label = label_of(arguments, (it for it, shape in shapes.items() if shape.writable))
        content, action = text_of(arguments, "content"), action_of(arguments)
        check_written(content, "content")
        if shapes[label].keyed:
            return await self._put_entry(label, content, action, arguments)
        write = self._context.append if action == "append" else self._context.replace
        block = await write(label, content, origin=ORIGIN)
        return f"Written to '{label}'. Usage: {usage(block.tokens, block.max_tokens)}."

    async def _put_entry(
        self, label: str, content: str, action: str, arguments: dict[str, Any]
    ) -> str:
        if action == "append":
            raise UsageError("An entry is written as a whole: use the action 'replace'.")
        title, description = maybe_text(arguments, "title"), maybe_text(arguments, "description")
        check_written(title, "title")
        check_written(description, "description")
        key = await self._context.put_entry(label, title, content, description, origin=ORIGIN)
        return f"Written to '{label}' as {key!r}."

    async def _load(self, arguments: dict[str, Any]) -> str:
        label, key = self._entry(arguments)
        try:
            return await self._context.load(label, key) or f"{key!r} is empty."
        except NotFoundError as error:
            if error.kind != "key":
                raise
            return f"{REFUSED}'{label}' has no entry {key!r:.200}."

    async def _unload(self, arguments: dict[str, Any]) -> str:
        label, key = self._entry(arguments)
        if await self._context.unload(label, key):
            return f"Unloaded {key!r} of '{label}'. Its text is not shown any more."
        return f"{key!r} of '{label}' was not loaded."

    def _entry(self, arguments: dict[str, Any]) -> tuple[str, str]:
        shapes = self._context.shapes
        label = label_of(arguments, (it for it, shape in shapes.items() if shape.loadable))
        return label, text_of(arguments, "key")

    async def _search_block(self, arguments: dict[str, Any]) -> str:
        shapes = self._context.shapes
        label = label_of(arguments, (it for it, shape in shapes.items() if shape.searchable))
        found = await self._context.search(label, text_of(arguments, "query"))
        return found or NOTHING_FOUND

    async def _search_sessions(self, arguments: dict[str, Any]) -> str:
        return await answer_search(
            self._context,
            maybe_text(arguments, "query"),
            maybe_text(arguments, "session"),
            maybe_text(arguments, "around"),
            limit_of(arguments),
        )


async def answer_search(
    context: AsyncContext,
    query: str | None,
    session: str | None,
    around: str | None,
    limit: int,
) -> str:
    """Do what the arguments ask for, as seen from the context's session, and give it as text."""
    store, owner, here = context.store, context.owner, context.session
    if query:
        search = Search(text=query, session=session, limit=limit)
        return show_hits((await store.search(owner, search)).hits, here) or NOTHING_FOUND
    if around:
        return show_entries(await _around(store, owner, session or here, around, limit), around)
    if session:
        history = await store.read(owner, session, Read(limit=limit, backwards=True))
        return show_entries(history.entries) or f"Session {session!r} is empty."
    page = await store.list_sessions(owner, SessionQuery(limit=limit))
    return show_sessions(page.sessions, here) or NOTHING_FOUND


async def _around(store: AsyncStore, owner: str, session: str, id: str, limit: int) -> list[Entry]:
    """Read the messages above and below, on the path to the tip if the message is on it."""
    [message] = await store.find_messages(owner, session, [id])
    if message is None:
        raise NotFoundError(f"session {session!r} has no message {id!r}", kind="message", id=id)
    above = max(0, message.depth - 1 - limit // 2)
    below = message.depth + 1 + (limit - 1) // 2
    for leaf in (None, id):
        read = Read(leaf=leaf, overlays=False, after=above, before=below)
        entries = (await store.read(owner, session, read)).entries
        if any(isinstance(it, Message) and it.id == id for it in entries):
            return entries
    return [message]
