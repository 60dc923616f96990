"""Taiwanese 16-tile mahjong (台灣麻將) as pure functions on a pytree, in JAX."""

from mjx.actions import NUM_ACTIONS
from mjx.env import TaiwaneseMahjong
from mjx.match import is_over, next_hand
from mjx.observe import Observation, observe
from mjx.render import render
from mjx.rollout import Transition, auto_reset_step, rollout, simulate
from mjx.rules import DEFAULT, PRESETS, Rules
from mjx.state import State
from mjx.step import init, init_from_wall, step
from mjx.tiles import format, parse

__all__ = [
    "DEFAULT",
    "NUM_ACTIONS",
    "PRESETS",
    "Observation",
    "Rules",
    "State",
    "TaiwaneseMahjong",
    "Transition",
    "auto_reset_step",
    "format",
    "init",
    "init_from_wall",
    "is_over",
    "next_hand",
    "observe",
    "parse",
    "render",
    "rollout",
    "simulate",
    "step",
]
