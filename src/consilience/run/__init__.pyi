"""Written by `python tools/names.py` from the tables of run.py; not to be edited."""

from consilience.events import ChainLost as ChainLost
from consilience.events import ChainMoved as ChainMoved
from consilience.events import ChainProgress as ChainProgress
from consilience.events import CheckFigures as CheckFigures
from consilience.events import DrawsMade as DrawsMade
from consilience.events import Event as Event
from consilience.events import Listener as Listener
from consilience.run.monitor import Monitored as Monitored
from consilience.events import Progress as Progress
from consilience.events import Restarted as Restarted
from consilience.run.run import Run as Run
from consilience.events import RunEnded as RunEnded
from consilience.run.plan import RunPlan as RunPlan
from consilience.run.result import RunResult as RunResult
from consilience.events import RunStarted as RunStarted
from consilience.events import WorkerNotice as WorkerNotice

__all__: list[str]
