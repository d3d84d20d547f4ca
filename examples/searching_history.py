"""Finding what was said: in all conversations or in one, and as the model's own tool.

    python examples/searching_history.py

It asks no model, and leaves nothing behind.
"""

from __future__ import annotations

import sapwood
from sapwood import Hit, SessionManager

TALKS = {
    "kitchen": [
        ("user", "The dishwasher shows E24, and water stays in it."),
        ("assistant", "E24 is the drain. Clean the filter first, then look at the hose."),
        ("user", "It was the hose!"),
    ],
    "server": [
        ("user", "Is it safe to run rm -rf ./build on the server?"),
        ("assistant", "Yes, if nothing but build output is there. Keep the .env file."),
    ],
    "reise": [
        ("user", "服务器部署在里斯本吗?"),
        ("assistant", "Nein, der Server steht in Porto."),
    ],
}


def main() -> None:
    with sapwood.open("memory://") as sessions:
        for id, messages in TALKS.items():
            sessions.session(id).append_all(messages)
        sessions.get("kitchen").update_record(tags=["home"])
        for query in ("hose", "rm -rf", ".env", "部署", "filter OR porto", "server* NOT role:user"):
            show(sessions, query)
        show(sessions, "tag:home drain")
        read_around(sessions, sessions.search("E24 role:assistant").hits[0])
        ask_as_a_model(sessions)


def show(sessions: SessionManager, query: str) -> None:
    print(query)
    for hit in sessions.search(query).hits:
        print(f"  {hit.session:<8} {hit.role:<9}  {marked(hit)}")


def marked(hit: Hit) -> str:
    """Put what was found in brackets."""
    text = hit.snippet
    for start, end in reversed(hit.marks):
        text = f"{text[:start]}[{text[start:end]}]{text[end:]}"
    return text


def read_around(sessions: SessionManager, hit: Hit) -> None:
    print("\nWhat was said around the answer about E24")
    chat = sessions.get(hit.session)
    found = chat.get(hit.entry.id)
    before = chat.history(before=found, limit=1).messages_only
    after = chat.history(after=found, limit=1).messages_only
    for message in [*before, found, *after]:
        print(f"  {message.role:<9}  {message.text}")


def ask_as_a_model(sessions: SessionManager) -> None:
    """A model has the same search as a tool; `prepare().tools` describes it."""
    chat = sessions.with_searchable_history().session("new")
    print("\nThe model calls search_context")
    print(chat.call_tool("search_context", {"label": "history", "query": "hose"}))


if __name__ == "__main__":
    main()
