"""Programs made from programs: derivatives (`gradient`) and batched forms (`vectorize`).

Each is a package with one table, a row per op; the functions are imported from there.
"""
