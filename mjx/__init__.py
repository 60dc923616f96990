"""Taiwanese 16-tile mahjong (台灣麻將) as pure functions on a pytree, in JAX."""

from mjx.actions import NUM_ACTIONS
from mjx.observe import Observation, observe
from mjx.rules import DEFAULT, Rules
from mjx.state import State
from mjx.step import init, init_from_wall, step
from mjx.tiles import format, parse

__all__ = [
    "DEFAULT",
    "NUM_ACTIONS",
    "Observation",
    "Rules",
    "State",
    "format",
    "init",
    "init_from_wall",
    "observe",
    "parse",
    "step",
]
