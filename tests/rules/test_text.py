"""What reads alike folds alike; an index sees every script; what is searched is what was said."""
# ruff: noqa: RUF001  the look-alikes are what is tested

from __future__ import annotations

import sys
import unicodedata
from typing import Any

import msgspec
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from sapwood.model import (
    FilePart,
    NewMessage,
    OtherPart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from sapwood.rules.codec import pack
from sapwood.rules.fold import is_latin
from sapwood.rules.match import Term, occurs
from sapwood.rules.text import (
    _spelled,
    fold,
    fold_with_map,
    is_unspaced,
    is_word,
    searchable,
    segment,
    solid,
    stored_text,
    tokens,
)
from sapwood.testing.strategies import json_values, new_messages

from .scripts import anything

# Every character that a script uses, and one in so many of the vast rest.
CODES = (*range(0x20000), *range(0x20000, sys.maxunicode + 1, 0x101), *range(0xE0000, 0xE0200))


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Hello, World", "hello, world"),
        ("Café", "cafe"),
        ("cafe\u0301", "cafe"),
        ("x\u0302", "x"),
        ("Straße STRASSE", "strasse strasse"),
        ("İstanbul", "istanbul"),
        ("Ελλάς ΕΛΛΑΣ", "ελλασ ελλασ"),
        ("ᾳ", "α"),
        ("Ёлка й", "елка и"),
        ("\uff21\uff22\uff23\uff11", "abc1"),
        ("ﬁn №①½", "fin no11\u20442"),
        ("“x” ‘y’ it´s ʼn", "\"x\" 'y' it's 'n"),
        ("a–b—c‐d−e", "a-b-c-d-e"),
        ("…", "..."),
        ("a\u00a0b\u3000c", "a b c"),
        ("so\u00adft\u200b\ufeff", "soft"),
        ("❤️ 1\ufe0f\u20e3", "❤ 1"),
        ("Acme™ x²", "acme™ x2"),
        ("≠ ∉", "≠ ∉"),
    ],
)
def test_case_accents_width_and_typography_are_folded(text: str, folded: str) -> None:
    assert fold(text) == folded


@pytest.mark.parametrize(
    "text", ["がぎぱ", "ガギパ", "한국어", "ㅋㅋ", "हिन्दी", "กรุงเทพ", "部署", "ørsted", "ł"]
)
def test_marks_that_make_another_letter_stay(text: str) -> None:
    assert fold(text) == text


def test_voiced_halfwidth_kana_fold_to_the_wide_ones() -> None:
    assert fold("ｶﾞｲﾄﾞ ﾊﾟ") == "ガイド パ"
    assert fold("ｶｲﾄ") == "カイト"


@given(anything)
def test_a_text_reads_the_same_composed_or_not(text: str) -> None:
    assert fold(text) == fold(unicodedata.normalize("NFD", text))


@given(anything, anything)
def test_what_stands_beyond_a_blank_does_not_change_how_a_text_folds(one: str, other: str) -> None:
    assert fold(f"{one} {other}") == f"{fold(one)} {fold(other)}"


def test_folding_a_folded_character_changes_nothing() -> None:
    for char in map(chr, CODES):
        folded = fold(char)
        assert fold(folded) == folded
        assert all(fold(each) == each for each in folded)


@given(anything)
@example("ß\u00adx")
@example("İ\u0345")
def test_a_folded_place_leads_back_to_its_characters(text: str) -> None:
    source = fold_with_map(text)
    (composed, folded), offsets = source, source.offsets()
    assert folded == fold(text)
    assert fold_with_map(text, folded) == (composed, folded)
    if offsets is None:
        assert len(composed) == len(folded)
        assert all(fold(char) == each for char, each in zip(composed, folded, strict=True))
        return
    at = 0
    for index, char in enumerate(composed):
        width = len(fold(char))
        assert folded[at : at + width] == fold(char)
        for inner in range(at, at + width):
            assert offsets.start(inner) == index
            assert offsets.end(inner + 1) > index
        at += width
    assert at == len(folded)
    assert offsets.end(at) == len(composed)


