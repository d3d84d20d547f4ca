"""`fork`, `rename`, `rm`, `tail`, `export`, `import`, `doctor`, `backup` and `migrate`."""

from __future__ import annotations

import json
import signal
import subprocess
from contextlib import closing
from pathlib import Path

import apsw
import pytest

import sapwood
from sapwood.stores.sqlite.migrate import packaged_steps

from .command import Command, wait_until


def test_fork_goes_on_from_a_message(sap: Command) -> None:
    assert sap("fork", "support", "third", "--at", "m2", "--title", "Again") == "third\n"
    found = sap.json("show", "third")
    assert (found["session"]["tip"], found["session"]["title"]) == ("m2", "Again")
    name = sap("fork", "support").strip()
    assert sap.json("show", name)["session"]["tip"] == "x4"
    copy = sap.json("fork", "support", "copy", "--detach")
    assert (copy["messages"], copy["forked_at"]) == (4, None)


def test_rename_changes_the_title(sap: Command) -> None:
    assert sap("rename", "support", "Parcels & more") == "support  Parcels & more\n"
    assert sap.json("rename", "support", "")["title"] is None


def test_rm_deletes_and_forks_keep_what_they_stand_on(sap: Command) -> None:
    assert sap("rm", "support") == "deleted support\n"
    assert len(sap.json("show", "second")["messages"]) == 3
    assert sap.json("rm", "second", "second") == {"deleted": ["second"], "messages": 0}


def test_rm_of_several_deletes_all_or_none(sap: Command) -> None:
    code, said = sap.fails("rm", "second", "nobody")
    assert (code, "nobody" in said) == (3, True)
    assert len(sap.json("ls")["sessions"]) == 2


def test_tail_shows_the_last_changes(sap: Command) -> None:
    done = sap.run("tail", "-n", "2")
    assert [line.split("  ")[-1] for line in done.stdout.splitlines()] == [
        "assistant: On Monday.",
        "active",
    ]
    assert done.stderr.startswith("cursor ")
    [line] = sap("tail", "--session", "second").splitlines()
    assert line.split("  ")[1:] == ["record", "second", "active"]
    assert sap("tail", "-n", "0") == ""


def test_tail_goes_on_from_a_cursor(sap: Command) -> None:
    changes = [json.loads(line) for line in sap("tail", "--json").splitlines()]
    said = [it for it in changes if it["kind"] == "append"]
    assert [it["message"] for it in said] == ["m1", "m2", "m3", "m4", "x4"]
    assert {it["session"] for it in changes if it["kind"] == "record"} == {"support", "second"}
    assert all(it["cursor"] is not None for it in changes)
    assert sap("tail", "--since", changes[-1]["cursor"]) == ""
    again = sap("tail", "--json", "--since", "").splitlines()
    assert [json.loads(line) for line in again] == changes
    sap("rm", "support")
    [change] = sap("tail", "--json", "--since", changes[-1]["cursor"]).splitlines()
    assert json.loads(change)["kind"] == "retire"
    assert sap.fails("tail", "--since", "nonsense")[0] == 2


def test_no_change_is_missed_from_any_cursor_that_was_told(sap: Command, folder: Path) -> None:
    with sapwood.open(f"sqlite:///{folder}/agent.db", durability="normal") as sessions:
        sessions.session("long").append_all([("user", str(n)) for n in range(700)])
    changes = [json.loads(line) for line in sap("tail", "--json", "--since", "").splitlines()]
    assert len([it for it in changes if it["kind"] == "append"]) == 705
    for at in (0, 3, 250, 700):
        rest = sap("tail", "--json", "--since", changes[at]["cursor"]).splitlines()
        told = [json.loads(line)["message"] for line in rest]
        wanted = [it["message"] for it in changes[at + 1 :]]
        assert told[len(told) - len(wanted) :] == wanted


