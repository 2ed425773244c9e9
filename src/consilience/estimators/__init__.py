"""Posteriors by other roads than Markov chains, and checks of whole procedures: each in a package of its own.

In: a model. Out: posteriors with what is known of their errors. Outside: chains (`consilience.sample`).
"""
