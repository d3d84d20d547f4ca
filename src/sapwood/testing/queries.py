"""Queries with texts that they find and texts that they do not: the same on every store."""

from __future__ import annotations

from typing import NamedTuple


class QueryCase(NamedTuple):
    """A query, the texts that it must find, and those that it must not."""

    query: str
    finds: tuple[str, ...]
    finds_not: tuple[str, ...] = ()


_LONG = "word" * 2_500
_MANY = "lorem ipsum dolor sit amet " * 370

QUERIES: tuple[QueryCase, ...] = (
    # Punctuation is text.
    QueryCase(
        "rm -rf", ("sudo rm -rf /tmp/x", "the -rf of rm"), ("rm rf", "rm -r -f", "term -rfx")
    ),
    QueryCase('"rm -rf"', ("sudo rm -rf /", "rm  -rf"), ("-rf rm", "rm x -rf", "rm rf")),
    QueryCase(".env", ("cat .env", "foo.env", ".ENV"), ("env", ".environment", "dotenv")),
    QueryCase(
        ".env",
        ("x.env\u00ad env",),
        ("x.env\u00adironment env", "x.env\u200b2 env", ".env\u0301e env"),
    ),
    QueryCase("--force", ("git push --force", "(--force)"), ("-force", "force", "--forced")),
    QueryCase("-v", ("pytest -v", "tar -v\n"), ("v", "-vv", "-version")),
    QueryCase("e.g.", ("fruit, e.g. pears", "(E.g.)"), ("eg", "e g", "the.g.")),
    QueryCase("config.", ("see config.", "config.py"), ("config", "reconfig.", "config file")),
    QueryCase("`ls`", ("run `ls` now",), ("run ls now", "`lsof`")),
    QueryCase("``` python", ("``` the python",), ("python", "`` python")),
    QueryCase('"unclosed', ('he said "unclosed', '"Unclosed" it is'), ("unclosed",)),
    QueryCase('un"closed', ('un"closed',), ("unclosed", "un closed")),
    QueryCase("C++", ("modern c++17", "C++"), ("c", "C+", "objc++")),
    QueryCase("P2.2", ("see P2.2.", "p2.2"), ("P2", "P22", "P2 2", "P2.20", "AP2.2")),
    QueryCase("user@host.com", ("to USER@host.com,",), ("user at host.com", "user@host.common")),
    QueryCase("50%", ("up 50%!", "50% off"), ("50", "150%", "50 %")),
    QueryCase("#123", ("fixes #123", "a#123"), ("123", "# 123", "#1234")),
    QueryCase("NEAR(", ("NEAR(a b)", "near("), ("near", "near (")),
    QueryCase("NEAR", ("near", "Near(x)"), ("nearby",)),
    QueryCase("foo:bar", ("a foo:bar b",), ("foo bar", "bar:foo")),
    QueryCase("(foo", ("f(foo)",), ("foo",)),
    QueryCase("foo - bar", ("bar - foo", "foo-bar"), ("foo bar", "foo -")),
    QueryCase("a && b", ("if a && b", "b && a"), ("a b", "a & b")),
    QueryCase("snake_case", ("my snake_case x", "snake_case_2"), ("snake case", "snakecase")),
    QueryCase("{col:x}^2", ("a {col:x}^2",), ("col x 2",)),
    # Case, accents, width, typography.
    QueryCase("it's", ("it's", "IT\u2019S", "it\u2018s"), ("its", "it s")),
    QueryCase("it\u2019s", ("it's", "it\u2019s"), ("its",)),
    QueryCase("rm \u2013rf", ("rm -rf",), ("rm rf",)),
    QueryCase("cafe", ("un café", "CAFÉ", "cafe\u0301"), ("cafeteria",)),
    QueryCase("café", ("cafe", "Café"), ("caf",)),
    QueryCase("DePLoy", ("deploy", "DEPLOY-now"), ("deployment", "redeploy")),
    QueryCase("Straße", ("STRASSE", "straße", "strasse"), ("strase",)),
    QueryCase("STRASSE", ("Straße",), ("Straßen",)),
    QueryCase("\uff21\uff22\uff23", ("abc", "\uff21\uff22\uff23"), ("abcd",)),
    QueryCase("abc", ("\uff21\uff22\uff23",), ("\uff21\uff22\uff23\uff24",)),
    QueryCase("ЁЛКА", ("елка", "ёлка"), ("елки",)),
    QueryCase("λόγος", ("ΛΟΓΟΣ", "λογος"), ("λογο",)),
    QueryCase("soft", ("so\u00adft", "soft\u200b"), ("so-ft",)),
    QueryCase("किताब", ("यह किताब है",), ("किताबें", "कताब")),
    QueryCase("acme", ("Acme™ Inc", "❤️acme❤️"), ("acmetm",)),
    # Scripts without spaces.
    QueryCase("部署", ("请部署服务", "部署", "deploy部署"), ("部", "署部", "部 署")),
    QueryCase("署", ("部署", "署名", "a署b"), ("部", "者")),
    QueryCase("服务器", ("新服务器上线",), ("服务 务器", "服务", "务器")),
    QueryCase("東京", ("東京都", "京都と東京"), ("京都", "東の京")),
    QueryCase("서울", ("서울에서", "서울"), ("서 울", "울산")),
    QueryCase("ガイド", ("ガイドブック", "ｶﾞｲﾄﾞ"), ("カイト",)),
    QueryCase("กรุง", ("กรุงเทพ",), ("เทพ",)),
    QueryCase("deploy部署", ("deploy部署完成",), ("deploy 部署", "部署deploy", "redeploy部署")),
    QueryCase("deploy", ("deploy部署", "部署deploy"), ("deployed部署",)),
    QueryCase('"部署 now"', ("请部署 now", "部署now", "部署\uff0cnow"), ("now 部署", "部署线 now")),
    QueryCase('"now 部署"', ("now部署了", "now 部署"), ("now 的部署", "部署 now")),
    # Operators, phrases, prefixes.
    QueryCase("foo AND AND bar", ("bar and foo",), ("foo bar", "foo and")),
    QueryCase("OR OR", ("this or that",), ("this and that", "for")),
    QueryCase("foo OR", ("foo or not",), ("foo", "or")),
    QueryCase("AND foo", ("foo and",), ("foo", "and")),
    QueryCase("foo NOT", ("do not foo",), ("foo", "not")),
    QueryCase("a AND NOT b", ("a c",), ("a b", "b", "c")),
    QueryCase("a NOT b", ("a c",), ("a b", "b")),
    QueryCase("NOT NOT a", ("a", "a b"), ("b",)),
    QueryCase("a NOT b.c", ("a b", "a c.b", "a b-c"), ("a b.c",)),
    QueryCase("a OR b c", ("a", "b c"), ("b", "c")),
    QueryCase("and or", ("or and",), ("and", "or")),
    QueryCase('"OR"', ("or",), ("for",)),
    QueryCase('this "OR" that', ("that or this",), ("this", "that this")),
    QueryCase(
        '"foo bar"',
        ("foo, bar", "foo\nbar", "a foo - bar!"),
        ("foobar", "foo bars", "bar foo", "foo x bar"),
    ),
    QueryCase('"foo ba"*', ("foo bar", "foo ba"), ("foo a", "foo xba")),
    QueryCase('"foo, bar"', ("foo, bar",), ("foo bar",)),
    QueryCase("\u201cfoo bar\u201d", ("foo bar",), ("bar foo",)),
    QueryCase("dep*", ("deployment", "dep"), ("de", "redeploy")),
    QueryCase('"dep*"', ("dep*",), ("deployment", "dep")),
    QueryCase(".env*", (".environment", ".env"), ("environment",)),
    # Long ones.
    QueryCase(_LONG, (f"a {_LONG} b",), (_LONG[:-1], _LONG + "x")),
    QueryCase(_MANY, (_MANY, "Amet, sit dolor; ipsum lorem"), ("lorem ipsum dolor sit",)),
)

REFUSED: tuple[str, ...] = (
    "",
    " \t\n",
    "*",
    "**",
    "?!",
    "((",
    '""',
    '"',
    "-- && ...",
    "\u00ad",
    "NOT",
    "NOT NOT",
    "NOT b",
    "NOT a NOT b",
    "a OR NOT b",
    "NOT a OR b",
    "a OR &&",
    "role:user",
    "a OR role:user",
    "tag:x title:y",
    "a after:2024",
    "a before:2024-13-01",
    "a after:5pm",
    "\ud800",
    "x" * 20_001,
    "x " * 2_001,
)
"""Queries that are a UsageError: there is nothing to look for, or too much."""
