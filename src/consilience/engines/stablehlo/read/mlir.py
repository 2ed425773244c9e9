"""The textual form of MLIR, as far as modules of StableHLO use it: pretty and generic operations, attributes, types.

Text in; functions as lists of operations with operands, attributes, regions and types out. What operations compute
stands in `module`.
"""

from __future__ import annotations

import re
from typing import Any, Final

from consilience.engines.stablehlo.read.constants import DenseText, dense_array, number_of, tensor_form
from consilience.errors import MissingRuleError, ParseError
from consilience.record import Record, replace

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+|//[^\n]*)
    |(?P<string>"[^"\\]*(?:\\.[^"\\]*)*")
    |(?P<value>%[\w$.-]+(?:\#\d+)?)
    |(?P<symbol>@(?:[\w$.-]+|"(?:[^"\\]|\\.)*"))
    |(?P<block>\^[\w$.-]+)
    |(?P<number>-?(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?))
    |(?P<word>[!\#]?[A-Za-z_][\w$.]*)
    |(?P<mark>->|::|\{-\#|\#-\}|[-<>{}()\[\]:,=*+?])""",
    re.VERBOSE,
)
_BRACKET: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|->|[<>]')
_RESOURCE: Final = re.compile(r'([\w$.-]+)\s*:\s*"0x([0-9A-Fa-f]*)"')
_SHOWN: Final = 90


class MlirOperation(Record, eq=False):
    """One operation.

    `name`: with its dialect, as in `stablehlo.add`.
    `results`: names of the values it gives: `%0`, or `%0#0`, `%0#1`.
    `operands`: names of values.
    `words`: bare words of the pretty form, in order: `GT`, `FLOAT`.
    `attributes`: by name; a pretty form's own are among them.
    `regions`: inner blocks.
    `types`: of operands and results, as they are written; `arrow` tells where the results begin (None: no arrow).
    `line`: where it stands, and the line itself.
    `text`: where it stands, and the line itself.
    """

    name: str
    results: list[str]
    operands: list[str]
    words: list[str]
    attributes: dict[str, Any]
    regions: list[MlirBlock]
    types: list[str]
    arrow: int | None
    line: int
    text: str

    @property
    def result_types(self) -> list[str]:
        """Types of the results, as written."""
        if self.arrow is not None:
            return self.types[self.arrow :]
        own = self.types[len(self.types) - len(self.results) :] if self.results else []
        return own if len(own) == len(self.results) else self.types * len(self.results)

    @property
    def short(self) -> str:
        """The name without its dialect."""
        return self.name.rpartition(".")[2]

    @property
    def where(self) -> str:
        """The place in the text, for messages."""
        shown = self.text if len(self.text) <= _SHOWN else f"{self.text[:_SHOWN]}…"
        return f"line {self.line} of the text: `{shown}`"


class MlirBlock(Record, eq=False):
    """Names and types of arguments, and operations, the last of which returns."""

    arguments: list[tuple[str, str]]
    operations: list[MlirOperation]


class MlirModule(Record, eq=False):
    """Functions by name, with what stands in the text beside them."""

    functions: dict[str, MlirBlock]
    resources: dict[str, bytes]


class _Token(Record, eq=False):
    kind: str
    text: str
    line: int


def _tokens(text: str) -> list[_Token]:
    """All tokens; a word with what follows it in angle brackets, as in `tensor<4xf64>`, is one of them."""
    found: list[_Token] = []
    position, line = 0, 1
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ParseError(f"line {line} cannot be read as MLIR, from {text[position : position + 30]!r} on.")
        kind, end = str(match.lastgroup), match.end()
        if kind == "mark" and match.group() == "{-#":
            end = text.find("#-}", end)
            if end < 0:
                raise ParseError(f"the resources that begin in line {line} have no end `#-}}`.")
            end, kind = end + 3, "resources"
        elif kind == "word" and text[end : end + 1] == "<":
            end = _closing(text, end, line)
        if kind != "space":
            found.append(_Token(kind, text[position:end], line))
        line += text.count("\n", position, end)
        position = end
    found.append(_Token("end", "", line))
    return found


def _closing(text: str, position: int, line: int) -> int:
    """Behind the bracket that closes the one at a position."""
    depth = 0
    for match in _BRACKET.finditer(text, position):
        if match.group() in "<>":
            depth += 1 if match.group() == "<" else -1
            if not depth:
                return match.end()
    raise ParseError(f"a bracket `<` of line {line} is never closed.")


def parse_module(text: str) -> MlirModule:
    """The functions of a module; raises ParseError, with the line, for what is not MLIR's textual form."""
    return _Parser(text).module()


class _Parser:
    """A position among the tokens of a text."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        self._tokens = _tokens(text)
        self._at = 0
        self._aliases: dict[str, Any] = {}

    # ---- tokens

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self) -> _Token:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _ahead(self, text: str, by: int = 0) -> bool:
        place = self._at + by
        return place < len(self._tokens) and self._tokens[place].text == text

    def _accept(self, text: str) -> bool:
        found = self._ahead(text)
        self._at += found
        return found

    def _expect(self, text: str) -> _Token:
        if not self._ahead(text):
            raise self._fault(f"`{text}`")
        return self._take()

    def _expect_kind(self, kind: str) -> str:
        if self._next.kind != kind:
            raise self._fault(f"a {kind}")
        return self._take().text

    def _fault(self, wanted: str) -> ParseError:
        came = self._next
        line = self._line(came.line)[:_SHOWN]
        return ParseError(
            f"{wanted} was needed in line {came.line} of the text, got {came.text[:30] or 'its end'!r}: {line}"
        )

    def _line(self, number: int) -> str:
        return self._lines[number - 1].strip() if number <= len(self._lines) else ""

    # ---- modules and functions

    def module(self) -> MlirModule:
        """Everything in the text."""
        functions: dict[str, MlirBlock] = {}
        resources: dict[str, bytes] = {}
        while self._next.kind != "end":
            token = self._next
            if token.kind == "resources":
                found = _RESOURCE.findall(self._take().text)
                resources.update({name: bytes.fromhex(data) for name, data in found})
            elif token.text.startswith("#") and self._ahead("=", 1):
                self._at += 2
                if self._ahead("loc"):
                    self._location()
                else:
                    self._aliases[token.text] = self._attribute()
            elif token.text in ("module", '"builtin.module"', "builtin.module"):
                self._open_module()
            elif token.text in ("func.func", "func", '"func.func"'):
                name, block = self._function()
                functions[name] = block
            elif token.text in ("}", ")"):  # the end of the module, in the generic form with its type
                self._take()
                self._dictionary_if_any()
                if self._accept(":"):
                    self._types()
            elif token.text == "loc":
                self._location()
            elif token.text == "sdy.mesh":  # machines among which arrays are divided
                while self._next.text not in ("func.func", "}") and self._next.kind != "end":
                    self._take()
            else:
                raise self._fault("a function (`func.func @main(...)`) of a module of StableHLO")
        return MlirModule(functions, resources)

    def _open_module(self) -> None:
        if self._take().text.startswith('"'):
            self._expect("(")
            self._expect(")")
            self._properties()
            self._expect("(")
            self._expect("{")
            if self._next.kind == "block":
                self._block_arguments()
            return
        if self._next.kind == "symbol":
            self._take()
        if self._accept("attributes"):
            self._dictionary()
        self._expect("{")

    def _function(self) -> tuple[str, MlirBlock]:
        if self._take().text.startswith('"'):
            self._expect("(")
            self._expect(")")
            attributes = self._properties()
            self._expect("(")
            block = self._region()
            self._expect(")")
            self._dictionary_if_any()
            self._expect(":")
            self._types()
            return str(attributes["sym_name"]).removeprefix("@"), block
        while self._next.kind == "word":
            self._take()  # public, private
        name = self._expect_kind("symbol").removeprefix("@").strip('"')
        arguments = self._arguments()
        if self._accept("->"):
            if self._accept("("):
                while not self._accept(")"):
                    self._type()
                    self._dictionary_if_any()
                    self._accept(",")
            else:
                self._type()
        if self._accept("attributes"):
            self._dictionary()
        return name, MlirBlock(arguments, self._region().operations)

    def _region(self) -> MlirBlock:
        """One block in braces."""
        self._expect("{")
        arguments = self._block_arguments() if self._next.kind == "block" else []
        operations = []
        while not self._accept("}"):
            if self._next.kind == "block":
                raise MissingRuleError(f"control flow between blocks has no translation (line {self._next.line}).")
            operations.append(self._operation())
        self._location()
        return MlirBlock(arguments, operations)

    def _block_arguments(self) -> list[tuple[str, str]]:
        self._take()
        found = self._arguments() if self._ahead("(") else []
        self._expect(":")
        return found

    # ---- operations

    def _operation(self) -> MlirOperation:
        line = self._next.line
        results: list[str] = []
        while self._next.kind == "value":
            value = self._take().text
            if self._accept(":"):
                results += [f"{value}#{i}" for i in range(int(self._expect_kind("number")))]
            else:
                results.append(value)
            if not self._accept(","):
                self._expect("=")
                break
        found = MlirOperation("", results, [], [], {}, [], [], None, line, self._line(line))
        if self._next.kind == "string":
            return self._generic(found)
        if self._next.kind != "word":
            raise self._fault("an operation")
        return self._pretty(found)

    def _generic(self, found: MlirOperation) -> MlirOperation:
        name = self._take().text.strip('"')
        self._expect("(")
        operands = []
        while not self._accept(")"):
            operands.append(self._expect_kind("value"))
            self._accept(",")
        attributes = self._properties()
        regions = []
        if self._ahead("(") and self._ahead("{", 1):
            self._take()
            while not self._accept(")"):
                regions.append(self._region())
                self._accept(",")
        attributes |= self._dictionary_if_any()
        self._expect(":")
        types, arrow = self._types()
        self._location()
        return replace(
            found, name=name, operands=operands, attributes=attributes, regions=regions, types=types, arrow=arrow
        )

    def _pretty(self, found: MlirOperation) -> MlirOperation:
        name = self._take().text
        arguments: list[str] = []  # of a loop
        starts: list[str] = []  # of a reduction
        while not self._ahead(":") and not self._ahead("}") and not (self._ahead("loc") and self._ahead("(", 1)):
            self._part(name, found, arguments, starts)
        found.operands.extend(starts)
        types, arrow = self._types() if self._accept(":") else ([], None)
        regions: list[MlirBlock] = []
        if name.endswith("while"):
            for mark in ("cond", "do"):
                self._expect(mark)
                regions.append(MlirBlock(list(zip(arguments, types, strict=True)), self._region().operations))
        if self._accept("reducer"):
            pairs: list[list[tuple[str, str]]] = []
            while self._ahead("("):
                pairs.append(self._arguments())
            regions.append(MlirBlock([pair[i] for i in (0, 1) for pair in pairs], self._region().operations))
        self._location()
        return replace(found, name=name, regions=regions, types=types, arrow=arrow)

    def _part(self, name: str, found: MlirOperation, arguments: list[str], starts: list[str]) -> None:
        """One of the things that stand between an operation's name and its type."""
        token = self._next
        if token.kind == "value":
            if self._ahead("=", 1):
                arguments.append(self._take().text)
                self._take()
            found.operands.append(self._expect_kind("value"))
            if self._ahead("["):
                found.attributes["ranges"] = self._ranges()
        elif token.kind == "symbol":
            found.attributes["callee"] = self._take().text.removeprefix("@").strip('"')
        elif token.kind == "string":
            found.attributes["name"] = self._take().text.strip('"')
        elif token.text == "{":
            found.attributes.update(self._dictionary())
        elif token.kind == "word" and self._ahead("=", 1):
            self._at += 2
            value = self._attribute(typed=False)
            for mark in ("x", "->"):
                if self._accept(mark):
                    value = [value, self._attribute()]
            found.attributes[token.text] = value
        elif token.text == "init" and self._ahead(":", 1):
            self._at += 2
            starts.append(self._expect_kind("value"))
        elif token.kind == "word" and "<" in token.text:
            found.attributes["value"] = self._attribute(typed=False)
        elif token.kind == "word":
            found.words.append(self._take().text)
        elif token.text in ("(", ")", ","):
            self._take()
        else:
            raise self._fault(f"an operand, an attribute or the type of `{name}`")

    def _arguments(self) -> list[tuple[str, str]]:
        """Names and types in parentheses."""
        found: list[tuple[str, str]] = []
        self._expect("(")
        while not self._accept(")"):
            value = self._expect_kind("value")
            self._expect(":")
            found.append((value, self._type()))
            self._dictionary_if_any()
            self._location()
            self._accept(",")
        return found

    def _ranges(self) -> list[list[int]]:
        """`[0:4, 1:3:2]`, as starts, limits and steps."""
        found: list[list[int]] = []
        self._expect("[")
        while not self._accept("]"):
            part = [int(self._expect_kind("number"))]
            while self._accept(":"):
                part.append(int(self._expect_kind("number")))
            found.append(part)
            self._accept(",")
        return found

    # ---- types and attributes

    def _types(self) -> tuple[list[str], int | None]:
        """What follows the colon of an operation, and where its results begin."""
        found = self._listed_types()
        if not self._accept("->"):
            return found, None
        return [*found, *self._listed_types()], len(found)

    def _listed_types(self) -> list[str]:
        found: list[str] = []
        if self._accept("("):
            while not self._accept(")"):
                found.append(self._type())
                self._accept(",")
            return found
        found.append(self._type())
        while self._accept(","):
            found.append(self._type())
        return found

    def _type(self) -> str:
        if self._ahead("("):  # of a function
            given = self._listed_types()
            self._expect("->")
            found = self._listed_types() if self._ahead("(") else [self._type()]
            return f"function {given} -> {found}"
        return self._expect_kind("word")

    def _location(self) -> None:
        if self._ahead("loc") and self._ahead("(", 1):
            self._take()
            depth = 0
            while True:
                text = self._take().text
                depth += (text == "(") - (text == ")")
                if not depth:
                    return
                if self._next.kind == "end":
                    raise self._fault("`)`")

    def _properties(self) -> dict[str, Any]:
        """`<{…}>`, if it is there, and `{…}`."""
        found: dict[str, Any] = {}
        if self._ahead("<") and self._ahead("{", 1):
            self._take()
            found = self._dictionary()
            self._expect(">")
        return found | self._dictionary_if_any()

    def _dictionary_if_any(self) -> dict[str, Any]:
        return self._dictionary() if self._ahead("{") else {}

    def _dictionary(self) -> dict[str, Any]:
        self._expect("{")
        return self._pairs("}")

    def _pairs(self, end: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not self._accept(end):
            if self._next.kind not in ("word", "string"):
                raise self._fault("the name of an attribute")
            name = self._take().text.strip('"')
            found[name] = self._attribute() if self._accept("=") else True
            self._accept(",")
        return found

    def _attribute(self, typed: bool = True) -> Any:
        """One value; `typed`: a colon behind it begins its type."""
        token = self._next
        if token.text == "{":
            return self._dictionary()
        if token.text == "(":  # the type of a function
            return self._type()
        if token.text == "[":
            self._take()
            items = []
            while not self._accept("]"):
                items.append(self._attribute())
                self._accept(",")
            return items
        self._take()
        if token.kind == "symbol":
            return token.text.removeprefix("@").strip('"')
        if token.kind == "string":
            return token.text[1:-1]
        if token.kind == "number":
            kind = self._type() if typed and self._accept(":") else ""
            whole = re.fullmatch(r"-?(?:\d+|0x[0-9A-Fa-f]+)", token.text) is not None
            if kind.startswith("f"):
                return number_of(token.text, kind)
            return int(token.text, 0) if whole else float(token.text)
        if token.kind == "word":
            return self._worded(token, typed)
        self._at -= 1
        raise self._fault("an attribute")

    def _worded(self, token: _Token, typed: bool) -> Any:
        head, bracket, rest = token.text.partition("<")
        inside = rest[:-1] if bracket else ""
        if head in ("dense", "dense_resource"):
            value = DenseText(inside if head == "dense" else f"resource:{inside}", token.line)
            if not typed or not self._accept(":"):
                return value
            form = tensor_form(self._type(), f"line {token.line}")
            return dense_array(value, form, {}) if head == "dense" else value
        if head == "array":
            listed = inside.partition(":")[2]
            return [x == "true" if x in ("true", "false") else int(x) for x in re.findall(r"[^\s,]+", listed)]
        if token.text in ("true", "false"):
            if typed and self._ahead(":"):
                self._take()
                self._type()
            return token.text == "true"
        if token.text in self._aliases:
            return self._aliases[token.text]
        if head.startswith("#") and re.match(r"\s*[\w.]+\s*=", inside):
            return _Parser(f"{inside}\n}}")._pairs("}")
        if head.startswith("#") and re.fullmatch(r"\w+ \w+", inside):
            return inside.split(" ")[1]
        return inside if bracket and head.startswith("#") else token.text
