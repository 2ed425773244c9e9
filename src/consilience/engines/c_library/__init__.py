"""Log densities and functions as C libraries that need no Python."""
