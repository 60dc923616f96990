"""Players of Taiwanese mahjong: they see an `Observation`, never a `State`."""

from agents.policy import load, names

__all__ = ["load", "names"]
