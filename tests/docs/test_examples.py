"""Every example in the documentation runs.

The blocks of a page run in their order, in one empty folder: `python` blocks share a namespace,
`sh` blocks are run by bash. An `output` block is what the block before it prints. A `python` block
that begins with `# file: name.py` is written to that file, for an `sh` block after it to run.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryFile

import pytest
from servers.process import free_port
from servers.urls import VARIABLES, emptied

from .blocks import PAGES, ROOT, Block, blocks_of, name_of

LANGUAGES = {"python", "sh", "output", "console", "text"}
FILE = re.compile(r"# file: ([\w.]+)\n")
# What `console` blocks may say: commands for a clone of the repository, or for another machine.
COMMANDS = re.compile(
    r"\$ (make( [a-z-]+)?( ARGS='[^']*')?|python examples/\w+\.py"
    r"|git clone .+|cd \w+|pip install .+)"
)

pages = pytest.mark.parametrize("page", PAGES, ids=name_of)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give an empty folder that is also home, so that no example finds or leaves anything."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.delenv("SAPWOOD_STORE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("PORT", str(free_port()))  # where an example serves
    return here


@pages
def test_the_examples_of_a_page_run(
    page: Path, folder: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = page.read_text()
    for variable, server in VARIABLES.items():
        if f'"{variable}"' in text:
            monkeypatch.setenv(variable, emptied(server, request))
    run_page(page, folder)


def run_page(page: Path, folder: Path) -> None:
    namespace: dict[str, object] = {"__name__": "__main__"}
    printed, files = "", []
    for block in blocks_of(page):
        if block.language == "python" and (named := FILE.match(block.text)):
            (folder / named[1]).write_text(block.text)
            files.append(named[1])
        elif block.language == "python":
            printed = run_python(block, namespace)
        elif block.language == "sh":
            printed = run_shell(block, folder)
            files = [name for name in files if name not in block.text]
        elif block.language == "output":
            assert printed.rstrip() == block.text.rstrip(), block.place
    assert files == [], "these files of examples were never run"


def run_python(block: Block, namespace: dict[str, object]) -> str:
    # The empty lines make a traceback name the line of the page.
    source = "\n" * (block.line - 1) + block.text
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(source, block.page, "exec"), namespace)
    return printed.getvalue()


def run_shell(block: Block, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with TemporaryFile("w+") as printed, TemporaryFile("w+") as said:
        running = subprocess.Popen(
            ["bash", "-e", "-o", "pipefail", "-c", block.text],
            cwd=folder,
            env={**os.environ, "PATH": path},
            stdout=printed,
            stderr=said,
            start_new_session=True,
        )
        try:
            code = running.wait(timeout=300)
        finally:
            # What a block starts, such as a server, ends with it.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
            running.wait()
        printed.seek(0)
        said.seek(0)
        text = printed.read()
        assert code == 0, f"{block.place}\n{text}\n{said.read()}"
    return text


@pages
def test_there_is_no_block_that_nothing_runs(page: Path) -> None:
    for block in blocks_of(page):
        assert block.language in LANGUAGES, f"{block.place}: a block of {block.language!r}"
        assert block.language != "text" or not looks_like_code(block.text), block.place


def looks_like_code(text: str) -> bool:
    return bool(re.search(r"^(\$ |import |from \w+ import|make |pip |python )", text, re.M))


@pages
def test_an_output_follows_what_prints_it(page: Path) -> None:
    before = ""
    for block in blocks_of(page):
        assert block.language != "output" or before in ("python", "sh"), block.place
        before = block.language


@pages
def test_console_blocks_hold_commands_that_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    for block in blocks_of(page):
        for line in block.text.splitlines() if block.language == "console" else []:
            assert COMMANDS.fullmatch(line), f"{block.place}: {line}"
    for named in re.findall(r"`make ([a-z-]+)`|^\$ make ([a-z-]+)", page.read_text(), re.M):
        assert "".join(named) in targets, f"{name_of(page)}: make {named}"


def test_readme_shows_the_five_lines_and_the_two_commands() -> None:
    languages = [block.language for block in blocks_of(ROOT / "README.md")]
    assert "python" in languages
    text = (ROOT / "README.md").read_text()
    assert "given = chat.prepare()" in text
    assert "$ make demo" in text
    assert "$ make test" in text


def test_readme_says_how_to_install_it() -> None:
    shown = "".join(it.text for it in blocks_of(ROOT / "README.md") if it.language == "console")
    assert "$ pip install sapwood\n" in shown
    assert "$ pip install .\n" in shown


@pytest.mark.parametrize(
    "text",
    [
        "```python\nx = 1\n```\n\n```python\nassert x == 2\n```\n",
        "```sh\nfalse | true\n```\n",
        "```python\nprint(1)\n```\n\n```output\n2\n```\n",
        "```sh\necho 1\n```\n\n```output\n2\n```\n",
        "```python\n# file: a.py\nprint(1)\n```\n",
        "- a list\n\n  ```sh\n  false\n  ```\n",
        "```python\nx = 1\n",
    ],
)
def test_a_page_with_a_wrong_example_fails(text: str, tmp_path: Path, folder: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(AssertionError):
        run_page(page, folder)


def test_what_a_block_starts_ends_with_it(tmp_path: Path, folder: Path) -> None:
    page = tmp_path / "page.md"
    held = "flock --exclusive held sleep 300 &\nuntil ! flock --nonblock held true; do :; done"
    page.write_text(f"```sh\n{held}\n```\n\n```sh\nflock --timeout 60 held true\n```\n")
    run_page(page, folder)


def test_a_traceback_names_the_line_of_the_page(tmp_path: Path, folder: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("A page.\n\n```python\nx = 1\n1 / 0\n```\n")
    with pytest.raises(ZeroDivisionError) as caught:
        run_page(page, folder)
    assert (caught.traceback[-1].path, caught.traceback[-1].lineno + 1) == (page, 5)
