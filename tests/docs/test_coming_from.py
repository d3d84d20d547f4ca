"""The page for those who come from the original has all of its names, and ours are real."""

from __future__ import annotations

import re

import pytest

import sapwood
from sapwood import compaction, context, errors, formats, model, store
from sapwood._open import SERVERS

from .blocks import ROOT

TEXT = (ROOT / "docs" / "coming-from-cloudflare-agents.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("| ").split(" | ")]
    for line in TEXT.splitlines()
    if line.startswith("| `") or re.match(r"\| (a function|listener)", line)
]
HOMES = (sapwood, sapwood.Session, sapwood.SessionManager, compaction, context, model, store)
SESSION = (
    "create forSession withContext withCachedPrompt onCompaction compactAfter onCompactionError "
    "internal_onMessagesChanged appendMessage updateMessage internal_rewriteMessage deleteMessages "
    "clearMessages getMessage getLatestLeaf getBranches getPathLength getHistory getRecentHistory "
    "getHistoryRowStats addCompaction getCompactions compact search getContextBlock tools "
    "getContextBlocks replaceContextBlock appendContextBlock addContext removeContext unloadSkill "
    "getLoadedSkillKeys freezeSystemPrompt refreshSystemPrompt needsCompaction"
)
MANAGER = (
    "withSearchableHistory getSession get list rename delete append upsert appendAll "
    "getMessageCount fork compactAndSplit addUsage"
)
PARTS = (
    "createCompactFunction summarize protectHead tailTokenBudget minTailMessages tokenCounter "
    "isCompactionMessage COMPACTION_PREFIX sanitizeToolPairs alignBoundaryForward "
    "alignBoundaryBackward findTailCutByTokens computeSummaryBudget buildSummaryPrompt "
    "estimateStringTokens estimateMessageTokens truncateOlderMessages"
)
BLOCKS = (
    "set load init isWritableProvider isSkillProvider isSearchProvider AgentContextProvider "
    "AgentSearchProvider R2SkillProvider PostgresContextProvider PostgresSearchProvider maxTokens "
    "provider initialContent readonly set_context update_context load_context unload_context "
    "search_context session_search"
)
TYPES = (
    "SessionMessage SessionMessagePart StoredCompaction SearchResult HistoryRowStat "
    "RecentHistoryResult ContextBlock ContextConfig SessionContextOptions SessionInfo "
    "CompactResult CompactContext SessionTokenCounter SessionOptions SqlProvider "
    "SessionProvider SessionManager cf_agent_session cf_agent_session_error"
)


@pytest.mark.parametrize("name", " ".join([SESSION, MANAGER, PARTS, BLOCKS, TYPES]).split())
def test_every_name_of_the_original_has_a_row(name: str) -> None:
    assert any(re.search(rf"\b{name}\b", row[0]) for row in ROWS)


def named_in(cell: str) -> list[str]:
    """Give the names of calls and of classes in a cell."""
    codes = " ".join(re.findall(r"`([^`]+)`", cell))
    return re.findall(r"\b([a-z_]+)(?=\()", codes) + re.findall(r"\b([A-Z]\w+)\b", codes)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row[0])[:40])
def test_every_name_of_ours_is_there(row: list[str]) -> None:
    builtin = {"isinstance"}
    for name in set(named_in(row[1])) - builtin:
        assert any(hasattr(home, name) for home in HOMES), name
    for name in re.findall(r"`(\w+Error)`", row[-1]):
        assert hasattr(errors, name), name


def test_the_functions_named_in_the_text_are_there() -> None:
    for name in ("from_ai_sdk", "to_ai_sdk"):
        assert name in TEXT
        assert hasattr(formats, name)


@pytest.mark.parametrize("folder", sorted({folder for folder, _ in SERVERS.values()}))
def test_no_store_that_there_is_is_said_to_be_missing(folder: str) -> None:
    lacking = [line for line in TEXT.splitlines() if line.startswith("- **No ")]
    assert lacking
    assert not any(folder in line.lower() for line in lacking)
