"""The end of a history, from which the input is made when the whole does not fit its budget."""

from __future__ import annotations

from ..model import History, ModelInput

BYTES_FOR_A_TOKEN = 8
LEAST_BYTES = 64 * 1024
MORE = 4
"""How many times more is read when the end that was read is too short."""


def first_bytes(budget: int) -> int:
    """Give how much of the end of a history most likely fills a budget."""
    return max(LEAST_BYTES, BYTES_FOR_A_TOKEN * budget)


def is_long_enough(tail: History, made: ModelInput) -> bool:
    """Whether what was made from the end of a history is that of the whole.

    What is left out goes from the oldest on: when the first message that was read is among it,
    all that comes before it would be, too.
    """
    return not tail.more or tail.messages_only[0].id in made.left_out
