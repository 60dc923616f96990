"""Dou Dizhu (鬥地主) as pure functions on a pytree, in JAX."""

from doudizhu.cards import format, parse
from doudizhu.determinize import determinize
from doudizhu.env import DouDizhu
from doudizhu.groups import legal_groups
from doudizhu.legal import legal_action_mask, legal_list, legal_words
from doudizhu.moves import NUM_MOVES, PASS
from doudizhu.observe import Observation, observe
from doudizhu.render import render
from doudizhu.rollout import simulate
from doudizhu.rules import DEFAULT, Rules
from doudizhu.score import rewards
from doudizhu.state import State
from doudizhu.step import init, init_from_deck, init_from_hands, step

__all__ = [
    "DEFAULT",
    "NUM_MOVES",
    "PASS",
    "DouDizhu",
    "Observation",
    "Rules",
    "State",
    "determinize",
    "format",
    "init",
    "init_from_deck",
    "init_from_hands",
    "legal_action_mask",
    "legal_groups",
    "legal_list",
    "legal_words",
    "observe",
    "parse",
    "render",
    "rewards",
    "simulate",
    "step",
]
