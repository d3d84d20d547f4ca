"""A provider that can be told to fail, and blocks that tests of the prompt show."""

from __future__ import annotations

from sapwood.context import (
    BlockConfig,
    SkillsFolder,
)

SOUL = BlockConfig("soul", default="You are kind.", readonly=True)
MEMORY = BlockConfig("memory", description="Facts", max_tokens=100)


class Source:
    """A text from elsewhere, which can be told to fail."""

    def __init__(self, text: str | None) -> None:
        self.text = text
        self.fails = False
        self.asked = 0

    def get(self) -> str | None:
        self.asked += 1
        if self.fails:
            raise OSError("no answer")
        return self.text


CHANGES: dict[str, list[BlockConfig]] = {
    "a block more": [SOUL, MEMORY, BlockConfig("notes")],
    "a block less": [SOUL],
    "another order": [MEMORY, SOUL],
    "another label": [SOUL, BlockConfig("facts", "Facts", 100)],
    "another description": [SOUL, BlockConfig("memory", "What is known", 100)],
    "another limit": [SOUL, BlockConfig("memory", "Facts", 200)],
    "no limit": [SOUL, BlockConfig("memory", "Facts")],
    "read-only": [SOUL, BlockConfig("memory", "Facts", 100, readonly=True)],
    "another text": [BlockConfig("soul", default="You are terse.", readonly=True), MEMORY],
    "another scope": [SOUL, BlockConfig("memory", "Facts", 100, scope="owner")],
    "another kind": [SOUL, BlockConfig("memory", "Facts", 100, SkillsFolder("nowhere"))],
}
