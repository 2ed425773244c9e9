"""`pt.slinalg`, PyTensor's older name of functions in the manner of SciPy's linear algebra: `pt.linalg` itself."""

import sys

from consilience.tensor import linalg

sys.modules[__name__] = linalg