@given(anything, st.data())
def test_a_passage_of_the_folded_text_is_in_the_passage_it_came_from(
    text: str, data: st.DataObject
) -> None:
    source = fold_with_map(text)
    (composed, folded), offsets = source, source.offsets()
    start = data.draw(st.integers(0, len(folded)))
    end = data.draw(st.integers(start, len(folded)))
    if offsets is not None and start < end:
        passage = composed[offsets.start(start) : offsets.end(end)]
        assert folded[start:end] in "".join(fold(char) for char in passage)


def test_offsets_lead_around_what_was_dropped_and_into_what_grew() -> None:
    source = fold_with_map("x\u0302 ß…y")
    (composed, folded), offsets = source, source.offsets()
    assert (composed, folded) == ("x\u0302 ß…y", "x ss...y")
    assert offsets is not None
    assert [offsets.start(at) for at in range(8)] == [0, 2, 3, 3, 4, 4, 4, 5]
    assert [offsets.end(at) for at in range(1, 9)] == [2, 3, 4, 4, 5, 5, 5, 6]


@pytest.mark.parametrize("char", "a1éßд\u093f")
def test_letters_digits_and_marks_are_of_a_word(char: str) -> None:
    assert is_word(char)
    assert not is_unspaced(char)


@pytest.mark.parametrize("char", "部々〇ひカー\u3099ㄅ한ㅎᄀกำລខမ\U00020000\U00031350")
def test_some_scripts_are_written_without_spaces(char: str) -> None:
    assert is_unspaced(char)
    assert not is_word(char)


@pytest.mark.parametrize("char", " _-.\0\n、。「・฿។၊…❤™\u3000\ud800")
def test_all_else_separates(char: str) -> None:
    assert not is_word(char)
    assert not is_unspaced(char)


def test_an_index_sees_a_character_as_its_class_says() -> None:
    for char in map(chr, CODES):
        is_solid = is_word(char) or is_unspaced(char)
        assert solid(f"é{char}", 1) == (1 if is_solid else 2)
        assert tokens(f"é{char}é") == (
            [f"é{char}é"] if is_word(char) else ["é", char, "é"] if is_solid else ["é", "é"]
        )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain ascii, as_it is", "plain ascii, as_it is"),
        ("部署线", "部署 署线 线"),
        ("署", "署"),
        ("deploy部署now", "deploy 部署 署 now"),
        ("部署 now", "部署 署 now"),
        ("部。署", "部 署"),
        ("été…là", "été là"),
        ("a\0b", "a b"),
        ("é\0b", "é b"),
    ],
)
def test_unspaced_runs_become_pairs_and_foreign_separators_blanks(text: str, expected: str) -> None:
    assert segment(text).split() == expected.split()


def test_ascii_is_not_touched() -> None:
    text = "sudo rm -rf /tmp/x_y"
    assert segment(text) is text


def naive_tokens(folded: str) -> list[str]:
    """Make tokens one character at a time, by the classes alone."""
    made: list[str] = []
    before = "separator"
    for index, char in enumerate(folded):
        kind = "word" if is_word(char) else "unspaced" if is_unspaced(char) else "separator"
        following = folded[index + 1 : index + 2]
        if kind == "unspaced":
            made.append(char + following if following and is_unspaced(following) else char)
        elif kind == "word":
            made.append(made.pop() + char if before == "word" else char)
        before = kind
    return made


@given(anything)
def test_tokens_are_words_and_the_pairs_of_unspaced_runs(text: str) -> None:
    folded = fold(text)
    assert tokens(folded) == naive_tokens(folded)


@given(anything)
def test_what_is_indexed_has_no_nul_and_no_separator_beyond_ascii(text: str) -> None:
    for char in segment(fold(text)):
        assert char != "\0"
        assert char.isascii() or is_word(char) or is_unspaced(char)


