"""Eight schools: effects of coaching on test scores, partially pooled (Rubin 1981; BDA3, section 5.5)."""

import time

begin = time.perf_counter()

import consilience as pm

imported = time.perf_counter()

coords = {"school": ["A", "B", "C", "D", "E", "F", "G", "H"]}
with pm.Model(coords=coords) as model:
    mu = pm.Normal("mu", 0, 5)
    tau = pm.HalfCauchy("tau", 5)
    z = pm.Normal("z", 0, 1, dims="school")
    theta = pm.Deterministic("theta", mu + tau * z, dims="school")
    pm.Normal(
        "y",
        theta,
        sigma=[15, 10, 16, 11, 9, 11, 10, 18],
        observed=[28, 8, -3, 7, -1, 1, 18, 12],
        dims="school",
    )
    prior = pm.sample_prior_predictive(random_seed=1)
    result = pm.sample(random_seed=1)
    result = pm.sample_posterior_predictive(result, random_seed=1)

print(pm.summary(result))
print("status:", result.status)
print("divergences:", int(result["sample_stats"]["diverging"].sum()))

steps = result["posterior"].attrs
spent = {"import": imported - begin} | {
    step: steps[f"time_{step}"] for step in ("build", "compile", "warmup", "sampling")
}
print(
    "time:",
    ", ".join(f"{step} {seconds:.3f} s" for step, seconds in spent.items()),
    f"of {time.perf_counter() - begin:.3f} s",
)
