"""Lazy branches under the name of PyTensor's module: `from consilience.ifelse import ifelse`, or the module called."""

from consilience.first_use import load_on_use

load_on_use(
    __name__,
    {
        "ops.control": "cond ifelse",
    },
    public=True,
    called="ops.control:ifelse",
)
