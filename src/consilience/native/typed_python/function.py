"""`@native`: a function of typed Python, run by CPython or compiled.

In: an annotated Python function. Out: a `NativeFunction`; calling it runs the plain Python, `.compiled` is
the same function as machine code. Outside: translation (`translate`), libraries of functions (`library`).
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast, overload

from consilience.errors import NativeError
from consilience.native.typed_python.native_types import NativeType, native_type, u64
from consilience.record import Record

if TYPE_CHECKING:
    from consilience.native.typed_python.library import NativeLibrary

# What makes machine code of a function; `library`, which is built on this file, enters itself here.
compilers: list[Callable[[NativeFunction[..., Any]], NativeLibrary]] = []

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Source(Record):
    """Where a function stands: its file, the lines of that file, and the function's syntax tree."""

    file: str
    lines: tuple[str, ...]
    tree: ast.FunctionDef

    def error(self, node: ast.AST, message: str) -> NativeError:
        """`message` with the user's file, line and source line."""
        line = getattr(node, "lineno", 1)
        text = self.lines[line - 1].strip() if line <= len(self.lines) else ""
        return NativeError(f"{self.file}:{line}: {message}\n    {text}")


@functools.lru_cache(maxsize=64)
def _functions(lines: tuple[str, ...]) -> dict[int, ast.FunctionDef]:
    """All functions of a file by the line where they begin, decorators included; one parse for all."""
    found: dict[int, ast.FunctionDef] = {}
    waiting: list[ast.stmt] = list(ast.parse("".join(lines)).body)
    while waiting:  # statements only: walking all expressions would take longer than parsing
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef):
            found[min([node.lineno, *(d.lineno for d in node.decorator_list)])] = node
        for block in ("body", "orelse", "finalbody"):
            waiting.extend(getattr(node, block, ()))
    return found


class NativeFunction(Generic[Parameters, Result]):
    """A function that runs under CPython and compiles to machine code.

    `contract`: products and sums may fuse; the last bits then differ from CPython. `inline`: copied into every
    caller. `shared`: one copy for all callers, which keeps compiling short where loops have several. `rare`: so
    seldom called that it is compiled for shortness, which compiles several times as fast.
    """

    def __init__(
        self,
        function: Callable[Parameters, Result],
        contract: bool,
        inline: bool,
        shared: bool,
        rare: bool = False,
    ) -> None:
        if not isinstance(function, FunctionType):
            raise NativeError(f"only functions made by `def` can be native, got {function!r}")
        functools.update_wrapper(self, function)
        self.function: Callable[Parameters, Result] = function
        self.python: FunctionType = function
        self.name = function.__name__
        self.contract = contract
        self.inline = inline
        self.shared = shared
        self.rare = rare

    def __call__(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        if self._unsigned:
            return self._modulo(*args, **kwargs)
        return self.function(*args, **kwargs)

    def __reduce__(self) -> str:
        return self.python.__qualname__  # copied and pickled by name, as functions are

    def __repr__(self) -> str:
        return f"<native {self.name}{inspect.signature(self.function)}>"

    @functools.cached_property
    def signature(self) -> tuple[dict[str, NativeType], NativeType]:
        """Parameter types by name, and the result type."""
        try:
            found = inspect.get_annotations(self.function, eval_str=True)
        except NameError as error:
            raise NativeError(
                f"{self.name}: the annotations name {error.name!r}, which does not exist at run time; import "
                f"it outside `if TYPE_CHECKING`"
            ) from None
        parameters = inspect.signature(self.function).parameters
        missing = [name for name in (*parameters, "return") if name not in found]
        if missing:
            raise NativeError(f"{self.name}: annotate {', '.join(missing)}; typed Python needs every type")
        strange = [p.name for p in parameters.values() if p.kind is not p.POSITIONAL_OR_KEYWORD]
        if strange:
            raise NativeError(f"{self.name}: only plain parameters are allowed, got {', '.join(strange)}")
        return {name: native_type(found[name]) for name in parameters}, native_type(found["return"])

    @functools.cached_property
    def compiled(self) -> NativeLibrary:
        """The same function as machine code, compiled when first asked for."""
        return compilers[-1](self)

    @functools.cached_property
    def source(self) -> Source:
        """File, lines and syntax tree of the function."""
        code = self.python.__code__
        lines = tuple(linecache.getlines(code.co_filename, self.python.__globals__))
        tree = _functions(lines).get(code.co_firstlineno)
        if tree is None or tree.name != code.co_name:
            raise NativeError(
                f"{self.name}: no `def` at line {code.co_firstlineno} of {code.co_filename}; a native "
                f"function is made by `def` in a file that has not changed since it was imported"
            )
        return Source(code.co_filename, lines, tree)

    @functools.cached_property
    def _unsigned(self) -> tuple[str, ...]:
        """Parameters that count modulo 2**64, which CPython must be told."""
        hints = getattr(self.function, "__annotations__", {})
        return tuple(n for n, t in hints.items() if t in ("u64", u64))

    def _modulo(self, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        bound = inspect.signature(self.function).bind(*args, **kwargs)
        for name in self._unsigned:
            if name != "return":
                bound.arguments[name] = u64(bound.arguments[name])
        result: Any = self.function(*bound.args, **bound.kwargs)
        return cast("Result", u64(result) if "return" in self._unsigned else result)


@overload
def native(function: Callable[Parameters, Result], /) -> NativeFunction[Parameters, Result]: ...
@overload
def native(
    *, contract: bool = False, inline: bool = False, shared: bool = False, rare: bool = False
) -> Callable[[Callable[Parameters, Result]], NativeFunction[Parameters, Result]]: ...
def native(
    function: Callable[..., Any] | None = None,
    /,
    *,
    contract: bool = False,
    inline: bool = False,
    shared: bool = False,
    rare: bool = False,
) -> Any:
    """Mark an annotated function as typed Python; see `NativeFunction` for the options."""
    if function is not None:
        return NativeFunction(function, contract, inline, shared, rare)
    return lambda f: NativeFunction(f, contract, inline, shared, rare)
