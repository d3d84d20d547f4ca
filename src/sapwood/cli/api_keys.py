"""Where the key of a model's endpoint comes from: the environment, and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Callable

import click

from .settings import F

VARIABLES = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}


def api_key_option(*providers: str) -> Callable[[F], F]:
    """Add the option that names another variable than those of some providers."""
    names = " or ".join(VARIABLES[it] for it in providers)
    what = f"The environment's variable that holds the key; {names}."
    return click.option("--api-key-env", metavar="VARIABLE", help=what)


def key_of(provider: str, base_url: str | None, variable: str | None) -> str:
    """Return the key; `UsageError` when there is none, unless the endpoint is one of the user's."""
    name = variable or VARIABLES[provider]
    key = os.environ.get(name)
    if not key and (variable is not None or base_url is None):
        raise click.UsageError(f"the environment has no {name}: put the key there")
    # An endpoint on the user's own machine wants none, and the SDKs insist on one.
    return key or "none"
