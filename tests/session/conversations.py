"""A conversation that is anything but tidy, and what has to hold of it at every moment.

The model is plain: which message follows which, what each says, and which are deleted.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from itertools import count

from compaction.histories import calls_of, nearest_call, parts_of, turns_between

from sapwood import (
    ROOT,
    Message,
    NewMessage,
    Session,
    SessionManager,
    Summary,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from sapwood.compaction import align_backward, align_forward, is_valid_input
from sapwood.errors import NotFoundError, UsageError
from sapwood.model import Entry, ModelMessage, Part

WORDS = ["harbour", "boat", "sail", "rope", "anchor", "lamp", "storm", "north", "quay", "salt"]
GIVEN_UP = 8


class Tree:
    """All that was ever said, by whom it was stored, and what follows what."""

    def __init__(self) -> None:
        self.numbers = count(1)
        self.parent: dict[str, str | None] = {}
        self.parts: dict[str, list[Part] | None] = {}
        self.home: dict[str, str] = {}
        self.is_settled = True
        self.given_up: set[str] = set()
        """Messages with calls that a summary covered when nobody waited for a result any more."""

    def path(self, tip: str | None) -> list[str]:
        found = []
        while tip is not None:
            found.append(tip)
            tip = self.parent[tip]
        return found[::-1]

    def live(self, tip: str | None) -> list[str]:
        return [id for id in self.path(tip) if self.parts[id] is not None]


class Talk:
    """One session of the tree, acted on at random."""

    def __init__(self, tree: Tree, chat: Session, dice: random.Random) -> None:
        self.tree = tree
        self.chat = chat
        self.dice = dice
        self.sees: set[str] = set()
        self.tip: str | None = None
        self.late: list[str] = []

    # what may happen

    def say(self) -> None:
        """Take a turn: a question, calls with results in any shape, an answer."""
        turn = [self.new("user", [TextPart(text=self.text())])]
        for _ in range(self.dice.choice((0, 0, 1, 1, 2))):
            turn += self.call()
        if self.late and self.dice.random() < 0.3:
            turn.append(self.new("tool", [result(self.late.pop(0))]))
        if self.dice.random() < 0.9:
            turn.append(self.new("assistant", [TextPart(text=self.text())]))
        for message in self.chat.append_all(turn, allow_orphans=True):
            self.note(message, self.tip)

    def call(self) -> list[NewMessage]:
        number = next(self.tree.numbers)
        ids = [f"call_{at}" for at in range(self.dice.randint(1, 3))]
        # Some models use the same ids in every turn.
        if self.dice.random() < 0.7:
            ids = [f"{id}_{number}" for id in ids]
        calls: list[Part] = [ToolCallPart(call_id=id, name="look", input={"n": 1}) for id in ids]
        if self.dice.random() < 0.3:
            calls.insert(0, TextPart(text=self.text()))
        step = [self.new("assistant", calls)]
        fate = self.dice.random()
        if fate < 0.1:
            self.late.append(ids.pop())
        elif fate < 0.2:
            ids.clear()  # interrupted, or it waits for an approval
        if self.dice.random() < 0.15:
            step.append(self.new("user", [TextPart(text="wait")]))
        if ids and self.dice.random() < 0.4:
            together: list[Part] = [result(id) for id in ids]
            return [*step, self.new(self.dice.choice(("tool", "user")), together)]
        return [*step, *(self.new("tool", [result(id)]) for id in ids)]

    def new(self, role: str, parts: list[Part]) -> NewMessage:
        return NewMessage(role=role, parts=parts, id=f"m{next(self.tree.numbers)}")

    def text(self) -> str:
        number = self.dice.choice((1, 5, 20, 60))
        words = " ".join(self.dice.choice(WORDS) for _ in range(number))
        return f"{next(self.tree.numbers)} {words}"

    def note(self, message: Message, follows: str | None) -> str:
        self.tree.parent[message.id] = follows
        self.tree.parts[message.id] = message.parts
        self.tree.home[message.id] = self.chat.id
        self.sees.add(message.id)
        self.tip = message.id
        return message.id

    def some(self) -> str | None:
        """Choose a message that is there, mostly one on the path."""
        near = self.tree.live(self.tip)
        if near and self.dice.random() < 0.8:
            return self.dice.choice(near)
        return self.dice.choice(sorted(self.sees)) if self.sees else None

    def branch(self) -> None:
        """Go elsewhere: to any message, to another answer, or to another question."""
        id = self.some()
        if id is None:
            return
        way = self.dice.random()
        if way < 0.4:
            self.chat.checkout(id)
            self.tip = id
        elif way < 0.7 and self.is_said(id):
            above = self.tree.live(self.tree.parent[id])
            message = self.chat.edit(id, f"I mean {self.text()}", id=f"m{next(self.tree.numbers)}")
            self.note(message, above[-1] if above else None)
        else:
            try:
                self.tip = self.chat.retry_from().id
            except UsageError:
                return

    def is_said(self, id: str) -> bool:
        """Whether a message is there, and words can stand in its place: not in that of results."""
        parts = self.tree.parts[id]
        return parts is not None and not any(isinstance(it, ToolResultPart) for it in parts)

    def change(self) -> None:
        """Edit or delete a message of one's own."""
        id = self.some()
        if id is None or self.tree.home[id] != self.chat.id or self.tree.parts[id] is None:
            return
        # Other sessions that share it have the right sums after `finish_deletions`.
        self.tree.is_settled = False
        if self.dice.random() < 0.3:
            self.chat.delete(id)
            self.tree.parts[id] = None
        elif all(isinstance(part, TextPart) for part in self.tree.parts[id] or []):
            self.tree.parts[id] = self.chat.update(id, self.text()).parts

    def undo(self) -> None:
        try:
            if self.dice.random() < 0.6:
                record = self.chat.undo(self.dice.choice((1, 1, 2)))
            else:
                record = self.chat.redo()
        except UsageError:
            return
        self.tip = record.tip if isinstance(record.tip, str) else None

    def pin(self) -> None:
        pinned = self.chat.pins()
        if pinned and (len(pinned) > 12 or self.dice.random() < 0.4):
            self.chat.unpin(self.dice.choice(pinned))
            return
        id = self.some()
        if id is not None and self.tree.parts[id] is not None:
            self.chat.pin(id)

    def cover_by_hand(self) -> None:
        """Put an overlay over a short range that parts nothing."""
        entries = self.chat.history().entries
        if len(entries) < 3:
            return
        first = align_forward(entries, self.dice.randrange(len(entries)))
        last = align_backward(entries, min(len(entries), first + self.dice.randint(1, 5))) - 1
        if first <= last:
            self.covers(entries, first, last)
            self.chat.add_overlay(entries[first], entries[last], f"By hand: {self.text()}")

    def uncover(self) -> None:
        overlays = self.chat.overlays()
        if not overlays:
            return
        if self.dice.random() < 0.5:
            self.chat.undo_overlay(self.dice.choice(overlays))
            return
        try:
            self.chat.undo_compaction()
        except NotFoundError:
            return

    def fork(self, sessions: SessionManager, id: str) -> Talk:
        """Make a fork at a message of the path, which is compared as this one is."""
        path = self.tree.path(self.tip)
        at = self.dice.choice(path) if path else None
        fork = Talk(self.tree, self.chat.fork(id, ROOT if at is None else at), self.dice)
        fork.sees = set(self.tree.path(at))
        fork.tip = at
        return fork

    # what has to hold

    def covers(self, entries: Sequence[Entry], first: int, last: int) -> None:
        """Note which calls of a range are given up by it."""
        answered = {
            (at, part.call_id)
            for where in range(first, last + 1)
            for part in parts_of(entries[where])
            if isinstance(part, ToolResultPart)
            and (at := nearest_call(entries, where, part)) is not None
        }
        for at in range(first, last + 1):
            entry = entries[at]
            if any((at, id) not in answered for id in calls_of(entry)):
                assert isinstance(entry, Message)
                self.tree.given_up.add(entry.id)

    def check(self) -> None:
        """Check that nothing is lost, nothing is parted, and a model can be called."""
        chat, tree = self.chat, self.tree
        ids = sorted(self.sees)
        found = chat._stored.store.find_messages(chat.owner, chat.id, ids)
        assert [None if it is None else it.parts for it in found] == [tree.parts[id] for id in ids]
        raw = chat.history(overlays=False).entries
        assert [it.id for it in raw if isinstance(it, Message)] == tree.live(self.tip)
        history = chat.history()
        if not tree.is_settled:
            chat._stored.store.finish_deletions()
            tree.is_settled = True
        assert chat.record().context_tokens == history.context_tokens
        self.check_pairs(raw, history.entries)
        self.check_pairs(raw, chat.history(limit=self.dice.randint(1, 12)).entries)
        check_messages(chat.prepare().messages)

    def check_pairs(self, raw: Sequence[Entry], entries: Sequence[Entry]) -> None:
        """Check that each result is shown after its call, where somebody still waited for it."""
        shown: set[str] = set()
        where = {it.id: at for at, it in enumerate(raw) if isinstance(it, Message)}
        for message in flat(entries):
            shown.add(message.id)
            for part in message.parts:
                if isinstance(part, ToolResultPart):
                    caller = self.caller(raw, where[message.id], part)
                    assert caller is None or caller in shown, (caller, message.id)

    def caller(self, raw: Sequence[Entry], at: int, part: ToolResultPart) -> str | None:
        """Name the message with a result's call; None when nobody waited for the result."""
        caller = nearest_call(raw, at, stored(raw[at], part))
        if caller is None:
            return None
        message = raw[caller]
        assert isinstance(message, Message)
        between = [each for entry in raw[caller:at] for each in parts_of(entry)]
        is_first = not any(
            isinstance(each, ToolResultPart) and each.call_id == part.call_id for each in between
        )
        waited = turns_between(raw, caller, at) < GIVEN_UP
        return message.id if is_first and waited and message.id not in self.tree.given_up else None

    def check_all_undone(self, sessions: SessionManager) -> None:
        """Check that without compactions, and then without overlays, everything is shown again."""
        copy = self.chat.fork()
        made = len([note for note in copy.compactions() if not note.undone])
        for _ in range(made):
            copy.undo_compaction()
        assert [note for note in copy.compactions() if not note.undone] == []
        by_hand = copy.overlays()
        assert all(overlay.summary.startswith("By hand") for overlay in by_hand)
        for overlay in by_hand:
            copy.undo_overlay(overlay)
        assert copy.history().entries == self.chat.history(overlays=False).entries
        sessions.delete(copy.id)


