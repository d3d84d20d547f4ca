"""What a prompt shows when a provider fails."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from sapwood.context import (
    BlockConfig,
)
from sapwood.rules.prompt import FRAME

from .conftest import Make
from .source import SOUL, Source


async def test_a_failing_provider_does_not_fail_the_prompt(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    source = Source("a")
    source.fails = True
    context = make(SOUL, BlockConfig("data", provider=source, max_tokens=10))
    with caplog.at_level(logging.WARNING, "sapwood"):
        text = await context.freeze()
    assert "SOUL" in text
    assert text.endswith(
        f"DATA [0% — 0/10 tokens] [readonly]\n{FRAME}\n[This block cannot be read at the moment.]"
    )
    assert "'data'" in caplog.text
    assert await context.updates() == ""
    source.fails = False
    assert await context.updates() != ""
    assert "cannot be read" not in await context.refresh()


async def test_a_provider_that_fails_later_keeps_what_was_frozen(make: Make) -> None:
    source = Source("as it was")
    context = make(SOUL, BlockConfig("data", provider=source))
    frozen = await context.freeze()
    source.fails = True
    assert await context.refresh() == frozen
    assert await context.updates() == ""
    source.fails = False
    source.text = "as it is"
    assert "as it is" in await context.refresh()


async def test_what_was_empty_stays_empty_when_it_cannot_be_read(make: Make) -> None:
    source = Source(None)
    context = make(BlockConfig("data", provider=source))
    assert await context.freeze() == ""
    source.fails = True
    assert await context.refresh() == ""


async def test_what_was_frozen_of_another_configuration_is_not_kept(make: Make) -> None:
    await make(BlockConfig("data", provider=Source("secret"))).freeze()
    source = Source("b")
    source.fails = True
    text = await make(BlockConfig("data", "other", provider=source)).freeze()
    assert "secret" not in text
    assert "cannot be read" in text


@pytest.mark.parametrize("given", [7, "\ud800", ["a"]])
async def test_nonsense_is_a_failure(make: Make, given: Any) -> None:
    text = await make(BlockConfig("data", provider=Source(given))).freeze()
    assert "cannot be read" in text


async def test_a_fingerprint_that_fails_is_none(make: Make) -> None:
    class Odd(Source):
        def fingerprint(self) -> Any:
            raise OSError("no answer")

    class Odder(Source):
        def fingerprint(self) -> Any:
            return 7

    for source in (Odd("a"), Odder("a")):
        assert (await make(BlockConfig("data", provider=source)).freeze()).endswith("a")


async def test_content_over_its_limit_is_shown_with_its_share(make: Make) -> None:
    context = make(BlockConfig("data", provider=Source("x" * 30), max_tokens=20), counter=len)
    assert "DATA [150% — 30/20 tokens] [readonly]" in await context.freeze()
