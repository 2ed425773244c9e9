"""Formulas as MathML, which browsers draw by themselves: an expression in Python's notation enters, an element leaves.

The notation is that of Python, so that a test can compute what a reader sees. Besides operators there are the functions
of `FUNCTIONS`, `Sum(term, k, first, last)`, `Prod`, `Cases((value, condition), …)`, `T(a)` (transpose), `inv`, `det`.
"""

from __future__ import annotations

import ast
import html

NAMES = """
    alpha beta gamma delta epsilon zeta eta theta kappa lam mu nu xi pi rho sigma tau phi chi psi omega
    Gamma Delta Theta Lambda Sigma Phi Psi Omega oo ell
"""
GREEK = dict(zip(NAMES.split(), "αβγδεζηθκλμνξπρστφχψωΓΔΘΛΣΦΨΩ∞ℓ", strict=True))
FUNCTIONS = {"exp", "log", "logit", "sign", "cos", "sin", "min", "max", "tr", "p"}
"""Functions that are written as they are called."""
SIGNS = {
    ast.Eq: "=", ast.Lt: "<", ast.LtE: "≤", ast.Gt: ">", ast.GtE: "≥", ast.NotEq: "≠", ast.In: "∼",
}  # fmt: skip
ADDED, TIMES, POWER, ATOM = 1, 2, 3, 4


def mathml(expression: str, alternative: str = "") -> str:
    """A formula that stands on a line of its own."""
    told = html.escape(alternative or expression)
    inner = _drawn(ast.parse(expression, mode="eval").body)[0]
    return f'<math display="block" aria-label="{told}"><mrow>{inner}</mrow></math>'


def _name(text: str) -> str:
    """A letter, a Greek one or a word; what stands behind a low line, and digits at the end, are an index."""
    head, _, index = text.partition("_")
    if not index and head[-1:].isdigit() and head[:-1].isalpha():
        head, index = head[:-1], head[-1]
    letter = GREEK.get(head, head)
    made = f"<mi>{letter}</mi>" if len(letter) == 1 else f"<mtext>{html.escape(letter)}</mtext>"
    return f"<msub>{made}{_name(index) if index.isalpha() else f'<mn>{index}</mn>'}</msub>" if index else made


def _fenced(inner: str, left: str = "(", right: str = ")") -> str:
    return f'<mrow><mo stretchy="true">{left}</mo>{inner}<mo stretchy="true">{right}</mo></mrow>'


def _of(node: ast.expr, least: int = 0) -> str:
    """A part, in parentheses where it binds less than it has to."""
    made, level = _drawn(node)
    return f"<mrow>{made if level >= least else _fenced(made)}</mrow>"


def _bare(node: ast.expr) -> ast.expr | None:
    """A product or quotient without the minus sign of its first factor; None where it has none."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return inner
        case ast.BinOp(left=a, op=ast.Mult() | ast.MatMult() | ast.Div() as op, right=b) if inner := _bare(a):
            return ast.BinOp(inner, op, b)
    return None


def _drawn(node: ast.expr) -> tuple[str, int]:
    """The element of a node, and how strongly its parts are bound."""
    if (bare := _bare(node)) is not None:
        return f"<mo>−</mo>{_of(bare, TIMES)}", ADDED
    match node:
        case ast.Name(id=name):
            return _name(name), ATOM
        case ast.Constant(value=value):
            return f"<mn>{value}</mn>", ATOM
        case ast.BinOp(left=a, op=ast.Add() | ast.Sub() as op, right=b):
            sign = "+" if isinstance(op, ast.Add) else "−"
            return f"{_of(a, ADDED)}<mo>{sign}</mo>{_of(b, TIMES)}", ADDED
        case ast.BinOp(left=a, op=ast.Mult() | ast.MatMult(), right=b):
            dot = "·" if isinstance(b, ast.Constant) else "&#x2062;"
            return f"{_of(a, TIMES)}<mo>{dot}</mo>{_of(b, TIMES)}", TIMES
        case ast.BinOp(left=a, op=ast.Div(), right=b):
            return f"<mfrac>{_of(a)}{_of(b)}</mfrac>", TIMES
        case ast.BinOp(left=a, op=ast.Pow(), right=b):
            return f"<msup>{_of(a, ATOM)}{_of(b)}</msup>", POWER
        case ast.Compare(left=a, ops=ops, comparators=others):
            parts = [_of(a)]
            for op, other in zip(ops, others, strict=True):
                parts += [f"<mo>{html.escape(SIGNS[type(op)])}</mo>", _of(other)]
            return "".join(parts), 0
        case ast.Subscript(value=a, slice=index):
            return f"<msub>{_of(a, ATOM)}{_of(index)}</msub>", ATOM
        case ast.Tuple(elts=parts):
            return "<mo>,</mo>".join(_of(part) for part in parts), 0
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return _called(name, arguments)
    raise ValueError(f"a formula has no {ast.unparse(node)}")


def _called(name: str, arguments: list[ast.expr]) -> tuple[str, int]:
    match name, arguments:
        case "sqrt", [a]:
            return f"<msqrt>{_of(a)}</msqrt>", ATOM
        case "abs" | "det", [a]:
            return _fenced(_of(a), "|", "|"), ATOM
        case "norm", [a]:
            return _fenced(_of(a), "‖", "‖"), ATOM
        case "factorial", [a]:
            return f"{_of(a, ATOM)}<mo>!</mo>", POWER
        case "binom", [a, b]:
            return _fenced(f'<mfrac linethickness="0">{_of(a)}{_of(b)}</mfrac>'), ATOM
        case "T", [a]:
            return f"<msup>{_of(a, ATOM)}<mo>⊤</mo></msup>", POWER
        case "inv", [a]:
            return f"<msup>{_of(a, ATOM)}<mrow><mo>−</mo><mn>1</mn></mrow></msup>", POWER
        case "I", [order, a]:
            return f"<msub><mi>I</mi>{_of(order)}</msub>{_fenced(_of(a))}", ATOM
        case ("Sum" | "Prod") as kind, [term, index, first, last]:
            sign = "∑" if kind == "Sum" else "∏"
            under = f"<mrow>{_of(index)}<mo>=</mo>{_of(first)}</mrow>"
            return f"<munderover><mo>{sign}</mo>{under}{_of(last)}</munderover>{_of(term, TIMES)}", TIMES
        case "Cases", rows:
            made = "".join(
                f"<mtr><mtd>{_of(row.elts[0])}</mtd><mtd>{_of(row.elts[1])}</mtd></mtr>"
                for row in rows
                if isinstance(row, ast.Tuple)
            )
            return f'<mrow><mo stretchy="true">{{</mo><mtable columnalign="left left">{made}</mtable></mrow>', 0
    head = f"<mi>{name}</mi>" if name in FUNCTIONS else _name(name)
    return head + "<mo>&#x2061;</mo>" + _fenced("<mo>,</mo>".join(_of(a) for a in arguments)), ATOM
