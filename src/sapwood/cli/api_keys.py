"""Where the key of a model's endpoint comes from: the environment, and nowhere else."""

from __future__ import annotations

import os

import click

VARIABLES = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}


def key_of(provider: str, base_url: str | None, variable: str | None) -> str:
    """Return the key; `UsageError` when there is none, unless the endpoint is one of the user's."""
    name = variable or VARIABLES[provider]
    key = os.environ.get(name)
    if not key and (variable is not None or base_url is None):
        raise click.UsageError(f"the environment has no {name}: put the key there")
    # An endpoint on the user's own machine wants none, and the SDKs insist on one.
    return key or "none"
