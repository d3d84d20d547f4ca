"""`ls`, `show` and `search`: what is printed, for people and for programs."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tier import often

import sapwood
from sapwood.cli.records import ago, local

from .command import Command

NESTED = often(400, 1_200)


def test_ls_lists_the_last_active_first(sap: Command) -> None:
    lines = sap("ls").splitlines()
    assert lines[0].split() == ["SESSION", "TITLE", "FROM", "MESSAGES", "TOKENS", "ACTIVE", "LAST"]
    assert [line.split()[0] for line in lines[1:]] == ["second", "support"]
    assert re.search(r"The lost parcel +4 +\d+ +just now +assistant: \S", lines[2])
    when = r"20\d\d-\d\d-\d\d \d\d:\d\d"
    assert re.search(rf"The lost parcel +4 +\d+ +{when} +a", sap("ls", "--absolute"))


def test_ls_tells_what_a_session_came_out_of(sap: Command) -> None:
    sap("fork", "second", "third")
    sap("fork", "support", "apart", "--detach")
    cells = {line.split("  ")[0]: line for line in sap("ls").splitlines()}
    assert "second #3 ← support #3" in cells["third"]
    assert "support #3" in cells["second"]
    assert "←" not in cells["second"]
    assert "#" not in cells["support"]
    alone = sap("ls", "--parent", "second").splitlines()[1]
    assert "second #3" in alone
    assert "←" not in alone


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-3_600, ""),
        (-5, "just now"),
        (59, "just now"),
        (60, "1 min ago"),
        (3_599, "59 min ago"),
        (7_300, "2 h ago"),
        (86_400, "1 day ago"),
        (29 * 86_400, "29 days ago"),
        (31 * 86_400, "1 month ago"),
        (800 * 86_400, "2 years ago"),
    ],
)
def test_how_long_ago_is_told_in_the_largest_whole_unit(seconds: int, said: str) -> None:
    now = datetime(2026, 1, 31, 12, tzinfo=UTC)
    told = ago(now - timedelta(seconds=seconds), now)
    assert told == (said if seconds > -60 else local(now - timedelta(seconds=seconds)))


def test_ls_tells_what_is_unread_where_a_user_is_named(sap: Command, folder: Path) -> None:
    with sapwood.open(f"sqlite:///{folder}/agent.db") as sessions:
        sessions.get("support").mark_read("bob")
    lines = sap("ls", "--unread-for", "bob").splitlines()
    assert lines[0].split()[3:5] == ["MESSAGES", "UNREAD"]
    assert re.search(r"The lost parcel +4 +0 ", lines[2])
    found = sap.json("ls", "--unread-for", "bob")["sessions"]
    assert {it["id"]: it["unread"] > 0 for it in found} == {"support": False, "second": True}
    code, said = sap.fails("ls", "--unread-for", "")
    assert (code, "unread_for" in said) == (2, True)


def test_ls_in_json_has_the_whole_record(sap: Command) -> None:
    found = sap.json("ls")
    assert found["cursor"] is None
    fork, chat = found["sessions"]
    assert fork["parent"] == {"kind": "branch", "session": "support"}
    assert fork["forked_at"]["depth"] == 3
    assert chat["tags"] == ["urgent"]
    assert (chat["tip"], chat["messages"], chat["title"]) == ("x4", 5, "The lost parcel")
    assert chat["created_at"].endswith("Z")
    preview = chat["preview"]
    assert (preview["id"], preview["role"]) == ("x4", "assistant")
    assert "unread" not in chat


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--state", "active"], {"support", "second"}),
        (["--state", "archived"], set()),
        (["--tag", "urgent"], {"support", "second"}),
        (["--tag", "urgent", "--tag", "other"], set()),
        (["--title", "The lost"], {"support"}),
        (["--parent", "support"], {"second"}),
        (["--created-from", "2020-01-01"], {"support", "second"}),
        (["--created-until", "2020-01-01"], set()),
        (["--active-from", "2020-01-01T10:00"], {"support", "second"}),
        (["--active-until", "2020-01-01 10:00"], set()),
        (["--active-until", "2020-01-01T10:00:00.5+02:00"], set()),
        (["--active-from", "2020-01-01T10:00Z"], {"support", "second"}),
        (["--order", "created", "--limit", "1"], {"second"}),
        (["--owner", "nobody"], set()),
    ],
)
def test_ls_has_the_filters_of_the_store(sap: Command, options: list[str], names: set[str]) -> None:
    assert {it["id"] for it in sap.json("ls", *options)["sessions"]} == names


def test_ls_goes_on_from_a_cursor_and_all_reads_to_the_end(sap: Command, folder: Path) -> None:
    with sapwood.open(f"sqlite:///{folder}/agent.db") as sessions:
        for n in range(120):
            sessions.create(f"s{n:03}")
    done = sap.run("ls")
    assert len(done.stdout.splitlines()) == 51
    assert "--cursor" in done.stderr
    names, cursor = [], []
    while True:
        page = sap.json("ls", "--limit", "50", *cursor)
        names += [it["id"] for it in page["sessions"]]
        if page["cursor"] is None:
            break
        cursor = ["--cursor", page["cursor"]]
    assert len(names) == len(set(names)) == 122
    assert [it["id"] for it in sap.json("ls", "--all")["sessions"]] == names
    assert len(sap("ls", "--all").splitlines()) == 123


def test_ls_of_nothing_says_so_beside_the_output(sap: Command) -> None:
    done = sap.run("ls", "--owner", "nobody")
    said = "owner 'nobody' has no sessions: --owner or SAPWOOD_OWNER names another owner\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, "", said)
    done = sap.run("ls", "--owner", "nobody", "--json")
    assert json.loads(done.stdout) == {"sessions": [], "cursor": None}
    assert done.stderr == ""


def test_ls_says_that_filters_leave_nothing_and_not_that_there_is_nothing(sap: Command) -> None:
    done = sap.run("ls", "--tag", "nope")
    said = "no session of owner 'default' fits\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, "", said)


def test_show_draws_the_tree(sap: Command) -> None:
    body = sap("show", "support").split("\n\n", 1)[1]
    assert body == (
        "┏      summary        [o1: 1-2, 20 → 6 tokens] An order is on its way.\n"
        "┃ ●    user       m1  Where is my order?\n"
        "┗ ●    assistant  m2  It left the warehouse today.\n"
        "  ●    user       m3  When will it arrive?  fork second\n"
        "  ├─●  assistant  m4  Tomorrow.\n"
        "  ●    assistant  x4  On Monday.  ◀ tip\n"
    ).replace("20 → 6", re.search(r"\d+ → \d+", body)[0])  # type: ignore[index]


def test_pins_are_marked_in_the_tree_and_in_the_history(sap: Command, folder: Path) -> None:
    with sapwood.open(f"sqlite:///{folder}/agent.db") as sessions:
        chat = sessions.get("support")
        for id in ("m2", "m3", "x4"):
            chat.pin(id)
    body = sap("show", "support").split("\n\n", 1)[1].splitlines()
    assert [line.endswith("today.  pinned") for line in body].count(True) == 1
    assert body[3].endswith("When will it arrive?  pinned, fork second")
    assert body[5].endswith("On Monday.  ◀ tip, pinned")
    assert sap.json("show", "support")["pins"] == ["m2", "m3", "x4"]
    out = sap("show", "support", "--history")
    heads = [line.split("  ")[:2] for line in out.splitlines() if re.match(r"\S", line)]
    assert heads[-4:] == [
        ["summary of 1 to 2", "o1"],
        ["pinned assistant", "m2"],
        ["pinned user", "m3"],
        ["pinned assistant", "x4"],
    ]
    assert sap.json("show", "support", "--history")["pins"] == ["m2", "m3", "x4"]


def test_show_of_a_fork_names_its_origin(sap: Command) -> None:
    out = sap("show", "second")
    assert "branch of support at depth 3" in out
    assert out.splitlines()[-1].endswith("When will it arrive?  ◀ tip")


def test_show_in_json_has_the_tree_and_what_is_on_it(sap: Command) -> None:
    found = sap.json("show", "support")
    assert {it["id"]: it["parent"] for it in found["messages"]} == {
        "m1": None,
        "m2": "m1",
        "m3": "m2",
        "m4": "m3",
        "x4": "m3",
    }
    assert found["messages"][0]["parts"] == [{"type": "text", "text": "Where is my order?"}]
    assert [it["id"] for it in found["overlays"]] == ["o1"]
    assert found["forks"] == [{"session": "second", "message": "m3"}]
    assert (found["more_above"], found["before"], found["other_branches"]) == (False, None, 0)
    assert found["session"]["tip"] == "x4"


def test_history_is_what_the_model_sees(sap: Command) -> None:
    out = sap("show", "support", "--history")
    assert re.search(r"summary of 1 to 2  o1  \d+ → 6 tokens\n  An order is on its way.\n", out)
    assert "Where is my order?" not in out
    assert out.index("When will it arrive?") < out.index("On Monday.")
    found = sap.json("show", "support", "--history")
    assert [(it["kind"], it["id"]) for it in found["entries"]] == [
        ("summary", "o1"),
        ("message", "m3"),
        ("message", "x4"),
    ]
    assert found["context_tokens"] == found["session"]["context_tokens"]


def test_show_of_another_leaf_follows_its_path(sap: Command) -> None:
    lines = sap("show", "support", "--leaf", "m4").splitlines()
    assert "Tomorrow." in lines[-1]
    assert "├─●" in lines[-2]
    assert "◀ tip" in lines[-2]


@pytest.fixture
def long(sap: Command, folder: Path) -> Command:
    """Add a session of a thousand messages, with branches here and there and overlays."""
    with sapwood.open(f"sqlite:///{folder}/agent.db", durability="normal") as sessions:
        chat = sessions.session("long")
        texts = [sapwood.NewMessage(role="user", parts=[], id=f"m{n}") for n in range(1, 1001)]
        chat.append_all(texts)
        for n in (100, 500, 980, 990):
            chat.append("user", f"branch at {n}", id=f"b{n}", parent=f"m{n}")
        chat.checkout("m1000")
        chat.add_overlay("m10", "m900", "most of it", id="wide")
        chat.add_overlay("m960", "m985", "some of it", id="near")
    return sap


def ids_in(found: dict[str, list[dict[str, str]]]) -> list[str]:
    return [it["id"] for it in found["messages"]]


def test_a_page_of_a_long_session_is_its_end(long: Command) -> None:
    found = long.json("show", "long", "--limit", "30")
    expected = [f"m{n}" for n in range(971, 1001)] + ["b980", "b990"]
    assert ids_in(found) == expected
    assert (found["before"], found["other_branches"]) == (971, 2)
    assert [it["id"] for it in found["overlays"]] == ["near"]
    done = long.run("show", "long", "--limit", "30")
    assert "there is more above: sapwood show long --before 971" in done.stderr
    assert "2 branches elsewhere" in done.stderr


def test_pages_go_up_to_the_first_message(long: Command) -> None:
    seen: list[str] = []
    before: list[str] = []
    while True:
        found = long.json("show", "long", "--limit", "300", *before)
        seen += ids_in(found)
        if not found["more_above"]:
            break
        before = ["--before", str(found["before"])]
    path = [id for id in seen if id.startswith("m")]
    assert sorted(path) == sorted(f"m{n}" for n in range(1, 1001))
    assert {"b100", "b500", "b980", "b990"} <= set(seen)


def test_an_overlay_that_ends_below_the_page_is_drawn_on_it(long: Command) -> None:
    out = long("show", "long", "--before", "800", "--limit", "5")
    assert out.count("┃") == 4
    assert "┗" in out
    assert "most of it" in out


def test_all_of_a_long_session_is_drawn(long: Command) -> None:
    out = long("show", "long", "--all")
    rows = [line for line in out.splitlines() if "●" in line]
    assert len(rows) == 1004
    assert out.count("◀ tip") == 1


def test_a_history_goes_up_in_pages_too(long: Command) -> None:
    found = long.json("show", "long", "--history", "--limit", "20")
    assert [it["id"] for it in found["entries"]][3:6] == ["m959", "near", "m986"]
    assert found["before"] == 956
    found = long.json("show", "long", "--history", "--limit", "57", "--before", "956")
    assert [it["id"] for it in found["entries"]][:3] == ["m9", "wide", "m901"]


def test_many_branches_do_not_fill_the_page(sap: Command, folder: Path) -> None:
    with sapwood.open(f"sqlite:///{folder}/agent.db", durability="normal") as sessions:
        chat = sessions.session("bushy")
        chat.append("user", "root", id="root")
        for n in range(60):
            chat.append_all([("user", f"{n} {i}") for i in range(15)], parent="root")
    done = sap.run("show", "bushy")
    assert done.stdout.count("├─●") == 20
    assert done.stdout.count("goes on to") == 20
    assert "39 branches elsewhere" in done.stderr
    assert len(sap.json("show", "bushy", "--all")["messages"]) == 901


@contextmanager
def few_calls_deep() -> Iterator[None]:
    """Let functions call each other less deep than branches are nested; a process may 1,000."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(min(before, len(inspect.stack(0)) + NESTED - 100))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def test_branches_nested_deeper_than_python_can_are_drawn(sap: Command, folder: Path) -> None:
    with sapwood.open(f"sqlite:///{folder}/agent.db", durability="normal") as sessions:
        chat = sessions.session("deep")
        chat.append("user", "0", id="a0")
        for n in range(1, NESTED):
            chat.append_all(
                [sapwood.NewMessage(role="user", parts=[], id=id) for id in (f"a{n}", f"z{n}")],
                parent=f"a{n - 1}",
            )
        chat.checkout("z1")
    with few_calls_deep():
        drawn = sap("show", "deep", "--all")
    assert drawn.count("●") == 2 * NESTED - 1


