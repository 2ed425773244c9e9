"""`pt.random`: random variables by PyTensor's names, by those of NumPy's generator, and keys.

Every function makes the same node as `Normal.dist(...)`: it has a density, and a function that returns it draws it
anew at every call, or with the key that `rng` gives. A key has the functions as methods, which give the next key too:
`next_rng, x = rng.normal()`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final

import numpy as np

from consilience import distributions as pd
from consilience.backends import contexts
from consilience.distributions.generator import METHODS, GraphGenerator, made_with
from consilience.errors import DtypeError
from consilience.first_use import guarded as _guarded
from consilience.first_use import load_on_use as _load_on_use
from consilience.ir import Input, Node, Shared, TensorType, tensor_input, topological
from consilience.ir.arithmetic import known_meaning, means
from consilience.ir.side_tables import describe, set_name
from consilience.ops.elementwise import TensorLike, as_tensor
from consilience.ops.random import fold_in, split


def _gamma(shape: Any, rate: Any = None, scale: Any = None, size: Any = None) -> Node:
    if rate is not None and scale is not None:
        raise TypeError("`gamma` takes `scale` or its reciprocal `rate`, and not both.")
    return pd.Gamma.dist(shape, 1.0 / as_tensor(1.0 if scale is None else scale) if rate is None else rate, size=size)


def _generalised_gamma(alpha: Any = 1.0, p: Any = 1.0, lambd: Any = 1.0, size: Any = None) -> Node:
    power = as_tensor(p)
    standard: Node = pd.Gamma.dist(alpha / power, 1.0, size=size) ** (1.0 / power)
    return as_tensor(lambd) * standard


# PyTensor's functions whose parameters are others than those of NumPy's generator, or their order.
_PYTENSORS: Final[dict[str, Callable[..., Node]]] = {
    "beta": lambda alpha, beta, size=None: pd.Beta.dist(alpha, beta, size=size),
    "dirichlet": lambda alphas, size=None: pd.Dirichlet.dist(alphas, size=size),
    "gamma": _gamma,
    "gengamma": _generalised_gamma,
    "halfcauchy": lambda loc=0.0, scale=1.0, size=None: as_tensor(loc) + pd.HalfCauchy.dist(scale, size=size),
    "halfnormal": lambda loc=0.0, scale=1.0, size=None: as_tensor(loc) + pd.HalfNormal.dist(scale, size=size),
    "multinomial": lambda n, p, size=None: pd.Multinomial.dist(n, p, size=size),
    "nbinom": lambda n, p, size=None: pd.NegativeBinomial.dist(n=n, p=p, size=size),
    "pareto": lambda b, scale=1.0, size=None: pd.Pareto.dist(b, scale, size=size),
    "truncexpon": lambda b, loc=0.0, scale=1.0, size=None: (
        as_tensor(loc) + as_tensor(scale) * pd.Truncated.dist(pd.Exponential.dist(1.0), upper=b, size=size)
    ),
    "weibull": lambda shape, size=None: pd.Weibull.dist(shape, 1.0, size=size),
}
_FUNCTIONS: Final = METHODS | _PYTENSORS
# NumPy's words for parameters of PyTensor's functions.
_NUMPYS: Final = {
    ("beta", "a"): "alpha", ("beta", "b"): "beta", ("dirichlet", "alpha"): "alphas", ("multinomial", "pvals"): "p",
    ("pareto", "a"): "b", ("weibull", "a"): "shape",
}  # fmt: skip

__all__ = ["fold_in", "rng", "shared_rng", "split", *_FUNCTIONS]  # names from the table of methods
__path__: Sequence[str] = ()  # PyTensor's modules below this one are found by their path


def shared_rng(
    value: np.random.Generator | None = None, *, seed: Any = None, name: str | None = None, borrow: bool = False
) -> Node:
    """A shared random key, for functions that say themselves how it goes on: `updates={rng: next_rng}`.

    value: A generator of NumPy's: equal generators give equal draws, which are not those of the generator.
    seed: What `numpy.random.default_rng` takes; None: another one every time.
    name : ...
    borrow: Accepted; a generator that is given is never changed.
    Returns: A shared key, for `rng=` of the functions here.
    See rng: A key as an input.
    See collect_default_updates: Updates of all keys.
    >>> import consilience as pm, consilience.tensor as pt
    >>> key = pt.random.shared_rng(seed=1)
    >>> next_key, x = pt.random.normal(rng=key, return_next_rng=True)
    >>> f = pm.function([], x, updates={key: next_key})
    >>> bool(f() != f())
    True
    """
    if value is not None and seed is not None:
        raise TypeError("`shared_rng` takes a generator or a seed, and not both.")
    if value is not None and not isinstance(value, np.random.Generator):
        raise TypeError(f"`shared_rng` takes a generator of NumPy's, or `seed=`, got {value!r}.")
    return contexts.random_slot(contexts.seed_of(np.random.default_rng(seed) if value is None else value), name)


def rng(name: str | None = None) -> Node:
    """A random key as the input of a function, which takes generators of NumPy's and seeds for it.

    name : ...
    Returns: For `rng=` of the functions here, and among the inputs of a function.
    See shared_rng: A key that a function updates.
    >>> import numpy as np
    >>> import consilience as pm, consilience.tensor as pt
    >>> key = pt.random.rng("key")
    >>> f = pm.function([key], pt.random.normal(rng=key))
    >>> bool(f(np.random.default_rng(1)) == f(np.random.default_rng(1)))
    True
    """
    return tensor_input("key", (), name)


def collect_default_updates(
    outputs: Node | Sequence[Node], *, inputs: Sequence[Node] | None = None, must_be_shared: bool = True
) -> dict[Node, Node]:
    """The next key of every shared random key that outputs depend on, as `updates` of a function or of a loop's step.

    Variables without a key of their own need none: whatever compiles them draws them anew.

    outputs : ...
    inputs: Nodes behind which nothing is looked for.
    must_be_shared: False: keys that are inputs are listed, too.
    Returns: The next key by the key.
    See function: Takes it as `updates`.
    >>> import consilience as pm, consilience.tensor as pt
    >>> key = pt.random.shared_rng(seed=1)
    >>> x = pt.random.normal(rng=key)
    >>> f = pm.function([], x, updates=pm.collect_default_updates(x))
    >>> bool(f() != f())
    True
    """
    listed = [outputs] if isinstance(outputs, Node) else list(outputs)
    there = set(topological(listed, stop=None if inputs is None else set(inputs).__contains__))
    found: dict[Node, Node] = {}
    for node in topological(there):
        if node.type == TensorType("key", ()) and (
            isinstance(node.op, Shared) or (not must_be_shared and isinstance(node.op, Input))
        ):
            following = fold_in(node, -1)
            while following in there:  # it was used as well
                following = fold_in(following, -1)
            found[node] = following
    return found


def _key(rng: TensorLike | GraphGenerator) -> Node:
    if isinstance(rng, GraphGenerator):
        return rng.next_key()
    node = as_tensor(rng)
    if node.dtype != "key":
        raise DtypeError(f"`rng` must be a random key, got {describe(node)}; make one with `pt.key(seed)`.")
    return node


def _public(name: str) -> Callable[..., Any]:
    def function(
        *parameters: Any,
        rng: TensorLike | GraphGenerator | None = None,
        return_next_rng: bool = False,
        **named: Any,
    ) -> Any:
        label = named.pop("name", None)
        given = {_NUMPYS.get((name, word), word): value for word, value in named.items()}
        if return_next_rng and rng is None:
            raise TypeError(f"`{name}` gives the next key behind one that it is given: `rng=pt.random.shared_rng()`.")
        key = None if rng is None else _key(rng)
        made = made_with(key, _FUNCTIONS[name], parameters, given)
        if label is not None:
            set_name(made, label)
        return (fold_in(key, -1), made) if return_next_rng and key is not None else made

    function.__name__ = function.__qualname__ = name
    written = import_module("consilience.tensor.random_documentation")
    shown = function.__dict__["__signature__"] = written.signature(_FUNCTIONS[name])
    function.__doc__ = written.documented(name, shown)
    return function


def __getattr__(name: str) -> Any:
    if name not in _FUNCTIONS:
        raise AttributeError(name)
    found = globals()[name] = _guarded(_public(name))
    return found


@means("method of a random key")
def _method(key: Node, name: str) -> Callable[..., Any]:
    """`key.normal(…)`: the next key and a variable that is drawn with this one."""
    if name not in _FUNCTIONS:
        raise AttributeError(f"a random key has no `{name}`; it has {', '.join(_FUNCTIONS)}.", name=name, obj=key)

    def drawn(*parameters: Any, **named: Any) -> Any:
        of_names = known_meaning("random variable with named dims")
        function = (of_names and of_names(name, parameters, named)) or __getattr__(name)
        return function(*parameters, rng=key, return_next_rng=True, **named)

    return drawn


_load_on_use(__name__, {}, public=True)
