"""Skills from a folder: each a folder of its own with a `SKILL.md`, and files beside it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ..errors import UsageError
from ..rules.frontmatter import MarkdownPage, read_page
from ..rules.ids import check_name

logger = logging.getLogger(__name__)

MAX_FILE_BYTES = 1_000_000
MAX_LISTED = 50


class Skill(NamedTuple):
    """What a `SKILL.md` says, and where its folder is."""

    key: str
    folder: Path
    page: MarkdownPage


class SkillsFolder:
    """A folder of skills, read anew each time; `keys` says which of them are offered.

    The key of a skill is its folder's name. What cannot be read is left out: `problems()` tells of
    it, and the log. Nothing outside of the folder is ever read, whatever a key or a link says.
    """

    def __init__(self, path: str | Path, keys: Iterable[str] | None = None) -> None:
        if isinstance(keys, str):
            raise UsageError("keys is a string: give a list", path="keys")
        self._path = Path(path)
        self._keys = None if keys is None else sorted(set(keys))
        for key in self._keys or ():
            check_name(key, "keys")

    def get(self) -> str | None:
        """Return the catalogue: a line for each skill."""
        skills, problems = self._read()
        for problem in problems:
            logger.warning("skills: %s", problem)
        return "\n".join(_line(skill) for skill in skills) or None

    def load(self, key: str) -> str | None:
        """Return a skill's text and the names of its other files, or the text of one of those.

        The key of such a file is the skill's, a slash, and its name there.
        """
        name, _, file = key.partition("/")
        skill = next((each for each in self._read()[0] if each.key == name), None)
        if skill is None:
            return None
        files = list(_files_beside(skill.folder))
        if file:
            return _text_of(skill.folder / file) if file in files else None
        return skill.page.body + _listing(name, files) if files else skill.page.body

    def problems(self) -> list[str]:
        """Return what is wrong: files that cannot be read, keys that are not there."""
        return self._read()[1]

    def fingerprint(self) -> str:
        """Return the list of allowed keys: another one is another configuration."""
        return "*" if self._keys is None else "\n".join(self._keys)

    def _read(self) -> tuple[list[Skill], list[str]]:
        skills: list[Skill] = []
        problems: list[str] = []
        names = self._names(problems)
        for name in names if self._keys is None else self._keys:
            if name not in names:
                problems.append(f"{name}: there is no such folder")
                continue
            try:
                skill = self._skill(name)
            except (OSError, ValueError) as error:
                problems.append(f"{name}: {error}")
                continue
            skills.append(skill)
            problems.extend(f"{name}: {what}" for what in _flaws(skill))
        return skills, problems

    def _names(self, problems: list[str]) -> list[str]:
        try:
            return sorted(
                entry.name
                for entry in self._path.iterdir()
                if not entry.name.startswith(".") and (entry / "SKILL.md").exists()
            )
        except OSError as error:
            problems.append(f"the folder cannot be read: {error}")
            return []

    def _skill(self, name: str) -> Skill:
        check_name(name, "the folder's name")
        root, folder = self._path.resolve(), (self._path / name).resolve()
        file = (folder / "SKILL.md").resolve()
        if not (folder.is_relative_to(root) and file.is_relative_to(folder)):
            raise ValueError("it leads out of the folder")
        return Skill(name, folder, read_page(_text_of(file)))


def _text_of(file: Path) -> str:
    if file.stat().st_size > MAX_FILE_BYTES:
        raise UsageError(f"{file.name} has more than {MAX_FILE_BYTES} bytes")
    try:
        return file.read_bytes().decode()
    except UnicodeDecodeError:
        raise UsageError(f"{file.name} is not UTF-8") from None


def _flaws(skill: Skill) -> Iterator[str]:
    if not skill.page.fields.get("description"):
        yield "SKILL.md has no description between --- lines at its top"
    name = skill.page.fields.get("name")
    if name and name != skill.key:
        yield f"SKILL.md says that its name is {name!r}; the folder's name is used"


def _line(skill: Skill) -> str:
    description = " ".join(skill.page.fields.get("description", "").split())
    return f"- {skill.key}: {description}" if description else f"- {skill.key}"


def _files_beside(folder: Path) -> Iterator[str]:
    for file in sorted(folder.rglob("*")):
        # A link may lead anywhere.
        inside = file.resolve().is_relative_to(folder)
        if inside and file.is_file() and file != folder / "SKILL.md":
            yield file.relative_to(folder).as_posix()


def _listing(name: str, files: Sequence[str]) -> str:
    shown = [f"- {name}/{file}" for file in files[:MAX_LISTED]]
    if len(files) > MAX_LISTED:
        shown.append(f"- and {len(files) - MAX_LISTED} more")
    return "\n\nFiles of this skill, each to be loaded by its key:\n" + "\n".join(shown)
