"""What users may write: positions, names, aliases, shapes, dims, data, and what they are told otherwise."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext

import numpy as np
import pytest
from numpy.testing import assert_allclose

import consilience.distributions as pd
from consilience.backends.function import function
from consilience.distributions import context, transforms
from consilience.distributions.context import DEFAULT
from consilience.errors import ModelError, ParameterError, ShapeError
from consilience.ir import tensor_input
from tests.distributions.cases import value_of

M, S = 0.3, 0.2
K = M * (1 - M) / S**2 - 1

SAME = [
    (pd.Normal.dist(1, 0.5), pd.Normal.dist(1, tau=4.0)),
    (pd.Normal.dist(), pd.Normal.dist(0, 1)),
    (pd.Normal.dist(1.0, None, 4.0), pd.Normal.dist(mu=1, sigma=0.5)),
    (pd.HalfNormal.dist(0.5), pd.HalfNormal.dist(tau=4.0)),
    (pd.LogNormal.dist(1, 0.5), pd.Lognormal.dist(1, tau=4.0)),
    (pd.StudentT.dist(3, 1, 0.5), pd.StudentT.dist(3, 1, lam=4.0)),
    (pd.Exponential.dist(4), pd.Exponential.dist(scale=0.25)),
    (pd.Gamma.dist(4, 2), pd.Gamma.dist(mu=2, sigma=1)),
    (pd.Gamma.dist(4, 2), pd.Gamma.dist(None, None, 2, 1)),
    (pd.InverseGamma.dist(6, 10), pd.InverseGamma.dist(mu=2, sigma=1)),
    (pd.Beta.dist(M * K, (1 - M) * K), pd.Beta.dist(mu=M, sigma=S)),
    (pd.Beta.dist(0.6, 1.4), pd.Beta.dist(mu=M, nu=2)),
    (pd.Beta.dist(0.6, 1.4), pd.Beta.dist(None, None, M, None, 2)),
    (pd.Bernoulli.dist(0.8), pd.Bernoulli.dist(logit_p=np.log(4))),
    (pd.Binomial.dist(5, 0.8), pd.Binomial.dist(5, logit_p=np.log(4))),
    (pd.NegativeBinomial.dist(3, 2), pd.NegativeBinomial.dist(p=0.4, n=2)),
    (pd.NegativeBinomial.dist(3, 2), pd.NegativeBinomial.dist(mu=3, n=2)),
    (pd.NegativeBinomial.dist(3, 2), pd.NegativeBinomial.dist(p=0.4, alpha=2)),
    (pd.NegativeBinomial.dist(3, 2), pd.NegativeBinomial.dist(None, None, 0.4, 2)),
    (pd.Categorical.dist([0.2, 0.8]), pd.Categorical.dist(logit_p=[0, np.log(4)])),
]


@pytest.mark.parametrize(("left", "right"), SAME, ids=lambda rv: repr(rv.op))
def test_aliases_are_the_same_distribution(left, right) -> None:
    """Densities and moments agree."""
    values = np.array([0, 1]) if left.dtype == "int64" else np.array([0.1, 0.4, 0.9])
    assert_allclose(value_of(pd.logp(left, values)), value_of(pd.logp(right, values)), rtol=1e-12)
    assert_allclose(value_of(pd.mean(left)), value_of(pd.mean(right)), rtol=1e-12)


def test_aliases_work_with_symbols() -> None:
    """Conversions are graphs."""
    tau = tensor_input("float64", (), "tau")
    assert_allclose(
        value_of(pd.logp(pd.Normal.dist(0, tau=tau), 1.0), {tau: 4.0}),
        value_of(pd.logp(pd.Normal.dist(0, 0.5), 1.0)),
    )
    with pytest.raises(ParameterError, match="Normal: sigma must be > 0, got nan"):
        value_of(pd.logp(pd.Normal.dist(0, tau=tau), 1.0), {tau: -4.0})


WRONG_COMBINATIONS = [
    (lambda: pd.Normal.dist(0, 1, tau=1), r"\(mu=0, sigma=1\) or \(mu=0, tau\); got mu, sigma, tau"),
    (lambda: pd.Normal.dist(scale=1), r"no parameter `scale` \(did you mean `sigma`\?\); its parameters are mu, sigma"),
    (lambda: pd.Normal.dist(0, mu=1), "Normal got `mu` twice, by position and by name"),
    (lambda: pd.Normal.dist(0, 1, 2, 3), r"Normal takes at most 3 parameters \(mu, sigma, tau\), got 4"),
    (lambda: pd.Gamma.dist(alpha=1), r"accepts the parameters \(alpha, beta\) or \(mu, sigma\); got alpha"),
    (lambda: pd.Gamma.dist(), "got none"),
    (lambda: pd.Beta.dist(mu=0.5), r"\(alpha, beta\) or \(mu, sigma\) or \(mu, nu\); got mu"),
    (lambda: pd.Exponential.dist(1, scale=1), r"accepts the parameters \(lam=1\) or \(scale\); got lam, scale"),
    (lambda: pd.Bernoulli.dist(), r"Bernoulli accepts the parameters \(p\) or \(logit_p\); got none"),
    (lambda: pd.Binomial.dist(p=0.5), r"\(n, p\) or \(n, logit_p\); got p"),
    (lambda: pd.NegativeBinomial.dist(mu=1, p=0.5), r"\(p, n\) or \(alpha, p\) or \(mu, n\); got mu, p"),
    (lambda: pd.StudentT.dist(), r"\(nu, mu=0, sigma=1\) or \(nu, mu=0, lam\); got none"),
    (lambda: pd.Flat.dist(1), r"Flat takes at most 0 parameters \(\), got 1"),
    (lambda: pd.Flat.dist(mu=1), "Flat has no parameter `mu`; its parameters are none"),
    (lambda: pd.Normal.dist(0, 1, shape=2, size=2), "give `shape` .* or `size` .*, not both"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "message"), WRONG_COMBINATIONS)
def test_wrong_combinations_list_the_right_ones(make, message) -> None:
    """Too many, too few, unknown, twice."""
    with pytest.raises(TypeError, match=message):
        make()


OUT_OF_RANGE = [
    (lambda: pd.Normal.dist(0, -1.0), r"Normal: sigma must be > 0, got -1\.0\.$"),
    (lambda: pd.Normal.dist(0, [1, 2, 3, -1.0]), r"Normal: sigma must be > 0, got -1\.0 \(element 3\)\."),
    (lambda: pd.Normal.dist(0, [[1, 2], [0, 3]]), r"sigma must be > 0, got 0\.0 \(element 1, 0\)"),
    (lambda: pd.Normal.dist(0, np.nan), "sigma must be > 0, got nan"),
    (lambda: pd.Normal.dist(0, np.inf), "sigma must be > 0, got inf"),
    (lambda: pd.Normal.dist(np.nan, 1), "mu must be a finite number, got nan"),
    (lambda: pd.Normal.dist(0, tau=-1), "tau must be > 0, got -1"),
    (lambda: pd.Gamma.dist(mu=1, sigma=-1), "Gamma: sigma must be > 0, got -1"),
    (lambda: pd.Beta.dist(mu=0.5, sigma=0.9), "alpha must be > 0, got -0.3456.*, computed from mu and sigma"),
    (lambda: pd.Beta.dist(mu=1.5, nu=1), "Beta: mu must be > 0 and < 1, got 1.5"),
    (lambda: pd.Uniform.dist(1, 0), "Uniform: upper must be > lower, got 0"),
    (lambda: pd.Uniform.dist([0, 1], [1, 1]), r"Uniform: upper must be > lower, got 1\.0 \(element 1\)"),
    (lambda: pd.Bernoulli.dist(1.2), "Bernoulli: p must be >= 0 and <= 1, got 1.2"),
    (lambda: pd.Binomial.dist(2.5, 0.5), "Binomial: n must be a whole number >= 0, got 2.5"),
    (lambda: pd.Binomial.dist(-1, 0.5), "n must be a whole number >= 0, got -1"),
    (lambda: pd.Poisson.dist(-1), "Poisson: mu must be >= 0, got -1"),
    (lambda: pd.NegativeBinomial.dist(p=0, n=1), "p must be > 0 and <= 1, got 0"),
    (lambda: pd.StudentT.dist(0), "StudentT: nu must be > 0, got 0"),
    (lambda: pd.Categorical.dist(0.5), "p must be a vector or a batch of them, got rank 0"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "message"), OUT_OF_RANGE)
def test_constants_out_of_range_are_refused_with_their_place(make, message) -> None:
    """Name of distribution and parameter, the rule, the value, its element."""
    with pytest.raises(ParameterError, match=message):
        make()


def test_limits_of_ranges_are_accepted() -> None:
    """A rate of zero, certain success, no trials."""
    assert value_of(pd.logp(pd.Poisson.dist(0), 0)) == 0.0
    assert value_of(pd.logp(pd.Bernoulli.dist(1.0), 1)) == 0.0
    assert value_of(pd.logp(pd.Bernoulli.dist(0.0), 1)) == -np.inf
    assert value_of(pd.logp(pd.Binomial.dist(0, 0.3), 0)) == 0.0
    assert value_of(pd.logp(pd.NegativeBinomial.dist(p=1.0, n=3), 0)) == 0.0


def test_shapes_follow_from_parameters_shape_and_size() -> None:
    """Events keep their axes; lengths may be symbolic."""
    n = tensor_input("float64", (None,), "x").static_shape[0]
    mu = tensor_input("float64", (n,), "mu")
    shapes = [
        (pd.Normal.dist([1, 2, 3], [[1], [2]]), (2, 3)),
        (pd.Normal.dist(0, 1, shape=3), (3,)),
        (pd.Normal.dist([0, 1], 1, shape=(4, 2)), (4, 2)),
        (pd.Normal.dist([0, 1], 1, size=(4, 2)), (4, 2)),
        (pd.Normal.dist(0, 1, shape=()), ()),
        (pd.Normal.dist(mu, 1), (n,)),
        (pd.Normal.dist(mu, 1, shape=(2, n)), (2, n)),
        (pd.Normal.dist(0, 1, shape=(0,)), (0,)),
        (pd.Dirichlet.dist([1, 1, 1], shape=(5, 3)), (5, 3)),
        (pd.Dirichlet.dist([1, 1, 1], size=5), (5, 3)),
        (pd.MvNormal.dist(0, np.eye(2), shape=(3, 2)), (3, 2)),
        (pd.Categorical.dist([[0.5, 0.5], [0.1, 0.9]], shape=(3, 2)), (3, 2)),
    ]
    for rv, shape in shapes:
        assert rv.static_shape == shape
    with pytest.raises(ShapeError, match=r"Normal: parameters of batch shape \(3,\) do not fit the shape \(2,\)"):
        pd.Normal.dist([1, 2, 3], shape=2)
    with pytest.raises(ShapeError, match=r"Normal: shapes \(2,\), \(3,\) do not broadcast"):
        pd.Normal.dist([1, 2], [1, 2, 3])
    with pytest.raises(ShapeError, match=r"Dirichlet: the shape \(\) must end with the shape of one event, \(3,\)"):
        pd.Dirichlet.dist([1, 1, 1], shape=())


def test_symbolic_shapes_are_owed() -> None:
    """What cannot be proved of lengths when a variable is made is checked when a function is called."""
    mu = tensor_input("float64", (None,), "mu")
    value = tensor_input("float64", (None,), "value")
    rv = pd.Normal.dist(mu, 1, shape=4)
    (owed,) = rv.op.shape_constraints(*rv.inputs)
    assert (owed.left, owed.right) == (mu.static_shape[0], 4)
    compiled = function([mu, value], pd.logp(rv, value), backend="reference")
    assert compiled(np.zeros(4), np.zeros(4)).shape == (4,)
    with pytest.raises(ShapeError):
        compiled(np.zeros(3), np.zeros(4))


class Recorder:
    """A context that keeps what it is given."""

    def __init__(self, **lengths) -> None:
        self.lengths = lengths
        self.seen = []
        self.named = {}

    def given_data(self, name, observed, *rest):
        return observed if observed is None or hasattr(observed, "shape") else np.asarray(observed)

    def register(self, name, node, **arguments):
        self.seen.append((name, node, arguments))
        return node

    def lengths_of(self, dims):
        return [self.lengths.get(d) for d in dims]


@contextmanager
def entered(recorder):
    """`recorder` is the innermost context inside."""
    context.push(recorder)
    try:
        yield
    finally:
        context.pop()


def call(make, **lengths):
    """What a context receives."""
    recorder = Recorder(**lengths)
    with entered(recorder):
        returned = make()
    assert len(recorder.seen) == 1
    name, node, arguments = recorder.seen[0]
    assert returned is node
    return name, node, arguments


def test_a_named_variable_goes_to_the_innermost_context() -> None:
    """With everything that is the model's business."""
    name, node, arguments = call(lambda: pd.Normal("x", 0, 1, initval=3.0))
    assert (name, node.static_shape) == ("x", ())
    assert arguments == {
        "observed": None,
        "dims": None,
        "transform": DEFAULT,
        "initval": 3.0,
    }
    outer, inner = Recorder(), Recorder()
    with entered(outer), entered(inner):
        pd.Normal("x")
        assert context.current() is inner
    assert not outer.seen
    assert context.current_or_none() is None


