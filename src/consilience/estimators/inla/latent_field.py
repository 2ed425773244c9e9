"""A model's log density as a function of a latent normal block and of hyperparameters, with its derivatives.

A model and the names of the block in; compiled code, what is known of the model's form, and where coordinates lie out.
What has the block in it and is not its prior counts as likelihood.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from consilience.backends.registry import backend as find_backend
from consilience.collection import collection_paused
from consilience.elimination.addends import total
from consilience.errors import ModelError
from consilience.estimators.approximations.target import TargetDensity, Variables
from consilience.estimators.inla.precision import Structure, structure_of
from consilience.ir import Node, constant, substitute, tensor_input, topological
from consilience.ir.side_tables import without_sources
from consilience.lower.specialise import specialise
from consilience.model.model import Model
from consilience.model.observation import slot_values
from consilience.model.programs import kept
from consilience.model.value_graphs import terms_over_values
from consilience.ops.shape import concatenate, reshape
from consilience.rewrite.rules import simplify
from consilience.transforms.gradient import gradient

Floats = npt.NDArray[np.float64]
MOST_HYPERPARAMETERS: Final = 15
CHUNK: Final = 256  # products at once
SAME: Final = 1e-7  # relative difference of curvatures that are equal
DISTANCES: Final = (0.3, 3.0)  # of points at which curvatures are compared


class LatentField:
    """The log density of `latent` and all other variables, on the unconstrained scale.

    `target`: the density of the whole model.
    `names`: of the block's variables.
    `places`: of the block's coordinates x in a whole position, int64[n].
    `others`: of the hyperparameters' coordinates theta, int64[d].
    `structure`: where the matrix of second derivatives has entries.
    Raises ModelError where the block has no normal prior given the hyperparameters, or these are too many.
    """

    def __init__(self, target: TargetDensity, latent: Variables) -> None:
        self.target = target
        model, layout = target.model, target.density.layout
        self.names = _latent_names(model, latent)
        own = [np.arange(s.start, s.start + s.size) for s in layout.stretches if s.variable.name in self.names]
        self.places = np.concatenate(own)
        self.others = np.setdiff1d(np.arange(layout.dimension), self.places)
        if not len(self.places):
            raise ModelError(f"the latent variables {_listed(self.names)} have no elements.")
        if len(self.others) > MOST_HYPERPARAMETERS:
            sizes = [f"`{s.variable.name}` ({s.size})" for s in layout.stretches if s.variable.name not in self.names]
            raise ModelError(
                f"there are {len(self.others)} hyperparameters, and integrals over more than {MOST_HYPERPARAMETERS} "
                f"are not to be had by a design of points: {', '.join(sizes)}. Name those that are normal, such as "
                "coefficients, in `latent` too, or use `pm.sample`."
            )
        key = tuple(self.names), tuple(a.shape for a in slot_values(model)[1])
        code = kept(model.cache, "latent field", key, lambda: _FieldCode(self))
        _, data, _, _ = slot_values(model)
        self._values, self._products, self._slopes, self._prior = (c.bind(data) for c in code.compiled)
        self._is_normal(code.quadratic)
        self.structure = self._structure()

    @property
    def size(self) -> int:
        """Number of the block's coordinates."""
        return len(self.places)

    def position(self, x: Floats, theta: Floats) -> Floats:
        """Both as a whole position; leading axes are draws."""
        whole = np.empty((*x.shape[:-1], self.size + len(self.others)))
        whole[..., self.places], whole[..., self.others] = x, theta
        return whole

    def values(self, x: Floats, theta: Floats) -> tuple[float, Floats, Floats]:
        """Log density, -inf where it has no value, and its slopes along x and theta."""
        (logp, along_x, along_theta), status = self._values.map([(x, False), (theta, False)], 1)
        bad = status or not np.isfinite(logp[0]) or not np.isfinite(along_x[0]).all()
        return (-np.inf if bad else float(logp[0])), along_x[0], along_theta[0]

    def products(self, x: Floats, theta: Floats, vectors: Floats) -> tuple[Floats, Floats]:
        """Second derivatives times vectors v, float64[count, n]: along x, and those along theta of slope'v."""
        (along_x, along_theta), _ = self._products.map(
            [(x, False), (theta, False), (np.ascontiguousarray(vectors), True)], len(vectors)
        )
        return along_x, along_theta

    def slopes(self, x: Floats, theta: Floats, left: Floats, right: Floats) -> tuple[Floats, Floats]:
        """Slopes along x and theta of u'Hv with the second derivatives H along x, for each pair of vectors."""
        (along_x, along_theta), _ = self._slopes.map(
            [(x, False), (theta, False), (np.ascontiguousarray(left), True), (np.ascontiguousarray(right), True)],
            len(left),
        )
        return along_x, along_theta

    def coordinate(self, index: int) -> str:
        """The name of a coordinate of the block."""
        return self.target.density.layout.coordinate(int(self.places[index]))

    def described(self, theta: Floats) -> str:
        """Values of the hyperparameters, for messages."""
        layout = self.target.density.layout
        return (
            ", ".join(f"{layout.coordinate(int(p))} = {v:.4g}" for p, v in zip(self.others, theta, strict=True))
            or "no hyperparameters"
        )

    def start(self) -> tuple[Floats, Floats]:
        """The model's starting point."""
        return self.target.start[self.places].copy(), self.target.start[self.others].copy()

    def _is_normal(self, proven: bool) -> None:
        """Raise unless the second derivatives of the prior along x are the same wherever they are taken."""
        if proven:
            return
        x, theta = self.start()
        generator = np.random.Generator(np.random.Philox(key=[1, 2]))
        vector = generator.standard_normal((1, self.size))
        found = []
        for width in (0.0, *DISTANCES):
            point = x + width * generator.standard_normal(self.size)
            (product,), _ = self._prior.map([(point, False), (theta, False), (vector, True)], 1)
            found.append(product[0])
        scale = max((float(np.abs(f).max()) for f in found if np.isfinite(f).all()), default=0.0)
        for other in found[1:]:
            wrong = ~(np.abs(other - found[0]) <= SAME * max(scale, 1e-300))
            if wrong.any():
                raise ModelError(
                    f"the prior of the latent variables is not normal: its curvature along "
                    f"`{self.coordinate(int(np.argmax(wrong)))}` depends on their values. `latent` needs "
                    "variables that are normal given all others (`Normal`, `MvNormal`, `GaussianRandomWalk`, `AR`, "
                    "`CAR`, `ICAR`); leave it out of `latent`, or use `pm.sample`."
                )

    def _structure(self, at: tuple[Floats, Floats] | None = None) -> Structure:
        """From the entries that are not zero at some point; `Conditional` checks it wherever it is used."""
        from scipy import sparse

        x, theta = self.start() if at is None else at
        generator = np.random.Generator(np.random.Philox(key=[3, 4]))
        points = [(x, theta)]
        if at is None:
            near = x + 0.1 * generator.standard_normal(self.size), theta + 0.1 * generator.standard_normal(len(theta))
            points += [near] if np.isfinite(self.values(*near)[0]) else []
        parts = []
        for first in range(0, self.size, CHUNK):
            count = min(CHUNK, self.size - first)
            units = np.zeros((count, self.size))
            units[np.arange(count), first + np.arange(count)] = 1.0
            there = sum((self.products(*p, units)[0] != 0.0).astype(float) for p in points) + units
            parts.append(sparse.csr_matrix(there != 0.0))
        pattern = sparse.vstack(parts, format="csr")
        return structure_of((pattern + pattern.T).tocsr())

    def look_again(self, x: Floats, theta: Floats) -> None:
        """Take the pattern at another point, where the one there is lacks entries."""
        self.structure = self._structure((x, theta))


