"""Several kernels that move parts of a position, one after the other: together they are a kernel of the whole.

Kernels with their variables enter. Each sees the density of its block given all others; statistics are those of all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from consilience.errors import SamplingError
from consilience.inference.columns import Columns, joined
from consilience.inference.kernel import Kernel
from consilience.inference.messages import Command, Segment, Window
from consilience.inference.tuner import Reason, Tuner, TuningSetting, Windows, WrappingTuner
from consilience.record import replace


class CompoundStep(Kernel):
    """Several kernels, one transition of each after the other.

    vars, compiled : ...
    methods (tuple of Kernel): The kernels; together they move all variables, each of them once.
    See sample: Makes one of the methods that `step` lists.
    >>> with pm.Model():
    ...     x, y = pm.Normal("x"), pm.Normal("y")
    ...     steps = pm.CompoundStep(methods=(pm.Slice([x]), pm.Metropolis([y])))
    ...     result = pm.sample(step=steps, random_seed=1, progressbar=False)
    >>> result.status
    'converged'
    """

    methods: tuple[Kernel, ...] = ()

    def check(self) -> None:
        """Raise SamplingError for a kernel that cannot share a chain with others."""
        alone = [type(method).__name__ for method in self.methods if method.whole]
        if alone and len(self.methods) > 1:
            raise SamplingError(
                f"{alone[0]} has to move all variables of a model, got it with {len(self.methods) - 1} other step "
                "methods; give it alone, without variables."
            )

    @property
    def fewest_chains(self) -> int:  # type: ignore[override]  # depends on the kernels
        """As many as all of them need."""
        return max((method.fewest_chains for method in self.methods), default=1)

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The kernels, in order."""
        return self.methods

    @property
    def joint(self) -> bool:
        """True: those of the kernels are of their blocks."""
        return True

    @property
    def columns(self) -> Columns:
        """The statistics of all, and the log density of the whole position."""
        return joined([(label, method.columns) for label, method in zip(self.labels, self.methods, strict=True)])

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each kernel: its first variable, numbered where several begin with the same."""
        names = [method.vars[0].replace("::", "_") if method.vars else "rest" for method in self.methods]
        return tuple(name if names.count(name) == 1 else f"{name}_{k}" for k, name in enumerate(names))

    def tuner(self, setting: TuningSetting) -> Tuner | None:
        """The tuner of the one kernel that has one, while the others tune themselves."""
        return delegated(self, setting)


class Delegating(WrappingTuner):
    """A tuner that leaves the chains of a compound step to the tuner of one of its kernels: see `tuner.Tuner`.

    `place`: which kernel it is. `inner`: its tuner, which sees windows of its block and statistics only. `block`: where
    its coordinates lie in the position, int64. `first`, `columns`: where its statistics begin, and how many there are.
    """

    def __init__(self, compound: CompoundStep, setting: TuningSetting, place: int, inner: Tuner) -> None:
        self.inner = inner
        self.count = len(compound.methods)
        self.place = place
        self.chains = setting.chains
        self.block = setting.blocks[place].places
        sizes = [len(method.columns.types) for method in compound.methods]
        self.first, self.columns = sum(sizes[:place]), sizes[place]
        lengths = setting.lengths
        self.length = lengths.max_tune if lengths.tune is None else lengths.tune  # of the other kernels, at most

    def _to_all(self, commands: Sequence[Command], others: Command = None) -> tuple[Command, ...]:
        """Commands for compounds from those for the one kernel."""
        return tuple(tuple(own if k == self.place else others for k in range(self.count)) for own in commands)

    def _own(self, windows: Mapping[int, Window]) -> dict[int, Window]:
        """The windows as the one kernel made them, laid out alike: sums depend on the order in memory."""
        rows = slice(self.first, self.first + self.columns)
        return {
            c: replace(
                w,
                draws=w.draws.take(self.block, axis=1),
                gradients=None if w.gradients is None else w.gradients.take(self.block, axis=1),
                statistics=w.statistics[rows],
            )
            for c, w in windows.items()
        }

    def next(self) -> Segment:
        """What the chains do next, while tuning."""
        segment = self.inner.next()
        anew = None if segment.anew is None else self._to_all((segment.anew,))[0]
        return replace(segment, commands=self._to_all(segment.commands), anew=anew)

    def take(self, windows: Mapping[int, Window]) -> None:
        """Learn from the windows of a segment of tuning."""
        self.inner.take(self._own(windows))

    def sample(self) -> tuple[Command, ...]:
        """Commands with which sampling begins: for all kernels tuning is over."""
        return self._to_all(self.inner.sample(), "sample")

    def between(self, windows: Windows) -> tuple[Command, ...]:
        """Commands at every `interval` draws of sampling."""
        return self._to_all(self.inner.between([self._own(some) for some in windows]))

    def contradicted(self, windows: Windows) -> Reason | None:
        """What the draws so far say against the way they were made."""
        return self.inner.contradicted([self._own(some) for some in windows])

    def again(self, reason: Reason, windows: Windows) -> None:
        """Begin again."""
        self.inner.again(reason, [self._own(some) for some in windows])

    def save(self) -> dict[str, Any]:
        """Its state."""
        return self.inner.save()

    def load(self, state: Mapping[str, Any]) -> None:
        """Take over a state that was saved."""
        self.inner.load(state)


def delegated(compound: CompoundStep, setting: TuningSetting) -> Tuner | None:
    """The tuner of the one kernel that has one; None where several have, or another follows a schedule of its own.

    Raises SamplingError if that leaves a kernel without the other chains that it needs.
    """
    found: list[tuple[int, Tuner]] = []
    for place, method in enumerate(compound.methods):
        own = replace(setting, dimension=setting.blocks[place].dimension, columns=method.columns, curvature=None)
        tuner = method.tuner(own)
        if tuner is not None:
            found.append((place, tuner))
    if len(found) != 1 or any(method.scheduled for method in compound.methods):
        methods = [type(method).__name__ for method in compound.methods]
        population = [type(method).__name__ for method in compound.methods if method.fewest_chains > 1]
        if population:
            raise SamplingError(
                f"{population[0]} lets chains learn from each other, which one step method of a run can do, and none "
                f"beside one with a schedule; got {', '.join(methods)}. Use DEMetropolisZ, whose chains learn each "
                "from itself."
            )
        return None
    return Delegating(compound, setting, *found[0])