def flat(entries: Iterable[Entry]) -> list[Message]:
    """Give the messages that entries show, pins after the summary that covers them."""
    found: list[Message] = []
    for entry in entries:
        found.extend(entry.pinned if isinstance(entry, Summary) else [entry])
    return found


def stored(entry: Entry, part: ToolResultPart) -> ToolResultPart:
    """Give the very part of a stored message: the one shown is another object."""
    same = [it for it in parts_of(entry) if isinstance(it, ToolResultPart) and it == part]
    return same[0]


def check_messages(messages: Sequence[ModelMessage]) -> None:
    """Check messages by our rules, and by those of providers written down once more here."""
    assert is_valid_input(messages)
    assert complaints(messages) == []


def complaints(messages: Sequence[ModelMessage]) -> list[str]:
    """Say what a provider would refuse: a stack of open calls, closed in the next messages."""
    found: list[str] = []
    open_calls: list[str] = []
    for at, message in enumerate(messages):
        if not message.parts:
            found.append(f"{at}: empty")
        began_closed = not open_calls
        here: list[str] = []
        for part in message.parts:
            match part:
                case ToolCallPart() if part.call_id in here or open_calls:
                    found.append(f"{at}: call {part.call_id} while others are open")
                case ToolCallPart():
                    here.append(part.call_id)
                case ToolResultPart() if part.call_id in here:
                    here.remove(part.call_id)
                case ToolResultPart() if part.call_id in open_calls:
                    open_calls.remove(part.call_id)
                case ToolResultPart():
                    found.append(f"{at}: result {part.call_id} without a call")
                case _ if open_calls or (not began_closed and message.role not in ("user", "tool")):
                    found.append(f"{at}: something is said before {open_calls} is answered")
        open_calls += here
    return [*found, *(f"call {id} is never answered" for id in open_calls)]


def result(id: str) -> ToolResultPart:
    return ToolResultPart(call_id=id, output={"found": ["a boat", None]})
