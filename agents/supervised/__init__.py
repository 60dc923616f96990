"""Supervised learning of discards from an agent's own play."""
