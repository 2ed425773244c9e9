"""Patterns, facts, rules and the engine that applies them to graphs."""
