"""Work on the threads, processes and machines that a user names by `executor=`: one way to use them all.

An executor of Python's standard protocol, a Dask client or Ray in; results of functions out, whatever happens to
workers. What is computed stays outside.
"""

from consilience.cluster.ray import ray
from consilience.cluster.shards import Shards, shards
from consilience.cluster.workers import Broadcast, Task, Workers
from consilience.first_use import guard

__all__ = ["Broadcast", "Shards", "Task", "Workers", "ray", "shards"]

guard(globals())
