"""Measurements of time and memory, each beside the limit it should keep; `make bench` runs them all."""
