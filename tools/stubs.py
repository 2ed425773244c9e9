"""What type checkers and editors read of names that are made from tables.

In: the list of public names, the tables of packages whose files load on use, the scalar table and that of inputs. Out:
the texts of `.pyi` files.
"""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType

from consilience import distributions
from consilience.distributions.distribution import DistributionType
from consilience.ops.scalar import TABLE
from consilience.tensor import elementwise, inputs, random

PLACE = Path(elementwise.__file__).parent
_HEAD = '"""Written by `python tools/names.py` from the tables of {module}.py; not to be edited."""\n\n'


def _parameters(arity: int) -> str:
    if not arity:
        return "*xs: TensorLike"
    names = ["x", "y", "z"] if arity < 4 else [f"x{i}" for i in range(arity)]
    return ", ".join(f"{name}: TensorLike" for name in names[:arity]) + ", /, *"


def elementwise_stub() -> str:
    """A line for each public name of a scalar function."""
    lines = [
        f"def {name}({_parameters(TABLE[row].arity)}, name: str | None = None) -> Node: ..."
        for name, row in sorted(elementwise.ROWS.items())
    ]
    head = "from consilience.ir import Node\nfrom consilience.ops.elementwise import TensorLike\n\n"
    head += "ROWS: dict[str, str]\n\n"
    return _HEAD.format(module="elementwise") + head + "\n".join(lines) + "\n"


def inputs_stub() -> str:
    """A line for each public name of a symbolic input, and of several at once."""
    head = """from collections.abc import Sequence
from typing import Protocol

import numpy.typing as npt

from consilience.ir import Dimension, Node

Lengths = Sequence[int | Dimension | None]

class _Input(Protocol):
    def __call__(
        self, name: str | None = None, *, dtype: npt.DTypeLike | None = ..., shape: Lengths | None = None
    ) -> Node: ...

class _Inputs(Protocol):
    def __call__(self, *names: str | int | None) -> list[Node]: ...

def tensor(
    name: str | None = None, *, dtype: npt.DTypeLike | None = None, shape: Lengths = (), broadcastable: None = None
) -> Node: ...

"""
    lines = [f"{word}: _Input\n{inputs.plural(word)}: _Inputs" for word in inputs.WORDS]
    return _HEAD.format(module="inputs") + head + "\n".join(lines) + "\n"


_TYPES = {"axis": "int", "replace": "bool", "endpoint": "bool", "size": "Size"}
"""Parameters of `pt.random` that are no tensors."""


def _drawn(name: str) -> str:
    """The two forms of a function of `pt.random`: a variable, and the next key with it."""
    own = []
    for parameter in inspect.signature(getattr(random, name)).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY:
            continue
        kind = _TYPES.get(parameter.name) or "TensorLike" + " | None" * (parameter.default is None)
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        own.append(f"{parameter.name}: {kind}{default}")
    forms = (
        (["rng: Key | None = None", "return_next_rng: Literal[False] = False"], "Node"),
        (["rng: Key", "return_next_rng: Literal[True]"], "tuple[Node, Node]"),
    )
    return "\n".join(
        "@overload\n" + _laid_out(f"def {name}(", [*own, "*", *keys, "name: str | None = None"], f") -> {made}: ...")
        for keys, made in forms
    )


def _laid_out(before: str, parameters: list[str], after: str) -> str:
    """A head in the layout of `ruff format`: in a line, its parameters in a line, or each in its own."""
    text = ", ".join(parameters)
    if len(before + text + after) <= 120:
        return before + text + after
    if len(text) <= 116:
        return f"{before}\n    {text}\n{after}"
    return before + "".join(f"\n    {parameter}," for parameter in parameters) + f"\n{after}"


def random_stub() -> str:
    """The functions of `pt.random`: two forms for each of the table, the others as they stand in the file."""
    written = [random.shared_rng, random.rng, random.collect_default_updates]
    heads = [re.match(r"def .*?\) -> [^\n]*:\n", inspect.getsource(f), re.DOTALL) for f in written]
    head = """from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

import numpy as np

from consilience.distributions.generator import GraphGenerator
from consilience.ir import Node
from consilience.ops.elementwise import TensorLike
from consilience.ops.random import fold_in as fold_in
from consilience.ops.random import split as split

Key = TensorLike | GraphGenerator
Size = int | Node | Sequence[int | Node] | None

_FUNCTIONS: dict[str, Callable[..., Node]]
__path__: Sequence[str]
__all__: list[str]

"""
    lines = [head_of[0].rstrip() + " ..." for head_of in heads if head_of]
    return _HEAD.format(module="random") + head + "\n".join([*lines, *map(_drawn, sorted(random._FUNCTIONS))]) + "\n"


_SHOWN = {"Any", "Callable", "Dims", "None", "Sequence", "bool", "float", "int", "str"}
"""Words of annotations that the stub of distributions knows; a parameter of another type is shown as Any."""


