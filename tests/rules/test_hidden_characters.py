"""What hides or reorders text is found; ordinary text of every script passes."""

# ruff: noqa: RUF001
from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.rules.hidden_characters import find_hidden

ORDINARY = {
    "plain": "A plain line.\n\tIndented, with a tab.\r\nAnd Windows' line ends.",
    "accents": "naïve Zoë, coöperate, Łódź, Ελληνικά, Привет",
    "combining": "Zoe\u0308 e\u0301",
    "persian": "می\u200cخواهم کتاب\u200cها را بخوانم",
    "persian suffix on latin": "فایل PDF\u200cها و API\u200cهای جدید، ۱۰\u200cام",
    "persian year": "سال ۱۴۰۳ ه\u200d.ش",
    "kurdish": "ده\u200cنگ و ڕه\u200cنگه\u200c.",
    "urdu": "آپ کیسے ہیں؟",
    "arabic": "مرحبا بالعالم، هذا نص عادي.",
    "arabic number sign": "\u0600١٢٣ \u06dd٥",
    "hebrew with points": "שָׁלוֹם עוֹלָם",
    "hindi": "क्\u200dष क्\u200cष नमस्ते दुनिया",
    "marathi eyelash ra": "दऱ्\u200dया",
    "bengali": "র\u200d্যাব",
    "malayalam": "അവന്\u200d വന്നു",
    "sinhala": "ශ්\u200dරී ලංකා",
    "tamil": "தமிழ் க்\u200cஷ",
    "khmer breaks": "ខ្ញុំ\u200bស្រលាញ់\u200bភាសា",
    "thai break": "ภาษา\u200bไทย",
    "mongolian": "ᠮᠣᠩᠭᠣᠯ ᠪᠢᠴᠢᠭ\u180b ᠠ\u180eᠠ",
    "chinese": "部署线已经就绪。",
    "japanese": "東京タワー、ｶﾞｷﾞ",
    "japanese name": "葛\U000e0100城市と辻\U000e0101さん",
    "korean": "안녕하세요",
    "old hangul": "\u115f\u1161\u11a8 \u1100\u1160",
    "family": "👨\u200d👩\u200d👧\u200d👦",
    "rainbow flag": "🏳\ufe0f\u200d🌈",
    "pirate flag": "🏴\u200d☠\ufe0f",
    "health worker": "👩🏽\u200d⚕\ufe0f",
    "astronaut": "👩🏿\u200d🚀",
    "nods": "🙂\u200d↔\ufe0f",
    "black cat": "🐈\u200d⬛",
    "heart": "❤\ufe0f ❤\ufe0f\u200d🔥 ☺\ufe0e",
    "keycaps": "1\ufe0f⃣ #\ufe0f⃣ *\ufe0f⃣",
    "signs": "©\ufe0f ™\ufe0f ‼\ufe0f ℹ\ufe0f 〰\ufe0f ㊗\ufe0f",
    "countries": "🇮🇷 🇮🇳 🇵🇹",
    "england": "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "texas": "🏴\U000e0075\U000e0073\U000e0074\U000e0078\U000e007f",
    "mathematics": "∩\ufe00 ≠ ∑",
    "no-break space": "10\u00a0km, １０\u3000全角",
    "frames": "═══ ─── │ ░▒▓",
}

