"""What could falsify a posterior: attacks on the draws of a result, in order of price per power.

A result and its model in; what each attack tried and found, and how small an error it could have seen, out.
"""

from consilience.estimators.refutation.portfolio import challenge
from consilience.estimators.refutation.report import AttackReport, Challenge

__all__ = ["AttackReport", "Challenge", "challenge"]
