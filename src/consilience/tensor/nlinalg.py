"""`pt.nlinalg`, PyTensor's older name of functions in the manner of NumPy's linear algebra: `pt.linalg` itself."""

import sys

from consilience.tensor import linalg

sys.modules[__name__] = linalg