class _FieldCode:
    """What is compiled once per model, block and data shapes.

    `compiled`: values and slopes; products with second derivatives; slopes of quadratic forms of these; products with
    the second derivatives of the block's prior. `quadratic`: whether the graph of the last has none of the block's
    values in it.
    """

    def __init__(self, field: LatentField) -> None:
        model, layout = field.target.model, field.target.density.layout
        slots, _, _, lengths = slot_values(model)
        with without_sources(), collection_paused():
            terms = terms_over_values(model)
            values = list(terms.values)
            mine = [s.variable.name in field.names for s in layout.stretches]
            block = [v for v, own in zip(values, mine, strict=True) if own]
            rest = [v for v, own in zip(values, mine, strict=True) if not own]
            _check_hierarchy(model, terms.priors, block, mine)
            first = [tensor_input("float64", v.static_shape) for v in block]
            second = [tensor_input("float64", v.static_shape) for v in block]
            (logp,) = simplify([total(terms.all)], keep=values)
            slopes = gradient(logp, values)
            of_block = [s for s, own in zip(slopes, mine, strict=True) if own]
            along = _dot(of_block, first)
            products = gradient(along, values)
            form = _dot([p for p, own in zip(products, mine, strict=True) if own], second)
            slopes_of_form = gradient(form, values)
            (prior,) = simplify([total([p for p, own in zip(terms.priors, mine, strict=True) if own])], keep=values)
            curvature = gradient(_dot(gradient(prior, block), first), block)

            everything = [logp, *slopes, *products, *slopes_of_form, *curvature]
            simple = simplify(everything, keep=[*values, *first, *second])
            k = len(values)
            self.quadratic = set(block).isdisjoint(topological(simple[1 + 3 * k :]))
            leaves = [*values, *first, *second, *slots]
            static, memo = specialise([*simple, *leaves], lengths)
            x, theta, u, v = (
                tensor_input("float64", (n,), name)
                for n, name in (
                    (field.size, "x"),
                    (len(field.others), "theta"),
                    (field.size, "u"),
                    (field.size, "v"),
                )
            )
            stretches = [s for s, own in zip(layout.stretches, mine, strict=True) if own]
            free = [s for s, own in zip(layout.stretches, mine, strict=True) if not own]
            replaced: dict[Node, Node] = {}
            for nodes, vector, parts in (
                (block, x, stretches),
                (rest, theta, free),
                (first, u, stretches),
                (second, v, stretches),
            ):
                place = 0
                for node, s in zip(nodes, parts, strict=True):
                    replaced[memo[node]] = reshape(vector[place : place + s.size], s.shape)
                    place += s.size
            done = substitute(static[: len(simple)], replaced)
            flags = np.array(mine)

            def split(group: Sequence[Node]) -> list[Node]:
                return [
                    _flat([g for g, own in zip(group, flags, strict=True) if own]),
                    _flat([g for g, own in zip(group, flags, strict=True) if not own]),
                ]

            data = [memo[s] for s in slots]
            compile_graph = find_backend("llvm")
            self.compiled = (
                compile_graph([x, theta], [done[0], *split(done[1 : 1 + k])], {}, data),
                compile_graph([x, theta, u], split(done[1 + k : 1 + 2 * k]), {}, data),
                compile_graph([x, theta, u, v], split(done[1 + 2 * k : 1 + 3 * k]), {}, data),
                compile_graph([x, theta, u], [_flat(done[1 + 3 * k :])], {}, data),
            )