def test_dims_give_the_shape() -> None:
    """Known lengths first; unknown ones from data."""
    _, node, arguments = call(lambda: pd.Normal("x", 0, 1, dims="school"), school=8)
    assert node.static_shape == (8,)
    assert arguments["dims"] == ("school",)
    _, node, _ = call(lambda: pd.Normal("x", 0, 1, dims=("a", "b"), observed=np.zeros((2, 3))), a=2)
    assert node.static_shape == (2, 3)
    with pytest.raises(ModelError, match="Normal `x`: the dim 'b' has no length; add it to the model's coords"):
        call(lambda: pd.Normal("x", dims=("a", "b")), a=2)
    with pytest.raises(ShapeError, match=r"data of shape \(3,\) need 1 dims, got \('a', 'b'\)"):
        call(lambda: pd.Normal("x", dims=("a", "b"), observed=[1, 2, 3]), a=2, b=3)
    with pytest.raises(TypeError, match="dims are names, got"):
        call(lambda: pd.Normal("x", dims=[1]))


def test_data_give_the_shape() -> None:
    """As PyMC does: parameters broadcast to the data, never the other way."""
    assert call(lambda: pd.Normal("y", 0, 1, observed=[1, 2, 3]))[1].static_shape == (3,)
    assert call(lambda: pd.Normal("y", [0, 1, 2], 1, observed=np.zeros((2, 3))))[1].static_shape == (2, 3)
    slot = tensor_input("float64", (None,), "data")
    assert call(lambda: pd.Normal("y", 0, 1, observed=slot))[1].static_shape == slot.static_shape
    with pytest.raises(ShapeError, match=r"parameters of batch shape \(8,\) do not fit the shape \(8, 1\)"):
        call(lambda: pd.Normal("y", np.zeros(8), 1, observed=np.zeros((8, 1))))