def test_tail_follows_until_it_is_interrupted(sap: Command, folder: Path) -> None:
    process = sap.start(
        "tail", "-f", "-n", "1", "--interval", "0.05", "--json", stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["session"] == "second"
    with sapwood.open(f"sqlite:///{folder}/agent.db") as sessions:
        sessions.get("support").append("user", "more", id="x5")
    assert json.loads(process.stdout.readline())["message"] == "x5"
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    process.stdout.close()


def moved(sap: Command) -> Command:
    return Command(sap.folder, "sqlite:///moved.db")


def test_export_and_import_carry_sessions_to_another_database(sap: Command) -> None:
    assert sap("export", "-o", "all.jsonl") == "2 sessions, 5 messages\n"
    other = moved(sap)
    assert "2 sessions created, 0 there already; 5 messages written" in other("import", "all.jsonl")
    assert other("show", "support") == sap("show", "support")
    again = other.json("import", "all.jsonl")
    assert (again["created"], again["written"], again["skipped"]) == ([], 0, 5)
    assert (
        other("export", "support").splitlines()[1:4] == sap("export", "support").splitlines()[1:4]
    )


def test_an_import_may_come_through_a_pipe(sap: Command) -> None:
    data = sap("export").encode()
    other = moved(sap)
    other("import", "-", input=data)
    assert len(other.json("ls")["sessions"]) == 2
    done = sap.shell("sapwood export support | sapwood --store sqlite:///third.db import - --json")
    assert json.loads(done.stdout)["created"] == ["support"]


def test_an_import_says_what_it_could_not_carry(sap: Command) -> None:
    sap("export", "second", "-o", "one.jsonl")
    done = moved(sap).run("import", "one.jsonl")
    assert (done.returncode, "note: session 'second'" in done.stderr) == (0, True)


def test_export_replaces_a_file_whole_and_writes_to_devices(sap: Command, folder: Path) -> None:
    (folder / "x.jsonl").write_text("old")
    sap.json("export", "-o", "x.jsonl", "--force")
    assert (folder / "x.jsonl").read_text().startswith('{"kind":"header"')
    sap("export", "-o", "/dev/null")
    assert sap("export", "-o", "-") == (folder / "x.jsonl").read_text()
    assert sorted(it.name for it in folder.iterdir() if "x.jsonl" in it.name) == ["x.jsonl"]


def test_export_replaces_no_file_unasked(sap: Command, folder: Path) -> None:
    (folder / "x.jsonl").write_text("old")
    code, said = sap.fails("export", "-o", "x.jsonl")
    assert (code, "--force" in said) == (4, True)
    assert (folder / "x.jsonl").read_text() == "old"


def test_export_keeps_a_link_and_replaces_what_it_leads_to(sap: Command, folder: Path) -> None:
    (folder / "real.jsonl").write_text("old")
    (folder / "link.jsonl").symlink_to("real.jsonl")
    assert sap.fails("export", "-o", "link.jsonl")[0] == 4
    sap("export", "-o", "link.jsonl", "--force")
    assert (folder / "link.jsonl").is_symlink()
    assert (folder / "real.jsonl").read_text().startswith('{"kind":"header"')


def test_export_never_replaces_the_database(sap: Command, folder: Path) -> None:
    before = sap("export")
    (folder / "link").symlink_to("agent.db")
    (folder / "hard").hardlink_to(folder / "agent.db")
    names = ["agent.db", "agent.db-wal", "agent.db-shm", "agent.db-search", "link", "hard"]
    for name in [*names, "./agent.db"]:
        for force in ([], ["--force"]):
            code, said = sap.fails("export", "-o", name, *force)
            assert (code, "database itself" in said) == (2, True)
    (folder / "hard").unlink()
    assert sap("export") == before


def test_a_wrong_file_makes_no_database_and_changes_none(sap: Command, folder: Path) -> None:
    (folder / "bad.jsonl").write_text(sap("export")[:-30])
    before = sap("export")
    code, said = sap.fails("import", "bad.jsonl")
    assert (code, "cut off" in said or "line" in said) == (2, True)
    assert sap("export") == before
    other = moved(sap)
    assert other.fails("import", "bad.jsonl")[0] == 2
    assert other.fails("import", "agent.db")[0] == 2
    text = sap("export").replace('"tip":"x4"', '"tip":"nobody"', 1)
    (folder / "tip.jsonl").write_text(text)
    code, said = other.fails("import", "tip.jsonl")
    assert (code, "line 2 has the tip 'nobody'" in said) == (2, True)
    assert not (folder / "moved.db").exists()
    assert sap.fails("import", "nowhere.jsonl")[0] == 2
    assert sap.fails("import", ".")[0] == 2


def test_a_conflict_is_told_before_anything_is_written(sap: Command, folder: Path) -> None:
    sap("export", "-o", "all.jsonl")
    other = moved(sap)
    other("import", "all.jsonl")
    text = (folder / "all.jsonl").read_text()
    (folder / "all.jsonl").write_text(text.replace("Tomorrow.", "Next year.", 1))
    before = (folder / "moved.db").read_bytes()
    code, said = other.fails("import", "all.jsonl")
    assert code == 4
    assert "'m4' has other content in the store (line 6)" in said
    assert (folder / "moved.db").read_bytes() == before


def test_a_newer_format_is_refused(sap: Command) -> None:
    data = sap("export").replace('"version":1', '"version":99', 1).encode()
    code, said = moved(sap).fails("import", "-", input=data)
    assert (code, "upgrade" in said) == (8, True)


def damage(folder: Path, sql: str) -> None:
    with closing(apsw.Connection(str(folder / "agent.db"))) as raw:
        raw.execute(sql)


def test_doctor_finds_and_repairs(sap: Command, folder: Path) -> None:
    assert sap("doctor").splitlines()[-1] == "nothing is wrong"
    damage(folder, "UPDATE session SET apart = apart + 1")
    done = sap.run("doctor")
    assert done.returncode == 10
    assert "session support: it counts 6 messages and has 5" in done.stdout
    done = sap.run("doctor", "--json")
    assert (done.returncode, len(json.loads(done.stdout)["problems"])) == (10, 2)
    assert "2 of 2 problems repaired" in sap("doctor", "--repair")
    found = sap.json("doctor")
    assert (found["problems"], found["sessions"], found["messages"]) == ([], 2, 5)


def test_doctor_tells_what_it_cannot_repair(sap: Command, folder: Path) -> None:
    damage(folder, "UPDATE message SET body = x'7b' WHERE id = 'm1'")
    done = sap.run("doctor", "--repair")
    assert done.returncode == 10
    assert "message m1" in done.stdout


def test_doctor_of_what_is_no_database_says_so(sap: Command, folder: Path) -> None:
    (folder / "agent.db").write_bytes(b"no database at all" * 100)
    assert sap.fails("doctor")[0] == 6


@pytest.mark.parametrize("command", ["doctor", "migrate", "ls"])
def test_a_newer_schema_is_refused(sap: Command, folder: Path, command: str) -> None:
    damage(folder, "PRAGMA user_version = 99")
    code, said = sap.fails(command)
    assert (code, "upgrade" in said) == (7, True)


def test_migrate_tells_the_versions(sap: Command) -> None:
    newest = packaged_steps()[-1].version
    assert sap("migrate") == f"schema {newest}: nothing to do\n"
    assert sap.json("migrate") == {"before": newest, "after": newest}


def test_backup_is_a_database_like_any_other(sap: Command, folder: Path) -> None:
    assert sap("backup", "copy.db").startswith("copy.db  ")
    copy = Command(folder, "sqlite:///copy.db")
    assert copy("show", "support") == sap("show", "support")
    assert copy.json("doctor")["problems"] == []
    assert sap.fails("backup", "copy.db")[0] == 4
    assert sap.json("backup", "--force", "copy.db")["bytes"] > 0
    assert sap.fails("backup", "--force", "agent.db")[0] == 2
    assert sap.fails("backup", "nowhere/copy.db")[0] == 5
    assert "--force" in sap.fails("backup", "copy.db")[1]
    (folder / "dd").mkdir()
    for forced in ([], ["--force"]):
        for args in (["backup", "dd"], ["export", "-o", "dd"]):
            code, said = sap.fails(*args, *forced)
            assert (code, "'dd' is a folder: name a file" in said) == (2, True), said


def test_a_memory_store_has_no_backup(sap: Command) -> None:
    assert sap.fails("--store", "memory://", "backup", "x.db")[0] == 8


@pytest.fixture
def long(sap: Command, folder: Path) -> Command:
    """Add a session long enough to be interrupted over."""
    with sapwood.open(f"sqlite:///{folder}/agent.db", durability="normal") as sessions:
        chat = sessions.session("long")
        for _ in range(40):
            chat.append_all([("user", "text " * 100)] * 1000)
    return sap


def interrupted(command: Command, *args: str, when: object) -> int:
    process = command.start(*args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(when)
    process.send_signal(signal.SIGINT)
    return process.wait(60)


@pytest.mark.fault
def test_an_interrupted_export_leaves_nothing(long: Command, folder: Path) -> None:
    (folder / "x.jsonl").write_text("old")
    begun = lambda: any(it.stat().st_size > 100_000 for it in folder.glob("x.jsonl.*"))  # noqa: E731
    assert interrupted(long, "export", "--force", "-o", "x.jsonl", when=begun) == 130
    assert (folder / "x.jsonl").read_text() == "old"
    assert list(folder.glob("x.jsonl.*")) == []


@pytest.mark.fault
def test_an_interrupted_backup_leaves_nothing(long: Command, folder: Path) -> None:
    begun = lambda: any(it.stat().st_size > 10_000 for it in folder.glob("y.db*"))  # noqa: E731
    code = interrupted(long, "backup", "y.db", when=begun)
    assert code in (0, 130)
    names = [it.name for it in folder.glob("y.db*")]
    assert names == ([] if code else ["y.db"])


@pytest.mark.fault
def test_an_interrupted_import_leaves_no_half_session(long: Command, folder: Path) -> None:
    long("export", "-o", "x.jsonl")
    other = moved(long)

    def begun() -> bool:
        if not (folder / "moved.db").exists():
            return False
        with sapwood.open(f"sqlite:///{folder}/moved.db") as sessions:
            found = sessions.find("long")
            return found is not None and found.record().messages > 1_000

    assert interrupted(other, "import", "x.jsonl", when=begun) == 130
    assert {it["id"] for it in other.json("ls")["sessions"]} == {"support", "second"}
    assert other.json("doctor")["problems"] == []
    other("import", "x.jsonl")
    assert other.json("show", "long")["session"]["messages"] == 40_000


@pytest.mark.fault
def test_a_killed_import_is_finished_by_the_next(long: Command, folder: Path) -> None:
    long("export", "-o", "x.jsonl")
    other = moved(long)
    process = other.start("import", "x.jsonl", stdout=subprocess.DEVNULL)
    wait_until(lambda: (folder / "moved.db-wal").exists())
    wait_until(lambda: (folder / "moved.db-wal").stat().st_size > 2_000_000)
    process.kill()
    process.wait()
    done = other.json("import", "x.jsonl")
    assert done["written"] + done["skipped"] == 40_005
    assert other.json("doctor")["problems"] == []
    one, two = folder / "one.jsonl", folder / "two.jsonl"
    long("export", "long", "-o", str(one))
    other("export", "long", "-o", str(two))
    assert one.read_text().splitlines()[2:] == two.read_text().splitlines()[2:]


def test_an_export_that_cannot_be_written_is_told_by_its_own_name(
    sap: Command, folder: Path
) -> None:
    code, said = sap.fails("export", "-o", "nowhere/x")
    wanted = f"sapwood: there is no folder '{folder.resolve()}/nowhere': create it first\n"
    assert (code, said) == (1, wanted)
    code, said = sap.fails("export", "-o", "n" * 250)
    assert (code, ".unfinished" in said) == (1, False)
