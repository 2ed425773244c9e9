"""Loads what operators and methods of expressions mean, as far as no distribution is needed."""

import consilience.backends.contexts
import consilience.backends.evaluation
import consilience.backends.function
import consilience.backends.pickling
import consilience.backends.printing.tree
import consilience.ops
import consilience.tensor.array_functions
import consilience.tensor.functions
import consilience.tensor.gathering  # noqa: F401 - each registers its own
