"""`pm.challenge`: attacks on a result, one after the other, until one refutes it or the time is over."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from consilience.distributions.seeds import seed_from
from consilience.errors import SamplingError
from consilience.estimators.refutation import agreement, chains, forward, particles, regions
from consilience.estimators.refutation.attack import Allowance, Attack, tried
from consilience.estimators.refutation.claim import Claim, posterior_of
from consilience.estimators.refutation.report import AttackReport, Challenge, statement_of
from consilience.model.model import Model
from consilience.run.steps import Stepwise
from consilience.run.threads.thread_pool import threads

ATTACKS: Final[Sequence[tuple[str, Attack, float]]] = (
    (agreement.NAME, agreement.chains_among_themselves, 1.0),
    (forward.NAME, forward.independent_draws, 0.5),
    (regions.NAME, regions.more_starting_points, 0.4),
    (chains.OTHER_COORDINATES, chains.other_coordinates, 0.6),
    (particles.NAME, particles.sequential_monte_carlo, 0.6),
    (chains.TEMPERED, chains.tempered, 1.0),
)
"""In order of price per power: name, attack, and the share of what is left of the time that it may take."""


def challenge(
    result: Any,
    *,
    model: Model | None = None,
    max_time: float = 30.0,
    random_seed: Any = None,
    cores: int | None = None,
    progressbar: bool = True,
    callback: Any = None,
    blocking: bool = True,
) -> Any:
    """Try to refute a posterior by independent checks, and say how large an error they would have detected.

    Checks run in order of power per cost until one refutes the draws: comparison of the chains; the model's own draws,
    if it has no data; further starting points, from the prior and far away; chains that start at the draws and take
    small steps in other coordinates; sequential Monte Carlo; tempered chains. Correct draws are refuted in fewer than
    one of a hundred challenges, however many scalars there are.

    result (DataTree): Of `pm.sample` with whatever status, of a store or file, of PyMC or any other library: with a
        group `posterior` that has all free variables of the model.
    model: Of the draws; that which was sampled, where the result knows it, or the one around.
    max_time: Seconds, above 0.
    random_seed (int, sequence of int or Generator): As for `pm.sample`. With the same seed the same attacks find the
        same, where they have the time.
    cores: Greatest number of threads; all processors by default.
    progressbar : ...
    callback: Called with `consilience.events.StepProgress` between attacks.
    blocking: False returns at once with a handle, whose `wait()` gives the challenge.
    Returns: A `Challenge`: `refuted`, `statement`, `attempts` with what was tried, found, and could have been seen;
        after Ctrl-C of the attacks made until then.
    Raises ModelError: Where there is no model, the draws are not of it, or a discrete variable cannot be summed out.
    Raises SamplingError: For a time out of range, or hardly any draws.
    See report: A readable account of a run of `pm.sample`.
    See sample: Draw from the posterior of a model with the No-U-Turn Sampler.

    Examples
    --------
    with pm.Model() as model:
        pm.Normal("y", pm.Normal("mu"), 1.0, observed=[0.1, 0.5])
        result = pm.sample(random_seed=1)
    print(result.challenge(max_time=10, random_seed=1))
    """
    if isinstance(max_time, bool) or not isinstance(max_time, int | float | np.number) or not max_time > 0:
        raise SamplingError(f"`max_time` must be a number of seconds above 0, got {max_time!r}.")
    began = time.perf_counter()
    claim = Claim(result, model, threads(cores))
    status = str(posterior_of(result).attrs.get("status", ""))
    run = _Portfolio(claim, status, float(max_time), began, seed_from(random_seed), progressbar, callback)
    return run.delivered(blocking)


class _Portfolio(Stepwise[Challenge]):
    """The attacks at work."""

    def __init__(
        self,
        claim: Claim,
        status: str,
        max_time: float,
        began: float,
        seed: int,
        progressbar: bool,
        callback: Any,
    ) -> None:
        super().__init__(progressbar, callback)
        self.claim, self.status, self.seed, self.start = claim, status, seed, began
        self.until = began + max_time
        self.attempts: list[AttackReport] = []
        self.ended = ""
        self.at = 0

    def work(self) -> None:
        """One attack after the other."""
        for number, (name, attack, share) in enumerate(ATTACKS):
            left = self.until - time.perf_counter()
            if not self.step_and_tell():
                self.ended = " It was stopped before the end."
                return
            if left <= 0:
                self.ended = f" The time was over before {name}."
                return
            seed = int(np.random.SeedSequence([self.seed & (2**64 - 1), number]).generate_state(1, np.uint32)[0])
            allowance = Allowance(time.perf_counter() + share * left, seed, self.step_and_tell)
            attempt = tried(name, attack, self.claim, allowance)
            self.at = number + 1
            if attempt is not None:
                self.attempts.append(attempt)
                if attempt.refuted:
                    return
        if self.stopping:
            self.ended = " It was stopped before the end."

    def result(self) -> Challenge:
        """What was tried."""
        return self.so_far()

    def so_far(self) -> Challenge:
        """What was tried until now."""
        attempts = tuple(self.attempts)
        summed = ", ".join(f"`{name}`" for name in self.claim.summed)
        unseen = f" {summed} was summed out of the model, and its draws were not attacked." if summed else ""
        labels = ", ".join(f"`{name}`" for name in self.claim.exchanged)
        unseen += f" The labels of {labels} can be exchanged: draws of one labelling stand for all." if labels else ""
        return Challenge(
            any(a.refuted for a in attempts),
            statement_of(attempts, self.status, self.ended) + unseen,
            attempts,
            time.perf_counter() - self.start,
            self.seed,
        )

    def where(self) -> tuple[int, int, str]:
        """How many attacks were made, and the one at work."""
        last = len(ATTACKS) - 1
        return (
            self.at,
            len(ATTACKS),
            f"attack {min(self.at, last) + 1} of {len(ATTACKS)} · {ATTACKS[min(self.at, last)][0]}",
        )
