"""Rules by which a stochastic gradient moves the parameters of an approximation, under PyMC's names.

Settings in; a record that says which rule machine code follows out. The loop itself is in `ascent`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from consilience.record import Record

NATURAL: Final = 0
SGD: Final = 1
MOMENTUM: Final = 2
NESTEROV: Final = 3
ADAGRAD: Final = 4
WINDOW: Final = 5
RMSPROP: Final = 6
ADADELTA: Final = 7
ADAM: Final = 8
ADAMAX: Final = 9


class Optimizer(Record):
    """One rule with its settings.

    Parameters
    ----------
    name : str
        For messages.
    rule : int
        Its number in machine code.
    learning_rate : float
        Size of a step.
    first, second : float, default 0.0
        Decay rates, or the momentum.
    epsilon : float, default 0.0
        What keeps a denominator from 0.
    window : int, default 1
        Gradients that are remembered one by one.
    """

    name: str
    rule: int
    learning_rate: float
    first: float = 0.0
    second: float = 0.0
    epsilon: float = 0.0
    window: int = 1

    def memory(self, parameters: int) -> int:
        """Numbers that are kept between steps."""
        return (self.window if self.rule == WINDOW else 2) * parameters


def _made(
    name: str, rule: int, learning_rate: float, loss_or_grads: None = None, params: None = None, **settings: Any
) -> Optimizer:
    if loss_or_grads is not None or params is not None:
        raise TypeError(
            f"`{name}` gives a rule for `pm.fit(obj_optimizer=pm.{name}(learning_rate=…))`, which knows "
            "its loss and its parameters; leave `loss_or_grads` and `params` out."
        )
    for key, value in {"learning_rate": learning_rate, **settings}.items():
        if not np.isfinite(value) or value <= 0.0:
            raise ValueError(f"`{key}` of `{name}` must be a number > 0, got {value!r}.")
    for key in ("first", "second"):
        if settings.get(key, 0.0) >= 1.0:
            raise ValueError(f"decay rates and momentum of `{name}` lie between 0 and 1, got {settings[key]!r}.")
    return Optimizer(name, rule, float(learning_rate), **settings)


def natural_gradient(*, learning_rate: float = 0.5) -> Optimizer:
    """Steps along the natural gradient, at most one standard deviation per coordinate; the default of `pm.fit`.

    learning_rate: 1 would reach the optimum of a normal posterior in one step.
    Returns: For `obj_optimizer` of `pm.fit`.
    See fit: Takes it as `obj_optimizer`.
    Notes: Source: Amari (1998), Natural gradient works efficiently in learning.
    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0])
    ...     fitted = pm.fit(obj_optimizer=pm.natural_gradient(learning_rate=0.2), random_seed=1, progressbar=False)
    >>> type(fitted).__name__
    'MeanField'
    """
    return _made("natural_gradient", NATURAL, learning_rate)


def sgd(loss_or_grads: None = None, params: None = None, learning_rate: float = 1e-3) -> Optimizer:
    """Steps along the gradient (Robbins and Monro 1951).

    loss_or_grads, params, learning_rate : ...
    Returns: For `obj_optimizer` of `pm.fit`.
    See momentum: Gradient steps with momentum (Polyak 1964).
    See nesterov_momentum: Gradient steps with Nesterov's momentum (1983).
    See adam: Moving averages of gradients over those of their squares.
    >>> pm.sgd(learning_rate=0.1) == pm.sgd(learning_rate=0.1)
    True
    """
    return _made("sgd", SGD, learning_rate, loss_or_grads, params)


def momentum(
    loss_or_grads: None = None, params: None = None, learning_rate: float = 1e-3, momentum: float = 0.9
) -> Optimizer:
    """Gradient steps with momentum (Polyak 1964).

    loss_or_grads, params, learning_rate : ...
    momentum: Share of the last step that is kept, between 0 and 1.
    Returns: For `obj_optimizer` of `pm.fit`.
    See nesterov_momentum: Gradient steps with Nesterov's momentum (1983).
    See adam: Moving averages of gradients over those of their squares.
    See sgd: Steps along the gradient (Robbins and Monro 1951).
    >>> pm.momentum(learning_rate=0.1) == pm.momentum(learning_rate=0.1)
    True
    """
    return _made("momentum", MOMENTUM, learning_rate, loss_or_grads, params, first=momentum)


def nesterov_momentum(
    loss_or_grads: None = None, params: None = None, learning_rate: float = 1e-3, momentum: float = 0.9
) -> Optimizer:
    """Gradient steps with Nesterov's momentum (1983).

    loss_or_grads, params, learning_rate : ...
    momentum: Share of the last step that is kept, between 0 and 1.
    Returns: For `obj_optimizer` of `pm.fit`.
    See adam: Moving averages of gradients over those of their squares.
    See sgd: Steps along the gradient (Robbins and Monro 1951).
    See momentum: Gradient steps with momentum (Polyak 1964).
    >>> pm.nesterov_momentum(learning_rate=0.1) == pm.nesterov_momentum(learning_rate=0.1)
    True
    """
    return _made("nesterov_momentum", NESTEROV, learning_rate, loss_or_grads, params, first=momentum)


def adagrad(
    loss_or_grads: None = None, params: None = None, learning_rate: float = 1.0, epsilon: float = 1e-6
) -> Optimizer:
    """Steps over the root of the sum of all squared gradients (Duchi, Hazan and Singer 2011).

    loss_or_grads, params : ...
    learning_rate, epsilon : ...
    Returns: For `obj_optimizer` of `pm.fit`.
    See rmsprop: Steps over the root of a moving average of squared gradients.
    See adagrad_window: As `adagrad`, over the latest gradients.
    See adadelta: As `rmsprop`, times the root of earlier squared steps.
    >>> pm.adagrad(learning_rate=0.1) == pm.adagrad(learning_rate=0.1)
    True
    """
    return _made("adagrad", ADAGRAD, learning_rate, loss_or_grads, params, epsilon=epsilon)


def adagrad_window(
    loss_or_grads: None = None, params: None = None, learning_rate: float = 1e-3, epsilon: float = 0.1, n_win: int = 10
) -> Optimizer:
    """As `adagrad`, over the latest `n_win` squared gradients; PyMC's default.

    loss_or_grads, params : ...
    learning_rate, epsilon : ...
    n_win: Number of past gradients that count.
    Returns: For `obj_optimizer` of `pm.fit`.
    See adagrad: Over all gradients.
    See fit: Takes it as `obj_optimizer`.
    >>> with pm.Model():
    ...     mu = pm.Normal("mu", 0, 1)
    ...     y = pm.Normal("y", mu, 1, observed=[1.0, 2.0])
    ...     fitted = pm.fit(2000, obj_optimizer=pm.adagrad_window(learning_rate=0.01), random_seed=1, progressbar=False)
    >>> type(fitted).__name__
    'MeanField'
    """
    return _made("adagrad_window", WINDOW, learning_rate, loss_or_grads, params, epsilon=epsilon, window=int(n_win))


def rmsprop(
    loss_or_grads: None = None, params: None = None, learning_rate: float = 1.0, rho: float = 0.9, epsilon: float = 1e-6
) -> Optimizer:
    """Steps over the root of a moving average of squared gradients (Tieleman and Hinton 2012).

    loss_or_grads, params, learning_rate : ...
    rho: Share of the past in the running mean of squares, between 0 and 1.
    epsilon : ...
    Returns: For `obj_optimizer` of `pm.fit`.
    See adam: Moving averages of gradients over those of their squares.
    See adamax: As `adam`, over the largest gradient with decay.
    >>> pm.rmsprop(learning_rate=0.1) == pm.rmsprop(learning_rate=0.1)
    True
    """
    return _made("rmsprop", RMSPROP, learning_rate, loss_or_grads, params, first=rho, epsilon=epsilon)


def adadelta(
    loss_or_grads: None = None,
    params: None = None,
    learning_rate: float = 1.0,
    rho: float = 0.95,
    epsilon: float = 1e-6,
) -> Optimizer:
    """As `rmsprop`, times the root of a moving average of squared steps (Zeiler 2012).

    loss_or_grads, params, learning_rate : ...
    rho: Share of the past in the running mean of squares, between 0 and 1.
    epsilon : ...
    Returns: For `obj_optimizer` of `pm.fit`.
    See adagrad: Steps over the root of the sum of squared gradients.
    See rmsprop: Steps over the root of a moving average of squared gradients.
    See adagrad_window: As `adagrad`, over the latest gradients.
    >>> pm.adadelta(learning_rate=0.1) == pm.adadelta(learning_rate=0.1)
    True
    """
    return _made("adadelta", ADADELTA, learning_rate, loss_or_grads, params, first=rho, epsilon=epsilon)


def adam(
    loss_or_grads: None = None,
    params: None = None,
    learning_rate: float = 1e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
) -> Optimizer:
    """Moving averages of gradients over those of their squares (Kingma and Ba 2015).

    loss_or_grads, params, learning_rate : ...
    beta1: Share of the past in the running mean of gradients, between 0 and 1.
    beta2: Share of the past in the running mean of squares, between 0 and 1.
    epsilon : ...
    Returns: For `obj_optimizer` of `pm.fit`.
    See sgd: Steps along the gradient (Robbins and Monro 1951).
    See momentum: Gradient steps with momentum (Polyak 1964).
    See nesterov_momentum: Gradient steps with Nesterov's momentum (1983).
    >>> pm.adam(learning_rate=0.1) == pm.adam(learning_rate=0.1)
    True
    """
    return _made("adam", ADAM, learning_rate, loss_or_grads, params, first=beta1, second=beta2, epsilon=epsilon)


def adamax(
    loss_or_grads: None = None,
    params: None = None,
    learning_rate: float = 2e-3,
    beta1: float = 0.9,
    beta2: float = 0.999,
    epsilon: float = 1e-8,
) -> Optimizer:
    """As `adam`, over the largest gradient with decay (Kingma and Ba 2015).

    loss_or_grads, params, learning_rate : ...
    beta1: Share of the past in the running mean of gradients, between 0 and 1.
    beta2: Share of the past in the running mean of squares, between 0 and 1.
    epsilon : ...
    Returns: For `obj_optimizer` of `pm.fit`.
    See rmsprop: Steps over the root of a moving average of squared gradients.
    See adam: Moving averages of gradients over those of their squares.
    >>> pm.adamax(learning_rate=0.1) == pm.adamax(learning_rate=0.1)
    True
    """
    return _made("adamax", ADAMAX, learning_rate, loss_or_grads, params, first=beta1, second=beta2, epsilon=epsilon)


def optimizer_of(given: Optimizer | Callable[[], Optimizer] | None) -> Optimizer:
    """What `obj_optimizer=` means: a rule, a function such as `pm.adam` that gives one, or the default."""
    found = natural_gradient() if given is None else given if isinstance(given, Optimizer) else None
    if found is None and callable(given):
        found = given()
    if not isinstance(found, Optimizer):
        raise TypeError(f"`obj_optimizer` must be an optimizer such as `pm.adam(learning_rate=0.01)`, got {given!r}.")
    return found
