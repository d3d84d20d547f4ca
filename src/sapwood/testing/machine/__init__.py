"""A Hypothesis state machine that holds a store, of either twin, to the oracle."""

from __future__ import annotations

from collections.abc import Callable

from ..clock import ManualClock
from .driver import Place
from .machine import StoreMachine


def machine_for(subject: str, new_place: Callable[[ManualClock], Place]) -> type[StoreMachine]:
    """Make the state machine for a store.

    `new_place` gives an empty place, where a store that reads the given clock can be opened, and
    opened again if it is durable. `subject` names the store in `COUNTS`. Run it as a test case:

        TestMachine = machine_for("my store, sync", MyPlace).TestCase
    """
    fields = {"subject": subject, "new_place": staticmethod(new_place)}
    return type(f"Machine of {subject}", (StoreMachine,), fields)


__all__ = ["Place", "StoreMachine", "machine_for"]
