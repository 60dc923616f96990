"""Expectimax: the tree as arrays, leaf values, and the player made of them."""
