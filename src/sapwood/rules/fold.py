"""How text is compared: without case, accents, width and the typography of quotes and dashes."""

from __future__ import annotations

import codecs
import re
import unicodedata
from bisect import bisect_right
from functools import lru_cache
from typing import NamedTuple

_APOSTROPHES = "\u00b4\u02bc\u2018\u2019\u201a\u201b"
_QUOTES = "\u201c\u201d\u201e\u201f"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
# Accents, the frames around key caps, and the selectors of an emoji's or an ideograph's shape.
_DROPPED = re.compile("[\u0300-\u036f\u20d0-\u20ff\ufe00-\ufe0f\U000e0100-\U000e01ef]")
# One by one these would decompose into the jamo that syllables are made of.
_HANGUL = (("\u3131", "\u318e"), ("\uac00", "\ud7a3"), ("\uffa0", "\uffdc"))
_HALFWIDTH_VOICED = re.compile("[\u3041-\u30ff\uff66-\uff9d][\uff9e\uff9f]")


class _Table(dict[int, str]):
    """What each character folds to, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        folded = _fold_char(chr(code))
        if len(folded) != 1:
            _uneven.add(chr(code))
        self[code] = folded
        return folded


_uneven: set[str] = set()
"""The characters met so far that do not fold one to one."""


def _fold_char(char: str) -> str:
    if unicodedata.category(char) == "Cf" or _DROPPED.match(char):
        return ""
    # "Acme™" is found by "acme": a mark beside a word is no part of it.
    is_badge = unicodedata.category(char) == "So" and (
        unicodedata.decomposition(char).startswith("<super>")
    )
    if is_badge or any(first <= char <= last for first, last in _HANGUL):
        return char
    apart = unicodedata.normalize("NFKD", char)
    # Not of a sign: ≠ without its stroke would be the opposite.
    if apart[0].isalpha() or apart[0] == " ":
        apart = _DROPPED.sub("", apart)
    return unicodedata.normalize("NFC", apart).casefold().translate(_TYPOGRAPHY)


_TYPOGRAPHY = {
    **dict.fromkeys(map(ord, _APOSTROPHES), "'"),
    **dict.fromkeys(map(ord, _QUOTES), '"'),
    **dict.fromkeys(map(ord, _DASHES), "-"),
}
_TABLE = _Table(_TYPOGRAPHY)
_TABLE.update((code, chr(code).lower()) for code in range(128))


def fold(text: str) -> str:
    """Return what of a text is compared: two texts that read alike fold alike.

    Composed first, then folded character by character.
    """
    if text.isascii():
        return text.lower()
    # Nothing in Latin-1 can be composed, nor decomposed without leaving it.
    return _fold_latin(text) or _fold_composed(_compose(text))


def _fold_latin(text: str) -> str:
    """Fold a text in Latin-1, byte by byte; nothing when it is in anything else."""
    try:
        data = text.encode("latin-1")
    except UnicodeEncodeError:
        return ""
    data = data.replace(b"\xdf", b"ss")
    if len(data.translate(None, _UNEVEN_LATIN)) != len(data):
        return ""
    return data.translate(_LATIN).decode("latin-1")


def is_latin(text: str) -> bool:
    """Whether a text is Latin, and its words end where they seem to end.

    Not so with a soft hyphen in it, which folds to nothing. A folded word that stands in such a
    text stands in what it folds to.
    """
    try:
        return b"\xad" not in text.encode("latin-1")
    except UnicodeEncodeError:
        return False


def _fold_composed(text: str) -> str:
    # Most text is ASCII with a few other characters in it. An encoder finds those quicker than
    # anything else, and asks for what to write in their place.
    return text.encode("ascii", _HANDLER).lower().decode("utf-8", "surrogatepass")


def _fold_run(error: UnicodeError) -> tuple[bytes, int]:
    """Return a run of characters beyond ASCII, folded; called by the encoder."""
    assert isinstance(error, UnicodeEncodeError)
    start, end = error.start, error.end
    run = error.object[start:end]
    folded = _TABLE[ord(run)] if end - start == 1 else run.translate(_TABLE)
    return folded.encode("utf-8", "surrogatepass"), end


_HANDLER = "sapwood.fold"
codecs.register_error(_HANDLER, _fold_run)


def _compose(text: str) -> str:
    if not unicodedata.is_normalized("NFC", text):
        text = unicodedata.normalize("NFC", text)
    if "\uff9e" in text or "\uff9f" in text:
        # Halfwidth kana carry their voicing in a character of its own.
        text = _HALFWIDTH_VOICED.sub(lambda kana: unicodedata.normalize("NFKC", kana[0]), text)
    return text


class Offsets(NamedTuple):
    """Where the folded text lies in the text: at, for, and as how many characters.

    Lists only what does not fold one to one.
    """

    folded: list[int]
    text: list[int]
    widths: list[int]

    def start(self, offset: int) -> int:
        """Return the place in the text of a passage that begins here in the folded text."""
        return self._place(offset, 0)

    def end(self, offset: int) -> int:
        """Return the place in the text of a passage that ends here in the folded text."""
        return self._place(offset, 1)

    def _place(self, offset: int, inside: int) -> int:
        last = bisect_right(self.folded, offset) - 1
        if last < 0:
            return offset
        beyond = offset - self.folded[last] - self.widths[last]
        if beyond >= 0:
            return self.text[last] + 1 + beyond
        return self.text[last] + (inside if offset > self.folded[last] else 0)


class Folded(NamedTuple):
    """A text, composed, and what it folds to."""

    text: str
    folded: str

    def offsets(self) -> Offsets | None:
        """Return where each place of the folded text came from; None when both are the same."""
        return None if self.text.isascii() else _offsets(self.text)

    def is_same_at(self, start: int, end: int) -> bool:
        """Whether a passage stands at the same place in both, which is quick to see."""
        return _fold_composed(self.text[start:end]) == self.folded[start:end]


def fold_with_map(text: str, folded: str | None = None) -> Folded:
    """Fold a text, and be able to say where a place of it came from; `folded` if it is known."""
    if text.isascii():
        return Folded(text, text.lower() if folded is None else folded)
    text = _compose(text)
    return Folded(text, _fold_composed(text) if folded is None else folded)


def _offsets(text: str) -> Offsets | None:
    """Find what does not fold one to one in a text that was folded before."""
    offsets = Offsets([], [], [])
    shift = 0
    for found in _uneven_pattern(len(_uneven)).finditer(text):
        at, width = found.start(), len(_TABLE[ord(found[0])])
        offsets.folded.append(at + shift)
        offsets.text.append(at)
        offsets.widths.append(width)
        shift += width - 1
    return offsets if offsets.text else None


@lru_cache(maxsize=1)
def _uneven_pattern(_: int) -> re.Pattern[str]:
    chars = "".join(sorted(_uneven))
    return re.compile(f"[{re.escape(chars)}]" if chars else "(?!)")


_FOLDED_LATIN = [_TABLE[code] for code in range(256)]
_LATIN = bytes(
    ord(folded) if len(folded) == 1 and folded <= "\xff" else code
    for code, folded in enumerate(_FOLDED_LATIN)
)
_UNEVEN_LATIN = bytes(
    code for code, folded in enumerate(_FOLDED_LATIN) if len(folded) != 1 or folded > "\xff"
)
