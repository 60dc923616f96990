"""Taiwanese 16-tile mahjong (台灣麻將) as pure functions on a pytree, in JAX."""
