"""Providers: their kind is their shape."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from sapwood.context import (
    CallableProvider,
    FileProvider,
    SkillsFolder,
    TextProvider,
    is_keyed,
    is_loadable,
    is_searchable,
    is_writable,
    kind_of,
)
from sapwood.errors import UsageError


class Shaped:
    def __init__(self, *methods: str) -> None:
        for method in ("get", *methods):
            setattr(self, method, lambda *args: None)


@pytest.mark.parametrize(
    ("methods", "kind", "keyed"),
    [
        ((), "readonly", False),
        (("set",), "writable", False),
        (("load",), "loadable", False),
        (("load", "set"), "loadable", True),
        (("search",), "searchable", False),
        (("search", "set"), "searchable", True),
        (("load", "search", "set"), "searchable", True),
    ],
)
def test_the_shape_says_the_kind(methods: tuple[str, ...], kind: str, keyed: bool) -> None:
    provider = Shaped(*methods)
    assert kind_of(provider) == kind
    assert is_keyed(provider) is keyed
    shapes = (is_writable(provider), is_loadable(provider), is_searchable(provider))
    assert shapes == tuple(name in methods for name in ("set", "load", "search"))


def test_text_and_functions_are_read_only() -> None:
    assert kind_of(TextProvider("a")) == kind_of(CallableProvider(lambda: "a")) == "readonly"
    assert TextProvider("a").get() == CallableProvider(lambda: "a").get() == "a"
    with pytest.raises(UsageError):
        TextProvider("\ud800")


# files


def test_a_file_is_read_and_only_written_if_it_may(tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    file.write_bytes("\ufeffa\r\nb".encode())
    assert FileProvider(file).get() == "a\r\nb"
    assert kind_of(FileProvider(file)) == "readonly"
    assert kind_of(FileProvider(str(file), writable=True)) == "writable"
    assert not hasattr(FileProvider(file), "set")


def test_a_file_that_is_not_there_is_no_text_and_can_be_made(tmp_path: Path) -> None:
    provider = FileProvider(tmp_path / "new.md", writable=True)
    assert provider.get() is None
    provider.set("a\nb")
    assert (tmp_path / "new.md").read_bytes() == b"a\nb"
    assert [path.name for path in tmp_path.iterdir()] == ["new.md"]


def test_a_file_keeps_its_mode_and_its_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.md", tmp_path / "link.md"
    real.write_text("a")
    real.chmod(0o640)
    link.symlink_to(real)
    FileProvider(link, writable=True).set("b")
    assert link.is_symlink()
    assert real.read_text() == "b"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_failed_write_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "notes.md"
    file.write_text("a")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        FileProvider(file, writable=True).set("b")
    assert file.read_text() == "a"
    assert [path.name for path in tmp_path.iterdir()] == ["notes.md"]


def test_a_file_that_is_no_text_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(UnicodeDecodeError):
        FileProvider(file).get()


# skills


def skill(folder: Path, name: str, text: str) -> Path:
    (folder / name).mkdir(parents=True)
    (folder / name / "SKILL.md").write_text(text)
    return folder / name


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    folder = tmp_path / "skills"
    tea = skill(folder, "tea", "---\nname: tea\ndescription: Makes\n  tea.\n---\n\nBoil water.\n")
    (tea / "scripts").mkdir()
    (tea / "scripts" / "boil.py").write_text("boil()")
    (tea / "kinds.md").write_text("Green, black.")
    skill(folder, "coffee", "---\nname: coffee\ndescription: Makes coffee.\n---\nGrind.")
    (folder / "README.md").write_text("no skill")
    (folder / "empty").mkdir()
    (tmp_path / "secret.md").write_text("secret")
    return folder


def test_the_catalogue_has_a_line_for_each_skill(skills: Path) -> None:
    provider = SkillsFolder(skills)
    assert kind_of(provider) == "loadable"
    assert provider.get() == "- coffee: Makes coffee.\n- tea: Makes tea."
    assert provider.problems() == []


def test_a_skill_is_loaded_with_the_names_of_its_files(skills: Path) -> None:
    provider = SkillsFolder(str(skills))
    assert provider.load("coffee") == "Grind."
    assert provider.load("tea") == (
        "Boil water.\n\nFiles of this skill, each to be loaded by its key:\n"
        "- tea/kinds.md\n- tea/scripts/boil.py"
    )
    assert provider.load("tea/kinds.md") == "Green, black."
    assert provider.load("tea/scripts/boil.py") == "boil()"
    assert provider.load("nothing") is None
    assert provider.load("tea/nothing.md") is None


@pytest.mark.parametrize(
    "key",
    [
        "",
        ".",
        "..",
        "../secret.md",
        "tea/../../secret.md",
        "tea/../coffee/SKILL.md",
        "tea/SKILL.md",
        "tea/",
        "tea//kinds.md",
        "tea/./kinds.md",
        "/etc/passwd",
        "tea\\..\\..\\secret.md",
        "README.md",
        "empty",
        "tea/scripts",
        "tea\0",
    ],
)
def test_no_key_leads_out_of_the_folder(skills: Path, key: str) -> None:
    assert SkillsFolder(skills).load(key) in (None, SkillsFolder(skills).load("tea"))
    assert "secret" not in str(SkillsFolder(skills).load(key))
    if key != "tea/":
        assert SkillsFolder(skills).load(key) is None


def test_no_link_leads_out_of_the_folder(skills: Path, tmp_path: Path) -> None:
    outside = skill(tmp_path, "outside", "---\ndescription: secret\n---\nsecret")
    (skills / "linked").symlink_to(outside)
    (skills / "tea" / "link.md").symlink_to(tmp_path / "secret.md")
    (skills / "sly").mkdir()
    (skills / "sly" / "SKILL.md").symlink_to(tmp_path / "secret.md")
    provider = SkillsFolder(skills)
    assert "secret" not in str(provider.get())
    for key in ("linked", "tea/link.md", "sly"):
        assert provider.load(key) is None
    assert "link.md" not in str(provider.load("tea"))
    assert sorted(problem.partition(":")[0] for problem in provider.problems()) == ["linked", "sly"]


def test_only_allowed_keys_are_offered(skills: Path) -> None:
    provider = SkillsFolder(skills, ["tea", "wine"])
    assert provider.get() == "- tea: Makes tea."
    assert provider.load("coffee") is None
    assert provider.problems() == ["wine: there is no such folder"]
    assert SkillsFolder(skills, []).get() is None
    with pytest.raises(UsageError, match="list"):
        SkillsFolder(skills, "tea")


def test_bad_files_are_told_and_left_out(skills: Path, caplog: pytest.LogCaptureFixture) -> None:
    (skill(skills, "binary", "") / "SKILL.md").write_bytes(b"\xff\xfe\x00")
    (skill(skills, "huge", "") / "SKILL.md").write_text("x" * 1_000_001)
    (skills / "folder" / "SKILL.md").mkdir(parents=True)
    skill(skills, "bare", "Only text.")
    skill(skills, "named", "---\nname: other\ndescription: Says so.\n---\nText.")
    provider = SkillsFolder(skills)
    catalogue = str(provider.get())
    assert catalogue.splitlines() == [
        "- bare",
        "- coffee: Makes coffee.",
        "- named: Says so.",
        "- tea: Makes tea.",
    ]
    told = {problem.partition(":")[0] for problem in provider.problems()}
    assert told == {"binary", "huge", "folder", "bare", "named"}
    assert all(name in caplog.text for name in told)
    assert provider.load("bare") == "Only text."
    assert provider.load("binary") is None


def test_a_binary_file_of_a_skill_is_an_error_that_names_it(skills: Path) -> None:
    (skills / "tea" / "photo.png").write_bytes(b"\x89PNG\xff")
    with pytest.raises(ValueError, match=r"photo\.png is not UTF-8"):
        SkillsFolder(skills).load("tea/photo.png")


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    provider = SkillsFolder(tmp_path / "nowhere")
    assert provider.get() is None
    assert provider.load("tea") is None
    assert len(provider.problems()) == 1


def test_many_files_are_not_all_listed(skills: Path) -> None:
    for number in range(60):
        (skills / "coffee" / f"{number:02}.md").write_text("x")
    text = str(SkillsFolder(skills).load("coffee"))
    assert "- coffee/49.md\n- and 10 more" in text
