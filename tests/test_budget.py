"""A time a move picks depth and width: by a clock that is scripted, so that nothing is timed."""

import itertools

import jax.numpy as jnp
import pytest

from agents.search import budget, handmade
from agents.search.tree import Settings
from mjx import actions


class _Clock:
    """Gives the seconds that each width of each depth takes, three samples of each in turn."""

    def __init__(self, seconds_by_depth):
        moves = [s for seconds in seconds_by_depth for s in seconds for _ in range(3)]
        self.times = iter(itertools.accumulate(x for s in moves for x in (0.0, s)))

    def __call__(self):
        return next(self.times)


def _search(solver, observation, legal):
    del observation
    return jnp.zeros((*legal.shape[:1], actions.NUM_ACTIONS)) + solver.widths[17]


def _pick(move_time, seconds_by_depth):
    clock = _Clock(seconds_by_depth)
    value, params = handmade.value(), handmade.params()
    found = budget.pick(move_time, clock, _search, Settings(gamma=0.9), value, params)
    assert next(clock.times, None) is None  # all that was scripted was asked for, and no more
    assert found.gamma == 0.9
    return found.depth, found.alpha


_FAST, _SOME, _SLOW = [0.1] * 5, [0.2, 0.4, 0.6, 0.8, 1.0], [9.0] * 5  # alpha 0.2 to 1


@pytest.mark.parametrize(
    ("move_time", "seconds", "picked"),
    [
        (0.7, [_SOME], (1, 0.6)),  # the widest of the first depth that does not fit whole
        (1.0, [_SOME, _SLOW], (1, 1.0)),  # just fits
        (1.0, [_FAST, _FAST, _SOME, _SLOW], (3, 1.0)),
        (0.5, [_FAST, _SOME], (2, 0.4)),
        (5.0, [_FAST] * 4, (4, 1.0)),  # no deeper than there is
        (0.01, [_SLOW], (1, 0.2)),  # nothing fits
    ],
)
def test_the_deepest_and_then_the_widest_that_fits(move_time, seconds, picked):
    assert _pick(move_time, seconds) == picked


@pytest.mark.parametrize("move_time", [0.0, -1.0, float("nan")])
def test_a_time_is_above_zero(move_time):
    with pytest.raises(ValueError, match="move_time is above 0 seconds"):
        _pick(move_time, [])
