"""Exit codes, errors, help, completion, pipes: how a command behaves."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import sapwood
from sapwood import errors
from sapwood.cli import EXTRA, MISSING_DEPENDENCY, exit_codes
from sapwood.cli.app import COMMANDS, app
from sapwood.cli.interrupts import held_interrupts
from sapwood.cli.run import run

from .command import Command

DOCS = Path(__file__).resolve().parents[2] / "docs"
NAMES = {
    **dict.fromkeys(("show", "search", "compact", "context", "fork", "backup"), ("x",)),
    **{
        "rename": ("x", "y"),
        "completion": ("tcsh",),
        "rm": ("x", "--yes"),
        "import": ("x.jsonl",),
        "copy": ("x", "y"),
    },
}
"""What commands cannot be called without."""


def all_errors() -> list[type[errors.SapwoodError]]:
    return [it for it in vars(errors).values() if isinstance(it, type) and "Error" in it.__name__]


def test_every_error_has_the_exit_code_that_is_documented() -> None:
    page = (DOCS / "cli.md").read_text()
    rows = re.findall(r"^\| (\d+) \|(.*?)\|", page, re.M)
    documented = {name: int(code) for code, names in rows for name in re.findall(r"`(\w+)`", names)}
    given = {cls.code: exit_codes.exit_code_of(cls.__new__(cls)) for cls in all_errors()}
    assert documented == given
    codes = {int(code) for code, _ in rows}
    assert codes == {
        0,
        *exit_codes.CODES.values(),
        exit_codes.PROBLEMS,
        exit_codes.INTERRUPTED,
        exit_codes.BROKEN_PIPE,
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(name: str) -> None:
    done = CliRunner().invoke(app, [name, "--help"])
    assert done.exit_code == 0
    assert COMMANDS[name] in " ".join(done.output.split())
    example = re.search(r"Example:\n +(sapwood .*)", done.output)
    assert example is not None
    assert example[1].startswith((f"sapwood {name}", "sapwood --store"))
    for option in ("--store", "--owner", "--json", "--help"):
        assert option in done.output


@pytest.mark.parametrize("name", COMMANDS)
def test_a_process_ends_as_the_command_does_in_the_process_of_a_test(
    name: str, sap: Command
) -> None:
    """Most tests run it so; that each goes well as a process is shown by docs/cli.md."""
    store = ("--store", "sqlite:///no/such/folder/agent.db")
    for args in ((name, "--nonsense"), (name, *store, *NAMES.get(name, ()))):
        apart, here = sap.run_process(*args), sap.run(*args)
        assert (apart.returncode, apart.stdout, apart.stderr) == (
            (here.returncode, here.stdout, here.stderr)
        )
        assert apart.returncode != 0
        assert apart.stderr.startswith("sapwood: ")


def options_of(name: str) -> list[str]:
    command = app.get_command(click.Context(app), name)
    assert command is not None
    options = [it for it in command.params if isinstance(it, click.Option)]
    return [name for it in options for name in (*it.opts, *it.secondary_opts)]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_documented(name: str) -> None:
    page = (DOCS / "cli.md").read_text()
    general = page.partition("## For all commands")[2].partition("\n## ")[0]
    section = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    said = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", general + section))
    missing = [it for it in options_of(name) if it not in said]
    assert missing == []


def test_the_help_says_where_several_sessions_may_stand() -> None:
    for name, usage in (
        ("rm", "SESSION..."),
        ("export", "[SESSION]..."),
        ("show", "SESSION [MESSAGE]"),
        ("usage", "[SESSION]"),
    ):
        first, *_ = CliRunner().invoke(app, [name, "--help"]).output.splitlines()
        assert first.endswith(f"[OPTIONS] {usage}")


def test_the_help_lists_the_commands_without_loading_them() -> None:
    code = (
        "import sys; sys.argv = ['sapwood', '--help']\n"
        "from sapwood.cli.run import run\n"
        "run()\n"
        "print(sorted(it for it in sys.modules if 'commands.' in it or it in ('apsw', 'rich')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"
    for name, sentence in COMMANDS.items():
        assert re.search(rf"^ +{name} +{re.escape(sentence)}", done.stdout, re.M)


def test_a_listing_loads_neither_a_loop_nor_what_draws(sap: Command) -> None:
    code = (
        "import sys; sys.argv = ['sapwood', '{}']\n"
        "from sapwood.cli.run import run\n"
        "run(sys.argv[1:] + {})\n"
        "print(sorted({{'asyncio', 'rich'}} & set(sys.modules)))"
    )
    for name, rest in (
        ("ls", []),
        ("show", ["support"]),
        ("search", ["order"]),
        ("usage", []),
        ("context", ["support"]),
    ):
        done = subprocess.run(
            [sys.executable, "-c", code.format(name, rest)],
            capture_output=True,
            text=True,
            cwd=sap.folder,
            env=sap.env,
        )
        assert done.stdout.splitlines()[-1] == "[]", (name, done.stderr)


def test_common_options_stand_before_or_after_the_command(sap: Command) -> None:
    del sap.env["SAPWOOD_STORE"]
    store = ["--store", "sqlite:///agent.db"]
    for args in ([*store, "--json", "ls"], ["ls", *store, "--json"], [*store, "ls", "--json"]):
        assert len(json.loads(sap(*args))["sessions"]) == 2
    twice = ["--store", "sqlite:///wrong.db", "--owner", "x", "ls", *store, "--owner", "default"]
    assert len(json.loads(sap(*twice, "--json"))["sessions"]) == 2
    sap.env["SAPWOOD_OWNER"] = "nobody"
    assert sap.json("ls", *store)["sessions"] == []
    assert len(sap.json("ls", *store, "--owner", "default")["sessions"]) == 2


def test_a_missing_database_is_not_made_by_looking(empty: Command) -> None:
    looking = (["ls"], ["show", "x"], ["tail"], ["doctor"], ["migrate"], ["backup", "b"])
    for args in (
        *looking,
        ["usage"],
        ["compact", "x"],
        ["context", "x"],
        ["context", "x", "y", "--set", "z"],
    ):
        code, said = empty.fails(*args)
        assert (code, "there is no database" in said) == (3, True)
    assert list(empty.folder.iterdir()) == []


def test_looking_for_the_users_own_database_makes_no_folder(empty: Command) -> None:
    del empty.env["SAPWOOD_STORE"]
    empty.env.pop("XDG_DATA_HOME", None)
    empty.env["HOME"] = str(empty.folder / "home")
    for args in (["ls"], ["show", "x"], ["doctor"]):
        code, said = empty.fails(*args)
        assert (code, "there is no database" in said) == (3, True)
    assert list(empty.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("args", "code", "slug"),
    [
        (["show", "nobody"], 3, "not_found"),
        (["show", "support", "--leaf", "nope"], 3, "not_found"),
        (["fork", "support", "second"], 4, "already_exists"),
        (["fork", "support", "x", "--at", "nope"], 3, "not_found"),
        (["rename", "nobody", "x"], 3, "not_found"),
        (["usage", "nobody"], 3, "not_found"),
        (["usage", "support", "--by", "day"], 2, "usage"),
        (["context", "nobody"], 3, "not_found"),
        (["compact", "nobody"], 3, "not_found"),
        (["compact", "support", "--undo"], 3, "not_found"),
        (["compact", "support", "--strategy", "nonsense"], 2, "usage"),
        (["export", "nobody"], 3, "not_found"),
        (["search", "x", "--session", "nobody"], 3, "not_found"),
        (["ls", "--cursor", "nonsense"], 2, "usage"),
        (["ls", "--limit", "0"], 2, "usage"),
        (["ls", "--limit", "5", "--all"], 2, "usage"),
        (["show", "support", "--limit", "5", "--all"], 2, "usage"),
        (["show"], 2, "usage"),
        (["show", "a\nb"], 2, "usage"),
        (["nonsense"], 2, "usage"),
        (["ls", "--nonsense"], 2, "usage"),
        (["ls", "--store", "nonsense"], 2, "usage"),
        (["backup", "copy.db", "--store", "memory://"], 8, "unsupported"),
        (["ls", "--owner", ""], 2, "usage"),
        (["ls", "--created-from", "yesterday"], 2, "usage"),
        (["export", "-o", "/nowhere/x"], 1, "file"),
    ],
)
def test_an_error_is_a_line_and_a_code(sap: Command, args: list[str], code: int, slug: str) -> None:
    done = sap.run(*args)
    assert done.returncode == code
    assert done.stdout == ""
    assert done.stderr.startswith("sapwood: ")
    done = sap.run(*args, "--json")
    assert done.returncode == code
    told = json.loads(done.stderr)
    assert (told["error"], told["exit_code"]) == (slug, code)
    assert told["message"]


def test_an_error_in_json_has_its_fields(sap: Command) -> None:
    told = json.loads(sap.run("show", "nobody", "--json").stderr)
    assert (told["kind"], told["id"]) == ("session", "nobody")


@pytest.mark.parametrize(
    "args",
    [
        ["show", "support"],
        ["show", "support", "--history"],
        ["rm", "support", "--yes"],
        ["fork", "support", "x"],
        ["rename", "support", "x"],
        ["usage", "support"],
        ["context", "support"],
        ["compact", "support"],
        ["export", "support"],
        ["search", "x", "--session", "support"],
    ],
)
def test_a_session_that_is_not_there_is_told_with_its_owner(sap: Command, args: list[str]) -> None:
    sap.env["SAPWOOD_OWNER"] = "ada"
    said = "owner 'ada' has no session 'support': --owner or SAPWOOD_OWNER names another owner"
    assert sap.fails(*args) == (3, f"sapwood: {said}\n")
    code, told = sap.fails(*args, "--json")
    assert (code, json.loads(told)["message"]) == (3, said)


@pytest.mark.parametrize(
    ("args", "meant"),
    [
        (["shwo", "support"], "'show'"),
        (["show", "suport"], "'support'"),
        (["show", "support", "--histry"], "--history"),
        (["show", "support", "m44"], "'m4'"),
        (["search", "x", "--session", "secnd"], "'second'"),
        (["rm", "secnd"], "'second'"),
    ],
)
def test_what_is_misspelt_is_told_with_what_may_be_meant(
    sap: Command, args: list[str], meant: str
) -> None:
    code, said = sap.fails(*args)
    assert code in (2, 3)
    assert re.search(rf"(?i)did you mean.*{meant}", said)
    assert json.loads(sap.fails(*args, "--json")[1])["message"].count(meant) == 1


@pytest.mark.parametrize("store", ["./agent.db", "agent.db", "sqlite:///agent.db"])
def test_a_store_may_be_a_path(sap: Command, store: str) -> None:
    del sap.env["SAPWOOD_STORE"]
    assert len(sap.json("ls", "--store", store)["sessions"]) == 2
    code, said = sap.fails("export", "-o", "agent.db", "--store", store, "--force")
    assert (code, "belongs to the database itself" in said) == (2, True)
    sap("backup", "copy.db", "--store", store)
    sap.env["SAPWOOD_STORE"] = store
    assert len(sap.json("ls")["sessions"]) == 2
    assert sap.fails("export", "-o", "agent.db", "--force")[0] == 2
    assert sap("migrate").startswith("schema ")
    code, said = sap.fails("ls", "--store", store.replace("agent", "nobody"))
    assert (code, "there is no database 'nobody.db'" in said) == (3, True)


def test_both_stores_of_a_copy_may_be_paths(sap: Command, folder: Path) -> None:
    assert sap.run("copy", "agent.db", "./folder.d/other.db").returncode != 0
    (folder / "folder.d").mkdir(exist_ok=True)
    sap("copy", "agent.db", "./folder.d/other.db")
    assert len(sap.json("ls", "--store", str(folder / "folder.d" / "other.db"))["sessions"]) == 2
    code, said = sap.fails("copy", "agent.db", "./agent.db")
    assert (code, "the same store" in said) == (2, True)


def test_a_reader_that_has_seen_enough_is_no_failure(sap: Command, folder: Path) -> None:
    with sapwood.open(f"sqlite:///{folder}/agent.db", durability="normal") as sessions:
        for n in range(3_000):
            sessions.create(f"s{n}", title="a title " * 10)
    for command in ("ls --all", "ls --all --json", "export", "tail --since ''"):
        done = sap.shell(f"sapwood {command} | head -1; echo ${{PIPESTATUS[0]}}")
        first, code = done.stdout.splitlines()[0], done.stdout.splitlines()[-1]
        assert first
        assert code in ("141", "0")
        assert re.sub(r"^cursor .*\n", "", done.stderr) == ""
    assert sap.shell("sapwood ls --all | head -1; echo ${PIPESTATUS[0]}").stdout.endswith("141\n")
    assert sap.shell("sapwood --help | true").stderr == ""


def test_output_that_cannot_be_written_is_told(sap: Command) -> None:
    for unbuffered in ("", "1"):
        done = sap.shell(f"PYTHONUNBUFFERED={unbuffered} sapwood ls > /dev/full")
        assert done.returncode == 1
        assert "No space left" in done.stderr
        assert done.stderr.count("\n") == 1


def test_without_its_extra_the_command_names_it(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise ModuleNotFoundError('no click', name='click')")
    code = "from sapwood.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == MISSING_DEPENDENCY == exit_codes.CODES[errors.MissingDependencyError]
    assert done.stderr == f"sapwood: {EXTRA}\n"
    assert "sapwood[cli]" in done.stderr


def test_ctrl_c_while_modules_are_loaded_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise KeyboardInterrupt")
    code = "from sapwood.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (exit_codes.INTERRUPTED, "")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("ls <&-", 0),
        ("ls >&-", 0),
        ("ls --json >&- 2>&- <&-", 0),
        ("show nobody 2>&-", 3),
        ("export >&-", 0),
        ("export -o x.jsonl >&- 2>&- <&-", 0),
        ("import - <&-", 2),
        ("tail 2>&-", 0),
    ],
)
def test_streams_may_be_closed(sap: Command, line: str, code: int) -> None:
    done = sap.shell(f"sapwood {line}")
    assert (done.returncode, "Traceback" in done.stderr) == (code, False)
    assert len(sap.json("ls")["sessions"]) == 2


def test_what_follows_two_dashes_is_no_option(sap: Command) -> None:
    done = sap.run("show", "--", "--json")
    assert (done.returncode, done.stderr[:9]) == (3, "sapwood: ")


def test_without_a_command_the_help_is_shown(sap: Command) -> None:
    assert sap() == sap("--help")


def test_the_version_is_told(sap: Command) -> None:
    assert sap("--version") == f"sapwood {sapwood.__version__}\n"


def complete(sap: Command, *words: str) -> list[str]:
    done = sap.run(
        _SAPWOOD_COMPLETE="bash_complete",
        COMP_WORDS=" ".join(["sapwood", *words]),
        COMP_CWORD=str(len(words)),
    )
    return [line.partition(",")[2] for line in done.stdout.split()]


def test_a_shell_completes_commands_options_and_sessions(sap: Command) -> None:
    assert complete(sap, "r") == ["rename", "rm"]
    assert complete(sap, "show", "su") == ["support"]
    assert complete(sap, "rm", "support", "s") == ["second", "support"]
    assert complete(sap, "show", "--hi") == ["--history"]
    assert complete(sap, "search", "x", "--session", "se") == ["second"]
    assert complete(sap, "--store", "sqlite:///agent.db", "show", "su") == ["support"]
    assert complete(sap, "show", "--store", "sqlite:///nowhere.db", "su") == []
    assert "_SAPWOOD_COMPLETE" in sap.run(_SAPWOOD_COMPLETE="bash_source").stdout


def test_completion_in_bash_itself(sap: Command) -> None:
    script = (
        'eval "$(sapwood completion bash)"\n'
        "COMP_WORDS=(sapwood show su); COMP_CWORD=2\n"
        "_sapwood_completion sapwood su show\n"
        'echo "${COMPREPLY[@]}"'
    )
    assert sap.shell(script).stdout == "support\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_gives_the_script_of_a_shell(sap: Command, shell: str) -> None:
    script = sap("completion", shell)
    assert f"_SAPWOOD_COMPLETE={shell}_complete" in script
    assert sap.json("completion", shell)["script"].strip() == script.strip()
    assert sap.fails("completion", "tcsh")[0] == 2


def interrupted(times: int, steps: list[str], *, asks: bool) -> None:
    with held_interrupts() as let_through:
        let_through()
        for _ in range(times):
            os.kill(os.getpid(), signal.SIGINT)
        steps.append("written")
        if asks:
            let_through()
            steps.append("went on")


@pytest.mark.parametrize(
    ("times", "asks", "steps"),
    [(1, True, ["written"]), (1, False, ["written"]), (2, True, [])],
    ids=["between writes", "at the end", "insisting"],
)
def test_ctrl_c_waits_for_a_place_where_nothing_is_half_done(
    times: int, asks: bool, steps: list[str]
) -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        interrupted(times, done, asks=asks)
    assert done == steps
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_unexpected_error_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object, **options: object) -> None:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr(click.Group, "invoke", broken)
    with pytest.raises(RuntimeError):
        run(["ls"])
