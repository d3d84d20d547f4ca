"""The main job, on a file: from an append to a model's input, and open again elsewhere.

    python examples/demo.py

It asks no model. The file is demo.db.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tree import brief, draw_tree

import sapwood
from sapwood import Hit, Message, Session, SessionManager, Summary, ToolCallPart, ToolResultPart
from sapwood.compaction import create_compact_function

FILE = Path("demo.db")
URL = f"sqlite:///{FILE}"
OWNER = "demo"


def main() -> None:
    make_room()
    with sapwood.open(URL, owner=OWNER) as sessions:
        trip = sessions.create("lisbon", title="Lisbon with the children")
        append(trip)
        branch(trip)
        fork(trip)
        cover(sessions, trip)
        search(sessions)
        prepare(sessions)
        compact(sessions)
    say("8  Open it again", "a second process reads the same file")
    subprocess.run([sys.executable, __file__, "--reopen"], check=True)
    say_how_to_look()


def append(trip: Session) -> None:
    say("1  Append", "a question, a tool call with its result, an answer")
    trip.append("user", "Three days in Lisbon: what should we see?")
    trip.append("assistant", ToolCallPart(call_id="1", name="sights", input="Lisbon"))
    trip.append("tool", ToolResultPart(call_id="1", output="castle, tram 28, oceanarium"))
    trip.append("assistant", "The castle, a ride on tram 28, and the oceanarium.")
    trip.append("user", "We come with two small children.", id="children")
    trip.append("assistant", "Then walk up to the castle first.")
    show_tree(trip)


def branch(trip: Session) -> None:
    say("2  Branch", "the last answer is generated again; the old one stays")
    trip.append("assistant", "Then the oceanarium first: sea otters!", parent="children")
    show_tree(trip)


def fork(trip: Session) -> None:
    say("3  Fork", "another session goes on from the same place; no message is copied")
    cheap = trip.fork("lisbon-cheap", "children", title="Lisbon for less")
    cheap.append("user", "It should cost nothing.")
    cheap.append("assistant", "Then parks, ferries and the beach.")
    show_tree(trip, cheap)


def cover(sessions: SessionManager, trip: Session) -> None:
    say("4  Cover", "an overlay stands in for the first four messages; they stay")
    before = trip.history()
    first, last = before.entries[0], before.entries[3]
    trip.add_overlay(first, last, "Wants: castle, tram 28, oceanarium.", history=before)
    show_tree(trip, sessions.get("lisbon-cheap"))
    after = trip.history()
    print(f"\n  The model is now shown {after.context_tokens} tokens, not {before.context_tokens}:")
    show_history(trip)


def search(sessions: SessionManager) -> None:
    say("5  Search", "all sessions at once; what is covered is found, and so is the summary")
    for query in ("tram 28", "parks OR otter*"):
        print(f"  {query}")
        for hit in sessions.search(query).hits:
            print(f"    {hit.session:<13} {hit.role:<9}  {marked(hit)}")


def prepare(sessions: SessionManager) -> None:
    say("6  Prepare", "what a model is called with: prompt, messages and tools, within a budget")
    sessions.with_context("traveller", description="What you know of them", max_tokens=100)
    trip = sessions.get("lisbon")
    trip.append_context_block("traveller", "Two small children, and no car.")
    given = trip.prepare(budget=1_000)
    for line in given.prompt.splitlines():
        print(f"    {line}")
    tools = ", ".join(tool.name for tool in given.tools)
    print(f"  with {len(given.messages)} messages and the tool {tools}: {given.tokens} tokens")


def compact(sessions: SessionManager) -> None:
    say("7  Compact", "without a model: a digest in place of the middle, and taken back again")
    diary = sessions.create("diary", title="A long diary")
    for day in range(1, 16):
        diary.append("user", f"Day {day}: up the hills, and {day} cakes. Where to next?")
        diary.append("assistant", f"On day {day + 1}, take the ferry, and then tram {day + 10}.")
    diary.compact_with(create_compact_function(strategy="digest", tail_token_budget=50))
    done = diary.compact()
    print(f"  {done.tokens_before} tokens become {done.tokens_after}:")
    for entry in diary.history().entries:
        role = entry.role if isinstance(entry, Message) else "summary"
        print(f"    {role:<9}  {start_of(entry.text)}")
    diary.undo_compaction()
    print(f"  Undone: {diary.context_tokens()} tokens, {len(diary.history().entries)} messages")


def start_of(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 60 else f"{words[:60]}..."


def marked(hit: Hit) -> str:
    """Put what was found in brackets."""
    text = hit.snippet
    for start, end in reversed(hit.marks):
        text = f"{text[:start]}[{text[start:end]}]{text[end:]}"
    return text


def reopen() -> None:
    with sapwood.open(URL, owner=OWNER) as sessions:
        print(f"  Process {os.getpid()}, started by {os.getppid()}, finds")
        for record in sessions.list_sessions(order="created").sessions[::-1]:
            print(f"    {record.id:<13} {record.title}, {record.messages} messages of its own")
        trip = sessions.get("lisbon")
        for _ in range(2):
            trip.append("user", "And when it rains?", id="rain")
        print("  and goes on at the tip; an append that is repeated is stored once:")
        show_tree(trip)


def show_tree(*sessions: Session) -> None:
    leaves = [(session, leaf.id) for session in sessions for leaf in session.branches()]
    paths = [session.history(id, overlays=False).messages_only for session, id in leaves]
    covered = covered_messages(sessions[0])
    notes = {str(session.tip()): f"◀ tip of {session.id}" for session in sessions}
    notes |= {message.id: "┃ covered" for message in covered[:1]}
    positions = [message.position for message in covered]
    for line in draw_tree(paths, notes=notes, covered=positions):
        print(f"  {line}")


def covered_messages(session: Session) -> list[Message]:
    shown = [entry.overlay for entry in session.history().entries if isinstance(entry, Summary)]
    return [
        message
        for message in session.history(overlays=False).messages_only
        if any(overlay.first.depth <= message.depth <= overlay.last.depth for overlay in shown)
    ]


def show_history(session: Session) -> None:
    for entry in session.history().entries:
        if isinstance(entry, Message):
            print(f"    {entry.role:<9}  {brief(entry)}")
        else:
            print(f"    {'summary':<9}  {entry.text}")


def make_room() -> None:
    """Remove the file of an earlier demo, and nothing else."""
    if not FILE.exists():
        return
    try:
        with sapwood.open(URL, owner=OWNER) as sessions:
            is_ours = sessions.store.admin.list_owners() in ([], [OWNER])
    except sapwood.errors.StoreError:
        is_ours = False
    if not is_ours:
        sys.exit(f"{FILE} is there and is not from this demo: move it away first")
    for ending in ("", "-wal", "-shm", "-search", "-search-wal", "-search-shm"):
        Path(f"{FILE}{ending}").unlink(missing_ok=True)


def say(what: str, how: str) -> None:
    bold, plain = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")
    print(f"\n{bold}{what}{plain}: {how}", flush=True)


def say_how_to_look() -> None:
    python = os.path.relpath(sys.executable) if sys.prefix != sys.base_prefix else "python3"
    history = f"sapwood.open('{URL}', owner='{OWNER}').get('lisbon').history()"
    print(f"\n{FILE} is left for you. Look into it:")
    print(f'  {python} -c "import sapwood; print(*{history}.entries, sep=chr(10))"')
    if shutil.which("sqlite3"):
        print(f'  sqlite3 {FILE} "SELECT role, CAST(body AS TEXT) FROM message"')


if __name__ == "__main__":
    reopen() if sys.argv[1:] == ["--reopen"] else main()