def _flat(parts: Sequence[Node]) -> Node:
    flat = [reshape(p, (-1,)) for p in parts]
    return constant(np.zeros(0)) if not flat else flat[0] if len(flat) == 1 else concatenate(flat)


def _dot(left: Sequence[Node], right: Sequence[Node]) -> Node:
    return total([a * b for a, b in zip(left, right, strict=True)])


def _latent_names(model: Model, latent: Variables) -> list[str]:
    listed: list[Any] = [] if latent is None else [latent] if isinstance(latent, Node | str) else list(latent)
    known = {key: v.name for v in model.free for key in (v.name, v.node, v.value)}
    unknown = [v for v in listed if v not in known]
    if unknown or not listed:
        wrong = f"names {getattr(unknown[0], 'name', unknown[0])!r}" if unknown else "is empty"
        raise ModelError(
            f"`latent` {wrong}; it needs the names of the variables that are normal given all others, of "
            f"{_listed([v.name for v in model.free])}."
        )
    own = {known[v] for v in listed}
    return [v.name for v in model.free if v.name in own]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{n}`" for n in names)


def _check_hierarchy(model: Model, priors: Sequence[Node], block: Sequence[Node], mine: Sequence[bool]) -> None:
    """Hyperparameters have priors of their own."""
    for variable, prior, own in zip(model.free, priors, mine, strict=True):
        if not own and not set(block).isdisjoint(topological([prior])):
            raise ModelError(
                f"the prior of `{variable.name}` depends on the latent variables; name it in `latent` too if it is "
                "normal given all others, otherwise use `pm.sample`."
            )
