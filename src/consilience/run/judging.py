"""How draws are judged: what differs between few chains that make many draws each and many chains that make few."""

from __future__ import annotations

from typing import Final

from consilience.record import Record

SUPERCHAINS: Final = 16
FEWEST_OF_SUPERCHAINS: Final = 4  # chains that a superchain has at least
FEWEST_DRAWS: Final = 16  # of each chain at the first check, where superchains are judged
USUAL_CHAINS: Final = 4  # that `min_draws` is meant for: more chains have as many draws all together at the first check


def superchains_of(chains: int) -> int:
    """How many superchains so many chains make up; 0 for few, which are judged one by one."""
    return SUPERCHAINS if chains >= SUPERCHAINS * FEWEST_OF_SUPERCHAINS else 0


class Judging(Record):
    """How the draws of a run are judged.

    superchains  how many the chains make up (`diagnostics.superchains`): R-hat, E-BFMI and disagreement are theirs, and
                 the draws at the first check are shared; 0: chains are judged one by one
    every_check  whether every check looks at the draws, however few they were worth at the one before
    memory       whether a scalar in which chains were once far from each other has to be known at all its quantiles
    at_the_end   whether draws may be given up for a remedy at the end, too
    """

    superchains: int = 0
    every_check: bool = False
    memory: bool = True
    at_the_end: bool = False

    def fewest(self, asked: int, chains: int) -> int:
        """Draws of each of so many chains at the first check, where `asked` is meant for the usual number."""
        return max(FEWEST_DRAWS, -(-asked * USUAL_CHAINS // chains)) if self.superchains else asked
