"""Variables taken out of a density by sums and integrals, and drawn again given all others."""
