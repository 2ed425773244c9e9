"""Work on the threads, processes and machines that a user names by `executor=`: one way to use them all.

An executor of Python's standard protocol, a Dask client or Ray in; results of functions out, whatever happens to
workers. What is computed stays outside.
"""

from consilience.first_use import load_on_use

load_on_use(
    __name__,
    {
        "ray": "ray",
        "shards": "Shards shards",
        "workers": "Broadcast Task Workers",
    },
    public=True,
)
