"""Where blocks are stored, and what a document's key says."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from sapwood.context.document_keys import NamedDocument, document_keys_of, document_named_by

names = st.text(st.sampled_from("ab/%2F5 é"), min_size=1, max_size=12)
agents = st.none() | names


@given(agents, names)
@example("a/b%2F", "c%25/d")
def test_a_blocks_key_names_its_agent_and_label(agent: str | None, label: str) -> None:
    place = document_keys_of("owner" if agent is None else "agent", None, agent)
    assert document_named_by(place.block(label)) == NamedDocument(agent, label)


@given(agents, names, names)
@example(None, "a/b%2F", "c%25/d")
def test_an_entrys_key_names_its_label_and_key(agent: str | None, label: str, key: str) -> None:
    place = document_keys_of("owner" if agent is None else "agent", None, agent)
    assert document_named_by(place.entries(label) + key) == NamedDocument(agent, label, key)


def test_other_documents_name_no_block() -> None:
    for key in ("prompt", "pins", "loaded", "block", "block/", "entries/x", "agent/x", "agent/x/y"):
        assert document_named_by(key) is None