HIDING = {
    "override": ("abc\u202edef", 3, "U+202E RIGHT-TO-LEFT OVERRIDE"),
    "embedding": ("a\u202ab\u202c", 1, "U+202A LEFT-TO-RIGHT EMBEDDING"),
    "isolate": ("a\u2066b\u2069", 1, "U+2066 LEFT-TO-RIGHT ISOLATE"),
    "mark": ("a\u200eb", 1, "U+200E LEFT-TO-RIGHT MARK"),
    "mark in arabic": ("مر\u200fحبا", 2, "U+200F RIGHT-TO-LEFT MARK"),
    "arabic mark": ("a\u061cb", 1, "U+061C ARABIC LETTER MARK"),
    "zero-width space": ("pass\u200bword", 4, "U+200B ZERO WIDTH SPACE"),
    "non-joiner in latin": ("pass\u200cword", 4, "U+200C ZERO WIDTH NON-JOINER"),
    "joiner in latin": ("pass\u200dword", 4, "U+200D ZERO WIDTH JOINER"),
    "joiner at the start": ("\u200dمرحبا", 0, "U+200D ZERO WIDTH JOINER"),
    "two joiners": ("می\u200c\u200cخواهم", 2, "U+200C ZERO WIDTH NON-JOINER"),
    "joiner after an emoji": ("👩\u200d and", 1, "U+200D ZERO WIDTH JOINER"),
    "word joiner": ("a\u2060b", 1, "U+2060 WORD JOINER"),
    "invisible times": ("a\u2062b", 1, "U+2062 INVISIBLE TIMES"),
    "byte order mark": ("a\ufeffb", 1, "U+FEFF ZERO WIDTH NO-BREAK SPACE"),
    "soft hyphen": ("pass\u00adword", 4, "U+00AD SOFT HYPHEN"),
    "interlinear": ("a\ufff9b", 1, "U+FFF9 INTERLINEAR ANNOTATION ANCHOR"),
    "tags": ("hi\U000e0068\U000e0069", 2, "U+E0068 TAG LATIN SMALL LETTER H"),
    "tags that do not end": ("🏴\U000e0067\U000e0062x", 1, "U+E0067 TAG LATIN SMALL LETTER G"),
    "tags with punctuation": (
        "🏴\U000e0072\U000e006d\U000e0020\U000e002d\U000e007f",
        1,
        "U+E0072 TAG LATIN SMALL LETTER R",
    ),
    "tags after another emoji": (
        "😀\U000e0067\U000e0062\U000e0065\U000e007f",
        1,
        "U+E0067 TAG LATIN SMALL LETTER G",
    ),
    "a flag with a sentence in it": (
        f"🏴{''.join(chr(0xE0000 + ord(char)) for char in 'ignoreall')}\U000e007f",
        1,
        "U+E0069 TAG LATIN SMALL LETTER I",
    ),
    "a flag with too little in it": (
        "🏴\U000e0067\U000e0062\U000e007f",
        1,
        "U+E0067 TAG LATIN SMALL LETTER G",
    ),
    "break between thai and latin": ("ไทย\u200bpass", 3, "U+200B ZERO WIDTH SPACE"),
    "a selector that a sign has no shape for": ("∩\ufe05", 1, "U+FE05 VARIATION SELECTOR-6"),
    "selectors as carriers": ("😀\ufe0f\ufe01", 2, "U+FE01 VARIATION SELECTOR-2"),
    "high selectors": ("😀\U000e0154", 1, "U+E0154 VARIATION SELECTOR-101"),
    "selectors after a letter": ("a\ufe0f", 1, "U+FE0F VARIATION SELECTOR-16"),
    "selector after a digit": ("1\ufe0f2", 1, "U+FE0F VARIATION SELECTOR-16"),
    "two selectors after an ideograph": (
        "葛\U000e0100\U000e0101",
        2,
        "U+E0101 VARIATION SELECTOR-18",
    ),
    "grapheme joiner": ("a\u034fb", 1, "U+034F COMBINING GRAPHEME JOINER"),
    "hangul filler": ("a\u3164b", 1, "U+3164 HANGUL FILLER"),
    "escape": ("a\x1b[8mhidden", 1, "U+001B"),
    "backspace": ("ab\x08", 2, "U+0008"),
    "null": ("a\0", 1, "U+0000"),
    "private use": ("a\ue000", 1, "U+E000"),
    "noncharacter": ("a\uffff", 1, "U+FFFF"),
    "mongolian separator elsewhere": ("a\u180eb", 1, "U+180E MONGOLIAN VOWEL SEPARATOR"),
}


@pytest.mark.parametrize("text", ORDINARY.values(), ids=ORDINARY)
def test_ordinary_text_passes(text: str) -> None:
    assert find_hidden(text) == []


@pytest.mark.parametrize(("text", "at", "name"), HIDING.values(), ids=HIDING)
def test_what_hides_text_is_found_with_its_place_and_name(text: str, at: int, name: str) -> None:
    assert find_hidden(text)[0] == (at, name)


def test_all_of_them_are_told_in_order() -> None:
    assert [at for at, _ in find_hidden("\u202ea\u200bb\u2069")] == [0, 2, 4]


def is_invisible(char: str) -> bool:
    return unicodedata.category(char) in ("Cf", "Co") and char not in (
        "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
    )


@given(st.characters(categories=["Cf", "Co"]), st.text("abc xyz.", max_size=5))
def test_no_format_character_passes_between_latin_letters(char: str, around: str) -> None:
    if is_invisible(char):
        assert (len(around), 1) == (find_hidden(f"{around}{char}{around}")[0][0], 1)


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_letters_digits_and_signs_pass(text: str) -> None:
    fillers = "\u115f\u1160\u3164\uffa0"
    assert [name for at, name in find_hidden(text) if text[at] not in fillers] == []


def test_many_flags_cost_no_more_than_their_number() -> None:
    flag = ORDINARY["england"]
    assert find_hidden(f"{flag * 20_000}\u202e")[0][0] == 20_000 * len(flag)


@given(st.text())
def test_every_place_told_is_in_the_text(text: str) -> None:
    places = [at for at, _ in find_hidden(text)]
    assert places == sorted(set(places))
    assert all(0 <= at < len(text) for at in places)