def test_transforms_are_resolved() -> None:
    """A user's transform comes after the default one; None switches off."""
    seen = [
        (lambda: pd.HalfNormal("x"), DEFAULT),
        (lambda: pd.HalfNormal("x", transform=None), None),
        (lambda: pd.HalfNormal("x", default_transform=None), None),
        (lambda: pd.Normal("x", transform=transforms.ordered), transforms.ordered),
        (
            lambda: pd.HalfNormal("x", transform=transforms.ordered),
            transforms.chain(transforms.log, transforms.ordered),
        ),
        (lambda: pd.HalfNormal("x", transform=transforms.log, default_transform=None), transforms.log),
        (lambda: pd.HalfNormal("x", default_transform=transforms.Interval(0, 5)), transforms.Interval(0, 5)),
    ]
    for make, wanted in seen:
        assert call(make)[2]["transform"] == wanted


def test_names_must_be_texts_and_models_must_exist() -> None:
    """Each error says what to write instead."""
    with pytest.raises(ModelError, match=r"No model on context stack: use `with pm.Model\(\):` or `Normal.dist"):
        pd.Normal("x")
    with pytest.raises(TypeError, match=r"Normal: the first argument is the variable's name, got 0; use `Normal.dist"):
        pd.Normal(0, 1)
    with entered(Recorder()), pytest.raises(ParameterError, match="sigma"):
        pd.Normal("x", 0, -1)
    assert context.current_or_none() is None