def test_an_empty_session_says_so(sap: Command, folder: Path) -> None:
    with sapwood.open(f"sqlite:///{folder}/agent.db") as sessions:
        sessions.create("new")
    done = sap.run("show", "new")
    assert (done.returncode, done.stderr) == (0, "no messages\n")
    assert sap.json("show", "new")["messages"] == []
    assert sap.run("show", "new", "--history").stderr == "no messages\n"


def test_search_finds_and_shows_where(sap: Command) -> None:
    out = sap("search", "arrive")
    assert out.splitlines()[0].startswith("support  m3  user  ")
    assert out.splitlines()[1] == "  When will it arrive?"
    [hit] = sap.json("search", "monday")["hits"]
    assert (hit["session"], hit["id"], hit["kind"]) == ("support", "x4", "message")
    assert [hit["snippet"][a:b] for a, b in hit["marks"]] == ["Monday"]


def test_sessions_of_other_kinds_are_shown_to_who_asks_for_them(sap: Command, folder: Path) -> None:
    with sapwood.open(f"sqlite:///{folder}/agent.db") as sessions:
        sessions.create("facts", kind="memory").append("user", "Parcels arrive on Mondays.")
    chats = {"support", "second"}
    for options, names in (
        ([], chats),
        (["--kind", "memory"], {"facts"}),
        (["--kind", "all"], {*chats, "facts"}),
        (["--kind", "nothing"], set()),
    ):
        found = sap.json("ls", *options)["sessions"]
        assert {it["id"] for it in found} == names
        hits = sap.json("search", "arrive*", *options)["hits"]
        assert {it["session"] for it in hits} == names - {"second"}
    assert found == []
    assert sap.json("ls", "--kind", "memory")["sessions"][0]["kind"] == "memory"
    assert "fits" in sap.run("ls", "--kind", "nothing").stderr


