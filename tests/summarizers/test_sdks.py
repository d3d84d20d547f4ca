"""SDKs that are there or not, and clients of the wrong kind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from sapwood import summarizers
from sapwood.errors import MissingDependencyError, UsageError
from sapwood.summarizers.vendor_answers import limit_name

TWINS = [
    (summarizers.OpenAISummarizer, openai.AsyncOpenAI),
    (summarizers.AsyncOpenAISummarizer, openai.OpenAI),
    (summarizers.AnthropicSummarizer, anthropic.AsyncAnthropic),
    (summarizers.AsyncAnthropicSummarizer, anthropic.Anthropic),
]


@pytest.mark.parametrize(("kind", "client"), TWINS)
def test_a_client_of_the_other_twin_is_refused(kind: Any, client: Any) -> None:
    for wrong in (client(base_url="http://127.0.0.1", api_key="x"), object()):
        with pytest.raises(UsageError) as caught:
            kind("small", client=wrong)
        assert caught.value.path == "client"
        assert client.__name__.removeprefix("Async") in str(caught.value)


def test_every_client_of_the_vendors_may_be_given() -> None:
    azure = openai.AzureOpenAI(azure_endpoint="https://x", api_key="x", api_version="1")
    assert "https://x" in repr(summarizers.OpenAISummarizer("small", client=azure))


@pytest.mark.parametrize("name", summarizers.__all__)
def test_without_its_sdk_a_summariser_names_the_extra(name: str, tmp_path: Path) -> None:
    extra = "openai" if "OpenAI" in name else "anthropic"
    code = (
        f"import sys; sys.modules[{extra!r}] = None\n"
        "from sapwood.errors import MissingDependencyError\n"
        f"from sapwood.summarizers import {name}\n"
        f"try:\n    {name}('small', api_key='x')\n"
        "except MissingDependencyError as error:\n    print(error.name, error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.startswith(f"{extra} "), done.stderr
    assert f"pip install 'sapwood[{extra}]'" in done.stdout


def test_an_sdk_that_lacks_something_of_its_own_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "openai.py").write_text("import something_that_is_missing")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "openai")
    with pytest.raises(ModuleNotFoundError) as caught:
        summarizers.OpenAISummarizer("small")
    assert not isinstance(caught.value, MissingDependencyError)
    assert caught.value.name == "something_that_is_missing"


def test_naming_a_summariser_loads_no_sdk() -> None:
    code = (
        "import sys\nfrom sapwood import summarizers\n"
        "[getattr(summarizers, name) for name in summarizers.__all__]\n"
        "print(sorted({'openai', 'anthropic', 'asyncio'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n"


def test_no_other_name_resolves() -> None:
    assert dir(summarizers) == sorted(summarizers.__all__)
    with pytest.raises(AttributeError, match="nope"):
        summarizers.nope  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("api.openai.com", "max_completion_tokens"),
        ("eu.api.openai.com", "max_completion_tokens"),
        ("mine.openai.azure.com", "max_completion_tokens"),
        ("localhost", "max_tokens"),
        ("notopenai.com", "max_tokens"),
    ],
)
def test_the_limit_has_the_name_that_the_endpoint_knows(host: str, name: str) -> None:
    assert limit_name(host) == name


def test_without_a_key_the_sdk_says_what_it_wants() -> None:
    with pytest.raises(openai.OpenAIError, match="OPENAI_API_KEY"):
        summarizers.OpenAISummarizer("small")