def test_a_text_is_searched_and_reasoning_is_not() -> None:
    said, thought = TextPart(text="said", extra={"x": "hidden"}), ReasoningPart(text="thought")
    assert searchable([said]) == "said"
    assert searchable([thought]) == ""
    assert searchable([thought, said, said]) == "said\nsaid"
    assert searchable([]) == ""


def test_a_tool_call_and_its_result_are_searched() -> None:
    call = ToolCallPart(call_id="c1", name="grep", input={"pattern": "x.y", "n": [1, 2.5]})
    assert searchable([call]) == 'grep {"pattern":"x.y","n":[1,2.5]}'
    assert searchable([ToolResultPart(call_id="c1", output="two\nlines")]) == "two\nlines"
    assert searchable([ToolResultPart(call_id="c1", output=None)]) == ""
    output = {"ok": True, "rows": [{"a": None}, "b", -7]}
    assert searchable([ToolResultPart(call_id="c1", output=output)]) == (
        '{"ok":true,"rows":[{"a":null},"b",-7]}'
    )


def test_of_a_file_its_name_is_searched() -> None:
    file = FilePart(media_type="text/plain", name="notes.txt", data=b"secret", uri="s3://bucket")
    assert searchable([file]) == "notes.txt"
    assert searchable([FilePart(media_type="image/png", data=b"x")]) == ""


def test_of_any_other_part_its_values_are_searched_but_no_encoded_binary() -> None:
    image = {"type": "image", "source": {"data": "iVBORw0KGgo" * 100}, "url": "data:x,"}
    assert searchable([OtherPart(value=image)]) == (
        '{"type":"image","source":{"data":""},"url":"data:x,"}'
    )
    url = "data:image/png;base64," + "iVBORw0KGgo=" * 100
    assert searchable([OtherPart(value={"u": url})]) == '{"u":""}'
    prose = "word " * 200
    assert searchable([OtherPart(value={"u": prose})]) == f'{{"u":"{prose}"}}'
    assert searchable([ToolResultPart(call_id="c", output="iVBORw0KGgo" * 100)]) == ""


def test_escapes_of_json_are_not_searched() -> None:
    output = {"path": "C:\\dir", "said": 'a "b"\nnext', "n": [1, [], {}, 1e-7, None]}
    assert searchable([ToolResultPart(call_id="c", output=output)]) == (
        '{"path":"C:\\dir","said":"a "b"\nnext","n":[1,[],{},1e-7,null]}'
    )


@given(json_values)
def test_spelt_out_json_is_what_the_encoder_writes(value: Any) -> None:
    text = msgspec.json.encode(value).decode()
    assume("\\" not in text)
    assert "".join(_spelled(value)) == text


def test_deeply_nested_json_is_searched() -> None:
    value: Any = "deep\n"
    for _ in range(250):
        value = [{"k": value}]
    text = searchable([ToolResultPart(call_id="c", output=value)])
    assert text == '[{"k":' * 250 + '"deep\n"' + "}]" * 250


@given(new_messages)
def test_what_is_read_from_stored_bytes_is_what_was_said(message: NewMessage) -> None:
    packed = pack(message, lambda: "id")
    assert stored_text(packed.body, "id") == searchable(packed.parts)


def test_folding_byte_by_byte_is_folding_character_by_character() -> None:
    latin = [chr(code) for code in range(256)]
    for char in latin:
        text = f"A{char}É{char}"
        assert fold(text) == fold(text + "\u4e00")[:-1]


def test_what_stands_in_a_latin_text_stands_in_what_it_folds_to() -> None:
    term = Term(("x",))
    for code in range(256):
        for text in (f"{chr(code)}x", f"x{chr(code)}", f"a {chr(code)}x b"):
            if is_latin(text) and occurs(term, text):
                assert occurs(term, fold(text)), text
