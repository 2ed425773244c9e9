"""Random-walk Metropolis, one transition: state in, state out.

Metropolis et al. (1953) with normal proposals. No gradient is needed; where the density computes one all the
same it is ignored. During tuning the proposal's scale follows the share of accepted proposals.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from consilience.inference.chain_state import State
from consilience.inference.density import Density, evaluate, stopped
from consilience.inference.hamiltonian import copy
from consilience.inference.streams import ACCEPTANCE, PROPOSAL, normal_vector, purpose_key, uniform
from consilience.inference.vectors import Vectors
from consilience.native.mathematics import exp
from consilience.native.typed_python import Array, boolean, f64, i64, native, record

TUNING_INTERVAL = 100  # proposals between two changes of the scale


@record
class Proposal:
    """How proposals are made, and scratch memory for them.

    scale        factor on all deviations, positive; tuned
    deviations   standard deviation of a step per coordinate for scale 1, f64[dimension]
    proposed, accepted   proposals made and accepted since the scale was last changed
    position, gradient   the point proposed, f64[dimension]
    """

    scale: f64
    deviations: Array[f64]
    proposed: i64
    accepted: i64
    position: Array[f64]
    gradient: Array[f64]


@record
class MetropolisInfo:
    """What happened in one transition.

    acceptance   min(1, density at the proposal / density at the start)
    accepted     whether the proposal is the new state
    """

    acceptance: f64
    accepted: boolean


@record
class Metropolis:
    """All that a transition reads and writes."""

    density: Density
    state: State
    proposal: Proposal
    info: MetropolisInfo


def new_metropolis(
    density: Density, state: State, vectors: Vectors, scale: float, deviations: NDArray[np.float64]
) -> Metropolis:
    """All that transitions of `state` need, with fresh scratch memory."""
    proposal = Proposal(
        scale=scale,
        deviations=vectors.vector(deviations),
        proposed=0,
        accepted=0,
        position=vectors.vector(),
        gradient=vectors.vector(),
    )
    return Metropolis(density, state, proposal, MetropolisInfo(0.0, False))


@native
def rescaling(rate: f64) -> f64:
    """Factor for the scale, given the share of accepted proposals; between 20 and 50 % it is left alone."""
    if rate < 0.001:
        return 0.1
    if rate < 0.05:
        return 0.5
    if rate < 0.2:
        return 0.9
    if rate > 0.95:
        return 10.0
    if rate > 0.75:
        return 2.0
    if rate > 0.5:
        return 1.1
    return 1.0


@native
def tune_scale(proposal: Proposal) -> None:
    """Change the scale after every `TUNING_INTERVAL` proposals."""
    if proposal.proposed == TUNING_INTERVAL:
        proposal.scale *= rescaling(float(proposal.accepted) / float(proposal.proposed))
        proposal.proposed = 0
        proposal.accepted = 0


@native
def metropolis_transition(metropolis: Metropolis) -> boolean:
    """Move the state by one transition of Metropolis, and describe it in `metropolis.info`.

    returns   False, with the state as it was, if the run was stopped meanwhile
    """
    state = metropolis.state
    proposal = metropolis.proposal
    info = metropolis.info
    n = state.dimension
    if stopped(metropolis.density):
        return False
    normal_vector(state, PROPOSAL, 0, proposal.position)
    for i in range(n):
        proposal.position[i] = state.position[i] + proposal.scale * proposal.deviations[i] * proposal.position[i]
    logp = evaluate(metropolis.density, proposal.position, proposal.gradient)
    info.acceptance = exp(min(0.0, logp - state.logp))
    choice = uniform(purpose_key(state.key, ACCEPTANCE), state.transition, 0)
    info.accepted = choice < info.acceptance
    proposal.proposed += 1
    if info.accepted:
        copy(proposal.position, state.position, n)
        copy(proposal.gradient, state.gradient, n)
        state.logp = logp
        proposal.accepted += 1
    state.transition += 1
    return True
