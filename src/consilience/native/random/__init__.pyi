"""Written by `python tools/names.py` from the tables of random.py; not to be edited."""

from consilience.native.random.philox import fold_in as fold_in
from consilience.native.random.philox import philox as philox
from consilience.native.random.continuous import random_beta as random_beta
from consilience.native.random.discrete import random_binomial as random_binomial
from consilience.native.random.philox import random_bits as random_bits
from consilience.native.random.discrete import random_conway_maxwell_poisson as random_conway_maxwell_poisson
from consilience.native.random.continuous import random_exponential as random_exponential
from consilience.native.random.continuous import random_gamma as random_gamma
from consilience.native.random.continuous import random_normal as random_normal
from consilience.native.random.continuous import random_normals as random_normals
from consilience.native.random.discrete import random_poisson as random_poisson
from consilience.native.random.continuous import random_uniform as random_uniform
from consilience.native.random.continuous import random_uniforms as random_uniforms
from consilience.native.random.continuous import random_von_mises as random_von_mises

__all__: list[str]