def test_contexts_of_threads_are_apart() -> None:
    """A model entered in one thread is not seen by another."""
    import threading

    found = []
    with entered(Recorder()):
        thread = threading.Thread(target=lambda: found.append(context.current_or_none()))
        thread.start()
        thread.join()
    assert found == [None]


def test_logp_of_what_is_no_variable_says_so() -> None:
    """Numbers, arrays, expressions, values of too low rank."""
    with pytest.raises(TypeError, match=r"`logp` needs a random variable such as `Normal.dist\(0, 1\)`, got 3"):
        pd.logp(3, 1)
    with pytest.raises(NotImplementedError, match="`logp` is known for variables of a distribution"):
        pd.logp(pd.Normal.dist() + 1.0, 1)
    with pytest.raises(ShapeError, match="Dirichlet: a value of rank 1 or more was needed"):
        pd.logp(pd.Dirichlet.dist([1, 1]), 0.5)


def test_two_variables_are_two_nodes_and_one_variable_is_one() -> None:
    """The key makes the difference, not the parameters."""
    a, b = pd.Normal.dist(0, 1), pd.Normal.dist(0, 1)
    assert a is not b
    assert a.op == b.op
    assert a.inputs[0].dtype == "key"
    assert a.inputs[1:] == b.inputs[1:]
    assert pd.logp(a, 0.5) is pd.logp(b, 0.5)


