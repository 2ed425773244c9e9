"""Derivatives under the names of `pytensor.gradient`; called, it is PyMC's `gradient(f, vars)`."""

from consilience.first_use import load_on_use

load_on_use(
    __name__,
    {
        "errors": "DisconnectedInputError GradientError NullTypeGradError",
        "tensor.differentiation": """
            Lop Rop consider_constant grad grad_clip grad_scale hessian hessian_vector_product jacobian pullback
            pushforward undefined_grad zero_grad
        """,
        "tensor.formulas": "disconnected_grad=stop_gradient",
        "tensor.python_ops": "DisconnectedType disconnected_type grad_not_implemented grad_undefined",
        "tensor.verification": "verify_grad",
    },
    public=True,
    called="tensor.flattened:joined_gradient",
)