def _shown(parameter: inspect.Parameter, tensors: frozenset[str]) -> str:
    """A parameter as a stub writes it; those of a distribution, which have no annotation, take tensors."""
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    kind = str(parameter.annotation) if parameter.annotation is not parameter.empty else ""
    if not kind:
        kind = "TensorLike" if parameter.name in tensors else "Any"
        absent = parameter.default is None or parameter.default in (math.inf, -math.inf)
        kind += " | None" if absent and kind != "Any" else ""
    elif not set(re.findall(r"[A-Za-z_]\w*", kind)) <= _SHOWN:
        kind = "Any"
    text = f"{stars}{parameter.name}: {kind}"
    if parameter.default is parameter.empty:
        return text
    plain = parameter.default is None or type(parameter.default) in (bool, int, str)
    finite = type(parameter.default) is float and math.isfinite(parameter.default)
    return f"{text} = {parameter.default!r}" if plain or finite else f"{text} = ..."


def _call(signature: inspect.Signature, tensors: frozenset[str]) -> str:
    """The parameters of a signature."""
    shown, keywords = [], False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not keywords:
            shown.append("*")
        keywords = keywords or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        shown.append(_shown(parameter, tensors))
    return ", ".join(shown)


def _distribution(name: str) -> str:
    """The class of a distribution: what makes its variables, in a model and outside, with parameters by name."""
    cls = getattr(distributions, name)
    forms = cls.parameterizations
    tensors = frozenset(p.name for form in forms for p in form.parameters)
    tensors |= {word for form in forms for alternative in form.alternatives for word in alternative.constraints}
    (summary, *_) = (inspect.getdoc(cls) or "").split("\n\n")
    outside = inspect.signature(cls.dist)
    return (
        f"class {name}(_{name}):\n"
        f"    def __new__(cls, {_call(inspect.signature(cls), tensors)}) -> Node:\n"
        f"        {json.dumps(' '.join(summary.split()), ensure_ascii=False)}\n"
        f"    @classmethod\n"
        f"    def dist(cls, {_call(outside, tensors)}) -> Node: ...\n"
    )


def distributions_stub() -> str:
    """A class for each distribution, an import for each other name of the tables."""
    written = {**distributions.PUBLIC, **distributions.INTERNAL}
    homes = {name: file for file, names in written.items() for name in names.split()}
    bases = {"Distribution", "Continuous", "Discrete"}
    own = [n for n in sorted(homes) if n not in bases and isinstance(getattr(distributions, n), DistributionType)]
    lines = ["from consilience.distributions import dist_math as dist_math"]
    lines += ["from consilience.distributions import transforms as transforms"]
    lines += [
        f"from consilience.distributions.{home} import {name} as {'_' * (name in own)}{name}"
        for name, home in sorted(homes.items())
    ]
    lines += ["from consilience.distributions.distribution import Dims", "from consilience.ir import Node"]
    lines += ["from consilience.ops.elementwise import TensorLike", "", *map(_distribution, own)]
    lines += ["", *(f"{spelling} = {name}" for spelling, name in sorted(distributions.SPELLINGS.items()))]
    head = _HEAD.format(module="__init__")
    head += "# A call makes a variable, and `dist` names its parameters: neither is the base's.\n"
    head += '# mypy: disable-error-code="misc, override"\n\n'
    head += "from collections.abc import Callable, Sequence\nfrom typing import Any\n\n"
    tables = "PUBLIC: dict[str, str]\nINTERNAL: dict[str, str]\nSPELLINGS: dict[str, str]\n"
    return head + "\n".join(lines) + f"\n\n{tables}__all__: list[str]\n"


def package_stub(package: ModuleType) -> str:
    """An import for each name of a package whose files are loaded on use."""
    lines, spellings = [], []
    for name, (place, spelled) in sorted(package.HOMES.items()):
        if spelled != name and package.HOMES.get(spelled) == (place, spelled):
            spellings.append(f"{name} = {spelled}")
            continue
        home, _, module = place.rpartition(".")
        own = name == (spelled or module)  # type checkers take another name for an inner one
        spellings += [] if own else [f"{name} = _{name}"]
        line = f"from {place if spelled else home} import {spelled or module} as {'' if own else '_'}{name}"
        lines.append(line if len(line) <= 120 else line.replace("import ", "import (\n    ") + ",\n)")
    lines += ["", *spellings] if spellings else []
    own = "__version__: str\n" if "__version__" in vars(package) else ""
    head = _HEAD.format(module=package.__name__.rpartition(".")[2])
    return head + "\n".join(lines) + f"\n\n{own}__all__: list[str]\n"


def packages() -> dict[Path, Callable[[], str]]:
    """A stub for each package and module that calls `load_on_use`."""
    root = PLACE.parent
    found = {}
    for path in sorted(root.rglob("*.py")):
        if re.search("^load_on_use\\(", path.read_text(encoding="utf-8"), re.MULTILINE):
            parts = path.relative_to(root).with_suffix("").parts
            package = import_module(".".join(["consilience", *parts]).removesuffix(".__init__"))
            if package.HOMES and set(package.__all__) == package.HOMES.keys():  # checkers read the others
                found[path.with_suffix(".pyi")] = lambda package=package: package_stub(package)
    return found


STUBS = {
    **packages(),
    PLACE.parent / "distributions" / "__init__.pyi": distributions_stub,
    PLACE / "elementwise.pyi": elementwise_stub,
    PLACE / "inputs.pyi": inputs_stub,
    PLACE / "random.pyi": random_stub,
}
