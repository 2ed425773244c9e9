"""How well models predict what they have not seen: by posteriors without some observations, on workers of any kind.

A result and its model in; ArviZ's `ELPDData` and tables out, whose importance sampling is theirs.
"""

from consilience.first_use import load_on_use

load_on_use(
    __name__,
    {
        "comparison": "compare",
        "folds": "loo_kfold",
        "importance": "loo",
        "leaving_one_out": "reloo",
    },
)
