"""Mutations of Python, by its syntax; of the SQL in its texts, too.

Left alone are what no test should hold to the letter (docstrings, texts of errors and of the log),
what only a type checker reads, and what a swap does not change.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import text_mutations
from mutation import BOUNDARY, COMPARISON, DROPPED, SWAPPED, Mutation, Source, Span

OPERATORS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
SQL = re.compile(
    r"""[rfRF]*["']+\s*(SELECT|UPDATE|DELETE|INSERT|WITH|WHERE|AND|OR|FROM|JOIN|ON)\b"""
)
BOUNDED = (ast.BinOp, ast.AugAssign, ast.Compare, ast.Slice, ast.Subscript)
BOUNDING = {"range", "min", "max"}
IN_ANY_ORDER = {"min", "max", "isinstance", "issubclass", "hasattr", "getattr", "cast", "TypeVar"}
FOR_TYPES = {"annotation", "returns", "decorator_list", "bases"}
LOGS = {"logger", "warnings"}


class Finder:
    """Walks over a module and gives each change that can be made."""

    def __init__(self, source: Source) -> None:
        self._source = source
        lines = source.text.splitlines(keepends=True)
        self._lines = [line.encode() for line in lines]
        self._starts = [0]
        for line in lines:
            self._starts.append(self._starts[-1] + len(line))

    def find(self) -> Iterator[Mutation]:
        module = ast.parse(self._source.text)
        yield from self._below(module, is_run=False)

    def _below(self, node: ast.AST, *, is_run: bool) -> Iterator[Mutation]:
        is_run = is_run or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for field, value in ast.iter_fields(node):
            if field in FOR_TYPES:
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not _is_passed_over(child):
                    yield from self._at(child, node, is_run=is_run)

    def _at(self, node: ast.AST, parent: ast.AST, *, is_run: bool) -> Iterator[Mutation]:
        if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
            node = node.operand
        if isinstance(node, ast.Compare):
            yield from self._comparisons(node)
        elif isinstance(node, ast.Expr) and is_run:
            yield from self._dropped(node)
        elif isinstance(node, ast.Call):
            yield from self._swapped(node)
        elif isinstance(node, ast.Constant | ast.JoinedStr):
            yield from self._constants(node, parent, is_run=is_run)
            return
        if not (isinstance(node, ast.Call) and _is_telling(node)):
            yield from self._below(node, is_run=is_run)

    def _comparisons(self, node: ast.Compare) -> Iterator[Mutation]:
        sides = [node.left, *node.comparators]
        for left, op, right in zip(sides, node.ops, node.comparators, strict=False):
            was, becomes = OPERATORS[type(op)]
            start, end = self._span(left).end, self._span(right).start
            word = re.escape(was).replace(r"\ ", r"\s+")
            if found := re.search(word, self._source.text[start:end]):
                span = Span(start + found.start(), start + found.end())
                yield self._source.change(COMPARISON, span, becomes, self._span(node))

    def _dropped(self, node: ast.Expr) -> Iterator[Mutation]:
        call = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(call, ast.Call):
            yield self._source.change(DROPPED, self._span(node), "pass", self._span(node))

    def _swapped(self, node: ast.Call) -> Iterator[Mutation]:
        if _name(node.func) in IN_ANY_ORDER or _is_telling(node):
            return
        for first, second in zip(node.args, node.args[1:], strict=False):
            if isinstance(first, ast.Starred) or isinstance(second, ast.Starred):
                continue
            one, other = self._text(self._span(first)), self._text(self._span(second))
            between = self._text(Span(self._span(first).end, self._span(second).start))
            span = Span(self._span(first).start, self._span(second).end)
            if one != other:
                yield self._source.change(SWAPPED, span, other + between + one, self._span(node))

    def _constants(
        self, node: ast.Constant | ast.JoinedStr, parent: ast.AST, *, is_run: bool
    ) -> Iterator[Mutation]:
        if isinstance(node, ast.Constant) and type(node.value) is int:
            if is_run and _is_bounded(parent):
                for number in (node.value - 1, node.value + 1):
                    text, shown = str(number), self._span(parent)
                    yield self._source.change(BOUNDARY, self._span(node), text, shown)
        elif not isinstance(parent, ast.Expr) and SQL.match(self._text(self._span(node))):
            yield from text_mutations.in_text(self._source, self._span(node))

    def _text(self, span: Span) -> str:
        return self._source.text[span.start : span.end]

    def _span(self, node: ast.AST) -> Span:
        assert isinstance(node, ast.expr | ast.stmt)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return Span(
            self._offset(node.lineno, node.col_offset),
            self._offset(node.end_lineno, node.end_col_offset),
        )

    def _offset(self, line: int, column: int) -> int:
        """Count characters: syntax trees count bytes."""
        return self._starts[line - 1] + len(self._lines[line - 1][:column].decode())


def _is_passed_over(node: ast.AST) -> bool:
    if isinstance(node, ast.If) and _name(node.test) == "TYPE_CHECKING":
        return True
    return isinstance(node, ast.Raise | ast.Assert | ast.arguments)


def _is_telling(call: ast.Call) -> bool:
    """Whether its arguments become the text of an error or of the log."""
    of = call.func.value if isinstance(call.func, ast.Attribute) else call.func
    return _name(call.func).endswith("Error") or _name(of) in LOGS


def _is_bounded(parent: ast.AST) -> bool:
    if isinstance(parent, ast.Call):
        return _name(parent.func) in BOUNDING
    return isinstance(parent, BOUNDED)


def _name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
