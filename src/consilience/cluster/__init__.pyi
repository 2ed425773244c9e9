"""Written by `python tools/names.py` from the tables of cluster.py; not to be edited."""

from consilience.cluster.workers import Broadcast as Broadcast
from consilience.cluster.shards import Shards as Shards
from consilience.cluster.workers import Task as Task
from consilience.cluster.workers import Workers as Workers
from consilience.cluster.ray import ray as ray
from consilience.cluster.shards import shards as shards

__all__: list[str]
