"""What lax's operations mean, of which functions of JAX and modules of StableHLO consist: operands in, tensors out."""

from consilience.engines.reader.lax import bits as bits  # these fill the table
from consilience.engines.reader.lax import elements as elements
from consilience.engines.reader.lax import fourier as fourier
from consilience.engines.reader.lax import indexing as indexing
from consilience.engines.reader.lax import matrices as matrices
from consilience.engines.reader.lax import orders as orders
from consilience.engines.reader.lax import reductions as reductions
from consilience.engines.reader.lax import shapes as shapes
from consilience.engines.reader.lax import windows as windows
from consilience.engines.reader.lax.table import LAX, lax

__all__ = ["LAX", "lax"]