def test_a_declaration_is_a_dozen_lines() -> None:
    """Arguments, checks, transform, broadcasting and messages all follow from it."""
    from consilience.distributions import Continuous, instead_of, parameter
    from consilience.distributions.constraints import above, positive
    from consilience.distributions.mathematics import log

    class Pareto(Continuous):
        """Power law above a threshold."""

        alpha = parameter(positive, nan_check=False)
        m = parameter(positive, default=1.0, nan_check=False)
        support = above("m")
        alternatives = (instead_of("alpha", lambda index: 1.0 / index, index=positive),)

        def logp(self, value):
            return log(self.alpha) + self.alpha * log(self.m) - (self.alpha + 1.0) * log(value)

    rv = Pareto.dist(index=0.5, m=[1.0, 2.0])
    assert rv.static_shape == (2,)
    assert_allclose(value_of(pd.logp(rv, [[0.5], [3.0]])), [[-np.inf, -np.inf], np.log([2 / 27, 8 / 27])])
    assert isinstance(pd.default_transform(rv), transforms.Interval)
    with pytest.raises(ParameterError, match="Pareto: m must be > 0, got 0"):
        Pareto.dist(1, 0)
    with pytest.raises(NotImplementedError, match="Pareto has no `draw`; available are logp"):
        pd.draw(rv)
    with (
        nullcontext(),
        pytest.raises(TypeError, match=r"Pareto accepts the parameters \(alpha, m=1\) or \(m=1, index\)"),
    ):
        Pareto.dist()


@pytest.mark.parametrize(
    ("make", "point"),
    [
        (lambda mu, sigma: pd.Gamma.dist(mu=mu, sigma=sigma), 2.0),
        (lambda mu, sigma: pd.InverseGamma.dist(mu=mu, sigma=sigma), 2.0),
        (lambda mu, sigma: pd.Beta.dist(mu=mu, sigma=sigma), 0.3),
    ],
)
def test_a_negative_spread_shows_though_it_is_squared(make, point) -> None:
    """A standard deviation known at run time alone is checked, too, and one that is known gives the same density."""
    sigma = tensor_input("float64", (), "sigma")
    of_sigma = pd.logp(make(0.5, sigma), point)
    run = function([sigma], of_sigma)
    assert_allclose(run(0.2), value_of(pd.logp(make(0.5, 0.2), point)), rtol=1e-13)
    for wrong in (-0.2, -0.01, -5.0):
        with pytest.raises(ParameterError, match="must be > 0"):
            run(wrong)


def test_a_name_makes_no_variable_of_a_model() -> None:
    """`name=` of `dist` names the tensor; components may have names, unless they are variables of the model around."""
    x = pd.Normal.dist(0.0, 1.0, name="x")
    assert x.name == "x"
    assert pd.Censored.dist(x, 0.0, 1.0).op.distribution is pd.Censored
    context = Recorder()
    context.named["x"] = x
    with entered(context), pytest.raises(ParameterError, match=r"`x` .*, which is a variable of this model"):
        pd.Censored.dist(x, 0.0, 1.0)


def test_an_exponential_has_rate_one_by_default() -> None:
    """As a half normal has scale 1."""
    assert_allclose(value_of(pd.logp(pd.Exponential.dist(), 2.0)), -2.0)
    assert_allclose(value_of(pd.logp(pd.Exponential.dist(scale=4.0), 2.0)), -0.5 - np.log(4.0))
