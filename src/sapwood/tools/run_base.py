"""What the runs of both twins share: a tool that names a run as a parameter is given it."""

from __future__ import annotations


class RunBase:
    """The base of `AgentRun` and `AsyncAgentRun`."""
