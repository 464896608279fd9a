"""Conditions as text: `age >= 30 and country in ('DE', 'FR') and income is not null`. None of it is executed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .row_filter import Combination, Comparison, Condition, RowFilter, Value

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    |(?P<text>'(?:[^']|'')*')
    |(?P<column>"(?:[^"]|"")*"|`[^`]*`)
    |(?P<sign><=|>=|<>|!=|==|=|<|>|\(|\)|,)
    |(?P<word>[^\W\d][\w.]*))""",
    re.VERBOSE,
)
_COMPARISONS = {
    "=": "equal",
    "==": "equal",
    "!=": "not_equal",
    "<>": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}
_KEYWORDS = {"and", "or", "not", "in", "is", "null", "between", "like", "true", "false"}
_MOST_NESTED = 50  # parentheses within parentheses


def parse_filter(text: str) -> RowFilter:
    """The filter that a text describes; raises a ValueError that says where it can't be read."""
    return RowFilter(text, _Parser(text).parse())


@dataclass(frozen=True)
class _Token:
    kind: str  # number, text, column, sign, word; "end" after the last one
    text: str
    place: int

    @property
    def keyword(self) -> str:
        """The keyword or sign in lower case; empty for others."""
        lower = self.text.lower()
        return lower if self.kind == "sign" or (self.kind == "word" and lower in _KEYWORDS) else ""


class _Parser:
    """Recursive descent: or, and, not, comparison."""

    def __init__(self, text: str) -> None:
        self._text, self._tokens, self._next, self._depth = text, list(_tokens(text)), 0, 0

    def parse(self) -> Condition:
        condition = self._either()
        if self._here.kind != "end":
            raise self._error("the end, `and` or `or`")
        return condition

    @property
    def _here(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._here
        self._next += token.kind != "end"
        return token

    def _accepts(self, *keywords: str) -> bool:
        if self._here.keyword in keywords:
            self._next += 1
            return True
        return False

    def _expect(self, keyword: str) -> None:
        if not self._accepts(keyword):
            raise self._error(f"`{keyword}`")

    def _error(self, expected: str) -> ValueError:
        found = f"`{self._here.text}`" if self._here.kind != "end" else "the end"
        return ValueError(
            f"can't read the condition {self._text!r}: expected {expected} at character {self._here.place + 1}, "
            f"found {found}; write it as in \"age >= 30 and country in ('DE', 'FR')\"."
        )

    def _combined(self, keyword: str, part: Callable[[], Condition]) -> Condition:
        parts = [part()]
        while self._accepts(keyword):
            parts.append(part())
        return parts[0] if len(parts) == 1 else Combination(keyword, tuple(parts))

    def _either(self) -> Condition:
        return self._combined("or", self._all)

    def _all(self) -> Condition:
        return self._combined("and", self._negated)

    def _negated(self) -> Condition:
        self._depth += 1
        if self._depth > _MOST_NESTED:
            raise ValueError(f"the condition {self._text[:40]!r}... is nested too deeply.")
        try:
            if self._accepts("not"):
                return Combination("not", (self._negated(),))
            if self._accepts("("):
                inside = self._either()
                self._expect(")")
                return inside
            return self._comparison()
        finally:
            self._depth -= 1

    def _comparison(self) -> Condition:
        column = self._column()
        if self._here.keyword in _COMPARISONS:
            operation = _COMPARISONS[self._take().text]
            return Comparison(column, operation, (self._value(),))
        if self._accepts("is"):
            negated = self._accepts("not")
            self._expect("null")
            return _negated_if(negated, Comparison(column, "is_null"))
        negated = self._accepts("not")
        if self._accepts("in"):
            self._expect("(")
            values = [self._value()]
            while self._accepts(","):
                values.append(self._value())
            self._expect(")")
            return _negated_if(negated, Comparison(column, "is_in", tuple(values)))
        if self._accepts("between"):
            low = Comparison(column, "greater_equal", (self._value(),))
            self._expect("and")
            inside = Combination("and", (low, Comparison(column, "less_equal", (self._value(),))))
            return _negated_if(negated, inside)
        if self._accepts("like"):
            return _negated_if(negated, Comparison(column, "like", (self._value(),)))
        raise self._error("a comparison such as `=`, `<`, `in`, `between`, `like` or `is null`")

    def _column(self) -> str:
        if self._here.kind == "word" and not self._here.keyword:
            return self._take().text
        if self._here.kind == "column":
            quoted = self._take().text
            return quoted[1:-1].replace(2 * quoted[0], quoted[0])
        raise self._error('the name of a column (in "double quotes" if it has spaces)')

    def _value(self) -> Value:
        if self._here.kind == "number":
            return float(self._take().text)
        if self._here.kind == "text":
            return self._take().text[1:-1].replace("''", "'")
        if self._here.keyword in ("true", "false"):
            return self._take().text.lower() == "true"
        raise self._error("a number or a text in 'single quotes'")


def _tokens(text: str) -> Iterator[_Token]:
    place = 0
    while text[place:].strip():
        found = _TOKEN.match(text, place)
        if found is None or found.lastgroup is None:
            rest = text[place:].strip()
            raise ValueError(f"can't read the condition {text!r} from {rest[:20]!r} on.")
        yield _Token(found.lastgroup, found[found.lastgroup], found.start(found.lastgroup))
        place = found.end()
    yield _Token("end", "", len(text))


def _negated_if(negated: bool, condition: Condition) -> Condition:
    return Combination("not", (condition,)) if negated else condition
