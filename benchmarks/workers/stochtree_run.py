"""stochtree on data of a file, in an environment of its own: `python stochtree_run.py DATA.npz DRAWS SEED`.

The file has covariates `X`, the response `y`, other rows `new` and the function `truth` there. Printed is JSON: seconds
of the processor, and error, coverage and width of 90 % intervals of the function at the other rows. Four chains of
DRAWS + DRAWS sweeps over 50 trees, without grow-from-root beginnings.
"""

import json
import sys
import time

import numpy as np
from stochtree import BARTModel


def main(file: str, draws: int, seed: int) -> None:
    """Run, and print the figures."""
    data = np.load(file)
    begun = time.process_time()
    found = []
    for chain in range(4):
        model = BARTModel()
        model.sample(
            X_train=data["X"],
            y_train=data["y"],
            X_test=data["new"],
            num_gfr=0,
            num_burnin=draws,
            num_mcmc=draws,
            general_params={"random_seed": 4 * seed + chain, "num_threads": 1},
            mean_forest_params={"num_trees": 50},
        )
        found.append(model.y_hat_test.T)
    seconds = time.process_time() - begun
    every = np.concatenate(found)
    low, high = np.quantile(every, [0.05, 0.95], axis=0)
    truth = data["truth"]
    figures = {
        "seconds": round(seconds, 1),
        "rmse": round(float(np.sqrt(np.mean((every.mean(axis=0) - truth) ** 2))), 3),
        "coverage": round(float(np.mean((low < truth) & (truth < high))), 3),
        "width": round(float(np.mean(high - low)), 2),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
