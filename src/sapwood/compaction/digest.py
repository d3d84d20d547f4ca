"""A summary without a model: facts that can be read off the messages, in any language."""

from __future__ import annotations

from collections.abc import Sequence

from ..model import Entry, Summary
from ..rules import check
from ..rules.tokens import estimate_text
from .facts import ConversationFacts, read_facts
from .text_cuts import cut_middle, cut_to_tokens

HEADING = "Earlier summary:\n"
MAX_LINE = 300
MIN_SHARE = 40  # tokens below which a summary cut by itself would be all mark


def digest(entries: Sequence[Entry], max_tokens: int) -> str:
    """Write a digest of some entries, of at most so many tokens by `estimate_text`.

    It names the first request, later requests, what was decided or answered, the tools used and
    how often, the files touched and what is open, each where there is any. Earlier summaries are
    kept in full when they fit into half of the room, or into what the rest leaves free; if not,
    their middle is cut out, with a mark. The same entries always give the same digest.
    """
    check.count(max_tokens, "max_tokens", 1)
    previous = [entry.text for entry in entries if isinstance(entry, Summary)]
    sections = _sections(read_facts(entries))
    needed = estimate_text("\n\n".join(sections))
    kept = _previous(previous, max(max_tokens // 2, max_tokens - needed - 2)) if previous else ""
    room = max_tokens - estimate_text(kept) - 2
    text = "\n\n".join([*([kept] if kept else []), *_fitting(sections, room)])
    # Blank lines between the sections may tip the scales; and there may be nothing to say at all.
    return cut_to_tokens(text or "(nothing was said)", max_tokens)


def _previous(texts: Sequence[str], max_tokens: int) -> str:
    # A digest of digests would otherwise end as a column of headings.
    headed = [text if text.startswith(HEADING) else HEADING + text for text in texts]
    whole = "\n\n".join(headed)
    share = max_tokens // len(texts) - 2
    if estimate_text(whole) <= max_tokens or len(texts) == 1 or share < MIN_SHARE:
        return cut_to_tokens(whole, max_tokens)
    return "\n\n".join(cut_to_tokens(text, share) for text in headed)


def _fitting(sections: Sequence[str], room: int) -> list[str]:
    """Return sections within so many tokens: long ones lose their middle, short ones stay."""
    fitting = [*sections]
    while fitting and sum(estimate_text(text) + 1 for text in fitting) > room:
        costs = [estimate_text(text) for text in fitting]
        longest = costs.index(max(costs))
        shorter = cut_to_tokens(fitting[longest], max(costs[longest] * 3 // 4, 1))
        if estimate_text(shorter) >= costs[longest] or not shorter:
            # No room is left even for the marks: the last sections matter least.
            fitting.pop()
        else:
            fitting[longest] = shorter
    return fitting


def _sections(facts: ConversationFacts) -> list[str]:
    sections = [
        _listed("First request", facts.requests[:1]),
        _listed("Open questions", facts.open_questions),
        _listed("Decisions and answers", facts.decisions),
        _listed("Later requests", facts.requests[1:]),
        _named("Tools used", [f"{name} ({count})" for name, count in facts.tools.items()]),
        _named("Files", facts.files),
        "" if not facts.messages else f"Messages covered: {facts.messages}",
    ]
    return [section for section in sections if section]


def _listed(heading: str, lines: Sequence[str]) -> str:
    if not lines:
        return ""
    return "\n".join([f"{heading}:", *(f"- {_one_line(line)}" for line in lines)])


def _named(heading: str, names: Sequence[str]) -> str:
    return f"{heading}: {', '.join(_one_line(name) for name in names)}" if names else ""


def _one_line(text: str) -> str:
    return cut_middle(" ".join(text.split()), MAX_LINE)
