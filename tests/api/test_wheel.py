"""The wheel works by itself: in a fresh environment, without what developers install."""

from __future__ import annotations

import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import asyncio, importlib.metadata, sapwood

names = {d.metadata["Name"].lower() for d in importlib.metadata.distributions()}
assert names - {"pip", "setuptools"} == {"sapwood", "apsw", "msgspec"}, names
assert importlib.metadata.version("sapwood") == sapwood.__version__

with sapwood.open("sqlite:///agent.db", owner="ada") as sessions:
    sessions.session("support").append("user", "Where is my order?")


async def main():
    async with sapwood.open_async("sqlite:///agent.db", owner="ada") as sessions:
        chat = await sessions.session("support")
        await chat.append("assistant", "It left the warehouse today.")
        for message in (await chat.history()).messages_only:
            print(message.text)


asyncio.run(main())
"""


def run(*command: object, cwd: Path) -> str:
    parts = [str(part) for part in command]
    done = subprocess.run(parts, cwd=cwd, capture_output=True, text=True)
    if done.returncode and "NewConnectionError" in done.stderr:
        pytest.skip("the package index cannot be reached")
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    run(*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT, cwd=folder)
    [built] = folder.glob("*.whl")
    return built


def test_a_fresh_environment_needs_nothing_but_the_wheel(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    run(
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        wheel,
        cwd=tmp_path,
    )
    (tmp_path / "program.py").write_text(PROGRAM)
    printed = run(python, "-I", "program.py", cwd=tmp_path)
    assert printed == "Where is my order?\nIt left the warehouse today.\n"
    told = subprocess.run([python.with_name("sapwood"), "ls"], capture_output=True, text=True)
    assert told.returncode == 9
    assert (
        told.stderr
        == "sapwood: the command line needs click and rich: pip install 'sapwood[cli]'\n"
    )


def test_the_wheel_holds_all_that_the_package_needs(wheel: Path) -> None:
    packed = set(zipfile.ZipFile(wheel).namelist())
    source = ROOT / "src"
    wanted = {
        path.relative_to(source).as_posix()
        for path in (source / "sapwood").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert wanted <= packed
    assert "sapwood/py.typed" in packed
    assert all(name.startswith(("sapwood/", "sapwood-")) for name in packed)
