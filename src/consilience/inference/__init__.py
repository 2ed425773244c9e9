"""Step methods: kernels that know a log density and random numbers, and nothing of models, threads or screens."""

from consilience.first_use import load_on_use

load_on_use(
    __name__,
    {
        "adaptive_metropolis": "AdaptiveMetropolis",
        "bart": "BARTStep",
        "binary_metropolis": "BinaryMetropolis",
        "block": "Block",
        "compound": "CompoundStep",
        "de_metropolis": "DEMetropolis",
        "de_metropolis_z": "DEMetropolisZ",
        "density": "LogDensity",
        "elliptical_slice": "EllipticalSlice",
        "gibbs": "BinaryGibbsMetropolis CategoricalGibbsMetropolis",
        "hmc": "HamiltonianMC",
        "kernel": "Kernel",
        "mala": "MALA",
        "metropolis": "Metropolis",
        "nuts_kernel": "NUTS",
        "slice": "Slice",
        "stretch": "StretchEnsemble",
        "tempering": "ParallelTempering",
    },
)
