"""Texts that mix what search has to keep apart: scripts, marks, punctuation, and no character."""

from __future__ import annotations

from hypothesis import strategies as st

# Few, so that what is looked for is often there.
CHARS = "abA1é部署线서かก\u0301\u093f .-_\"*'\n\uff0c…™\u200b\0"
PIECES = [
    "ab",
    "foo",
    "Straße",
    "部署",
    "部署线",
    "e\u0301",
    "❤️",
    "ﬀ",
    "İ",
    "ｶﾞ",
    "AND",
    "OR",
    "NOT",
]

mixed = st.lists(st.sampled_from([*CHARS, *CHARS, *PIECES]), max_size=14).map("".join)
anything = st.one_of(mixed, st.text(max_size=20))
