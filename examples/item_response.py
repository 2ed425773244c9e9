"""Item response theory: five test questions, how hard each is, how well it discriminates, and what a score is worth."""
# Subject: Education
# Keywords: item response theory; IRT; Rasch model; 2PL; psychometrics

# %% tags=["script"]
from command_line import options, save, time_spent

arguments = options(__doc__)

# %% [markdown]
# # Item response
#
# **Question.** Which of five questions tells most about a student, and how sure is an ability by five answers?
#
# **Data.** Answers of 1,000 students to five questions of the Law School Admission Test (Bock and Lieberman 1970),
# taken from posteriordb; BSD 3-Clause.

# %%
import numpy as np

import consilience as pm

patterns = pm.load_data("lsat")
questions = ["q1", "q2", "q3", "q4", "q5"]
answers = np.repeat(patterns[questions].to_numpy(), patterns["students"], axis=0)
print(
    len(answers), "students; right answers:", dict(zip(questions, answers.mean(axis=0).round(2).tolist(), strict=True))
)

# %% [markdown]
# ## Model
#
# Abilities are standard normal. A question has a difficulty, the ability at which half of the students know the answer,
# and a slope there, by which it tells students apart. A simpler model has the same slope for all questions.


# %%
def model_of(slopes: bool) -> pm.Model:
    """Answers by ability, difficulty and slope."""
    with pm.Model(coords={"question": questions, "student": np.arange(len(answers))}) as model:
        ability = pm.Normal("ability", 0, 1, dims="student")
        difficulty = pm.Normal("difficulty", 0, 3, dims="question")
        slope = pm.LogNormal("slope", 0, 0.5, dims="question" if slopes else None)
        pm.Bernoulli(
            "answer", logit_p=slope * (ability[:, None] - difficulty), observed=answers, dims=("student", "question")
        )
    return model


models = {"slopes by question": model_of(True), "one slope": model_of(False)}
results = {}
for name, model in models.items():
    with model:
        prior = pm.sample_prior_predictive(100, random_seed=1)["prior_predictive"]["answer"].mean("student")
        results[name] = pm.sample(random_seed=1)
    print(
        f"{name}: shares of right answers before the data {prior.quantile(0.05).item():.0%} to "
        f"{prior.quantile(0.95).item():.0%}"
    )
    print(pm.summary(results[name], var_names=["difficulty", "slope"]))
    print("status:", results[name].status)

# %% [markdown]
# ## Do the models predict scores like these?
#
# Number of students with each number of right answers:

# %%
seen = np.bincount(answers.sum(axis=1), minlength=6)
print("data:", seen.tolist())
for name, model in models.items():
    with model:
        drawn = pm.sample_posterior_predictive(results[name], random_seed=1)["posterior_predictive"]["answer"].sum(
            "question"
        )
    counts = np.array([(drawn == k).sum("student").to_numpy().ravel() for k in range(6)])
    low, high = np.quantile(counts, [0.05, 0.95], axis=1).astype(int)
    print(f"{name}:", ", ".join(f"{a} to {b}" for a, b in zip(low, high, strict=True)))

# %% [markdown]
# ## Answer
#
# What a question tells about an ability is its Fisher information, slope² p (1 - p).

# %%
posterior = results["slopes by question"]["posterior"]
levels = np.linspace(-3, 3, 61)
p = 1 / (
    1 + np.exp(-posterior["slope"].to_numpy()[..., None] * (levels - posterior["difficulty"].to_numpy()[..., None]))
)
information = (posterior["slope"].to_numpy()[..., None] ** 2 * p * (1 - p)).mean(axis=(0, 1))
best = questions[int(information[:, 30].argmax())]
score = answers.sum(axis=1)
ability = posterior["ability"]
mean, sd = ability.mean(("chain", "draw")).to_numpy(), ability.std(("chain", "draw")).to_numpy()
print(
    f"{best} tells most about a student of mean ability. Five right answers mean an ability of "
    f"{mean[score == 5].mean():.2f}"
)
print(
    f"± {sd[score == 5].mean():.2f} standard deviations, none right {mean[score == 0].mean():.2f} ± "
    f"{sd[score == 0].mean():.2f}."
)

# %% tags=["script"]
print(time_spent(results["slopes by question"]))
if arguments.no_plots:
    raise SystemExit

# %% [markdown]
# ## The questions

# %% alt="Chances of right answers over ability, five rising curves; information, highest for low abilities"
import matplotlib.pyplot as plt

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.3), layout="constrained")
for question, name in enumerate(questions):
    low, middle, high = np.quantile(p[:, :, question], [0.05, 0.5, 0.95], axis=(0, 1))
    left.plot(levels, middle, label=name)
    left.fill_between(levels, low, high, alpha=0.2, lw=0)
    right.plot(levels, information[question], label=name)
right.plot(levels, information.sum(axis=0), color="black", label="all five")
left.set(xlabel="ability", ylabel="chance of the right answer", title="Questions with 90 % intervals")
right.set(xlabel="ability", ylabel="information", title="What a question tells")
left.legend()
right.legend()

# %% tags=["script"]
save(figure, arguments.out / "item_response.png")
