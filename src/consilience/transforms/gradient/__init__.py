"""Reverse-mode derivatives: a table of pullbacks, an engine that composes them, what follows from both."""

from consilience.first_use import load_on_use

load_on_use(
    __name__,
    {
        "derived": """
            connected gradient hessian hessian_vector_product jacobian pullback pushforward value_and_gradient
        """,
        "scalar": "NO_DERIVATIVE SCALAR_PULLBACKS",
        "table": "PULLBACKS missing",
    },
)
