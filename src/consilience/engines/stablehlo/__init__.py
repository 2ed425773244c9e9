"""StableHLO, which XLA, IREE and other compilers read: graphs as its modules, and its modules as graphs."""