def test_search_takes_several_words_options_and_dashes(sap: Command) -> None:
    assert len(sap.json("search", "order", "way")["hits"]) == 1
    first = sap.json("search", "order", "--limit", "1")
    said = sap.run("search", "order", "--limit", "1").stderr
    assert said == f"there are more: add --cursor {first['cursor']}\n"
    second = sap.json("search", "order", "--limit", "1", "--cursor", first["cursor"])
    assert first["hits"][0]["id"] != second["hits"][0]["id"]
    assert sap.fails("search", "parcel", "--limit", "1", "--cursor", first["cursor"])[0] == 2
    assert sap.json("search", "--session", "second", "monday")["hits"] == []
    assert sap.run("search", "--", "--force").stderr == "nothing found\n"
    code, said = sap.fails("search", "()")
    assert (code, "word" in said) == (2, True)


def test_json_is_valid_however_odd_the_text(sap: Command, folder: Path) -> None:
    with sapwood.open(f"sqlite:///{folder}/agent.db") as sessions:
        sessions.session("odd", title='a"b\x9b\u202e').append("user", "\x1b[2J\x9b\u2028 é 漢")
    found = json.loads(sap("show", "odd", "--json"))
    assert found["messages"][0]["parts"][0]["text"] == "\x1b[2J\x9b\u2028 é 漢"
    assert not re.search(
        "[\x1b\x9b\u202e\u2028]", sap("ls", "--json") + sap("show", "odd", "--json")
    )


def test_the_owners_are_listed_with_what_they_have(sap: Command, folder: Path) -> None:
    with sapwood.open(f"sqlite:///{folder}/agent.db", owner="ada") as sessions:
        sessions.session("notes", kind="memory").append("user", "x")
    lines = [line.split() for line in sap("owners").splitlines()]
    assert lines == [
        ["OWNER", "SESSIONS", "MESSAGES", "OTHERS", "ACTIVE"],
        ["ada", "0", "0", "1", "just", "now"],
        ["default", "2", "5", "0", "just", "now"],
    ]
    found = sap.json("owners")["owners"]
    assert [it["owner"] for it in found] == ["ada", "default"]
    assert (found[1]["sessions"], found[1]["messages"], found[1]["other_sessions"]) == (2, 5, 0)
    assert found[1]["active_at"].endswith("Z")
