"""Ways to run a graph, all with the meaning of the reference backend."""

from consilience.backends import pickling as pickling
