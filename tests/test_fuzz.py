"""A few hundred hands of the long comparison, which `python -m tests.fuzz` goes on with."""

from collections import Counter

import numpy as np
import pytest

from tests import fuzz, recording


@pytest.mark.slow
def test_hands_replay_without_a_difference():
    """All endings and kongs occur, passed wins and robberies too."""
    blocks = [range(first, first + fuzz.BLOCK) for first in range(0, 250, fuzz.BLOCK)]
    events = Counter()
    for seeds in [*blocks, range(7, 507, 10)]:  # the last all of robberies
        hands = [recording.record(seed) for seed in seeds]
        fuzz.play(hands)
        events.update(sum((hand.events for hand in hands), Counter()))
    wanted = ["drawn", "self_draw", "discard", "rob_kong", "passed win", "passed robbery"]
    wanted += ["declined self-draw", "concealed kong", "added kong", "open kong", "chow", "pong"]
    assert min(events[name] for name in wanted) > 0, events


# Each alters what the reference is said to have done; the comparison has to notice.
FALSEHOODS = {
    "hands": lambda hand: hand.snapshots["hands"].__iadd__(1),
    "locked": lambda hand: np.logical_not(hand.snapshots["locked"], out=hand.snapshots["locked"]),
    "mask": lambda hand: hand.snapshots["mask"][3].fill(True),
    "unseen": lambda hand: hand.snapshots["left"].__iadd__(1),
    "rewards": lambda hand: hand.rewards.__setitem__(0, 1),
    "history_claimed": lambda hand: hand.claimed_at.__setitem__(0, len(hand.actions)),
    "concealed_kongs": lambda hand: hand.snapshots["melds"][5, 1, 3].fill(1),
}


@pytest.mark.parametrize("name", FALSEHOODS)
def test_a_difference_is_noticed(name):
    """A comparison that cannot fail would pass every hand."""
    hand = recording.record(0)
    FALSEHOODS[name](hand)
    with pytest.raises(AssertionError, match=rf"seed 0, decision \d+ of \d+: .*{name}"):
        fuzz.play([hand])


def test_another_wall_is_noticed():
    hand, other = recording.record(0), recording.record(2)
    with pytest.raises(AssertionError, match="seed 0, decision"):
        fuzz.play([hand._replace(wall=other.wall)])


def test_an_illegal_action_is_noticed():
    hand = recording.record(0)
    illegal = int(np.flatnonzero(~hand.snapshots["mask"][0])[0])
    with pytest.raises(AssertionError, match=r"decision 1 of .*: terminated"):
        fuzz.play([hand._replace(actions=[illegal, *hand.actions[1:]])])


def test_replay_compiles_once():
    fuzz.play([recording.record(0)])
    compiled = fuzz._deal._cache_size(), fuzz._replay._cache_size()
    fuzz.play([recording.record(seed) for seed in (1, 7)])
    assert (fuzz._deal._cache_size(), fuzz._replay._cache_size()) == compiled
