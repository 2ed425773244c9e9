"""Ways to run a graph, all with the meaning of the reference backend."""

from consilience.backends import pickling as pickling
from consilience.first_use import load_on_use

load_on_use(__name__, {})
