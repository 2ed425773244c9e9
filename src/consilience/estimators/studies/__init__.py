"""Many computations of one kind, on the workers of any executor; and such a study of fits: `pm.sample_many`."""
