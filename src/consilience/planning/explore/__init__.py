"""Rules that give equal forms of which none is always the better: their tables, one per subject.

They are applied by `alternatives` and tried by the rule checker as all rules are.
"""

from __future__ import annotations

from typing import Final

from consilience.planning.explore import indices, linear_systems, matrix_products, subsets, toeplitz
from consilience.rewrite.rule import RuleTable
from consilience.rewrite.rules import ALWAYS as BEFORE_SLOPES
from consilience.rewrite.rules import DIFFERENTIATED

EXPLORE: Final = RuleTable(
    (*linear_systems.RULES, *matrix_products.RULES, *indices.RULES, *subsets.RULES, *toeplitz.RULES)
)

# Rules that may be applied before derivatives are taken: what a program multiplies, and what of it is read.
PRODUCTS: Final = RuleTable(
    (
        *matrix_products.RULES,
        linear_systems.product_of_system,
        linear_systems.product_with_system,
        indices.parts_of_product,
    )
)
# One-way rules that guess what is cheaper, where no plan is made.
GUESSES: Final = ("inverse times a value",)
ALWAYS: Final = RuleTable((linear_systems.symmetric_transposed, *DIFFERENTIATED.without(GUESSES)))
"""Rules that bring a new form to its normal form."""
UNDIFFERENTIATED: Final = RuleTable(BEFORE_SLOPES.without(GUESSES))
"""The same, where derivatives are still to be taken."""
