"""What a run does by itself where draws show the need: one file each, tried in this order at every check that may."""

from typing import Final

from consilience.run.remedies.coordinates import reparametrize
from consilience.run.remedies.jumps import divide, jump
from consilience.run.remedies.metric import learn_another_metric
from consilience.run.remedies.remedy import Look, Remedy, Restart
from consilience.run.remedies.smaller_steps import take_smaller_steps

REMEDIES: Final[dict[str, Remedy]] = {
    "symmetries": divide,
    "coordinates": reparametrize,
    "steps": take_smaller_steps,
    "metric": learn_another_metric,
    "jumps": jump,
}
USUAL: Final = tuple(REMEDIES)

__all__ = ["REMEDIES", "USUAL", "Look", "Remedy", "Restart"]
