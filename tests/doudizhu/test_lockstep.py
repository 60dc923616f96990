"""Whole games in lock step with the reference and with rlcard, and that a difference is seen."""

import numpy as np
import pytest

from doudizhu import moves
from tests.doudizhu import lockstep

NUM_ORACLE, NUM_RLCARD = 128, 384  # games, some 50 states each


def test_reference():
    found = lockstep.compare([lockstep.play_oracle(seed) for seed in range(NUM_ORACLE)])
    assert found["states"] > 5_000
    rare = {f"played {name}" for name in moves.CATEGORIES} | {f"on {n}" for n in moves.CATEGORIES}
    assert all(found[name] for name in rare), rare - set(found)
    assert found["springs"] and 0 < found["landlord wins"] < found["games"]


@pytest.mark.skipif(not lockstep.HAS_RLCARD, reason="pip install rlcard==1.2.0")
def test_rlcard():
    """Over 20,000 states; half a million are a command of docs/doudizhu.md."""
    found = lockstep.compare([lockstep.play_rlcard(seed) for seed in range(NUM_RLCARD)])
    assert found["states"] > 20_000 and found["on plane_solo"] and found["on rocket"]


def _other_hands(record):
    record.shown["hands"][5] = record.shown["hands"][5][::-1]


# Each alters what the other engine is said to have done.
FALSEHOODS = {
    "legal moves": lambda record: record.legal[3].append(max(record.legal[3]) - 1),
    "hands": _other_hands,
    "owner": lambda record: record.shown["owner"].__setitem__(4, -1),
    "to_beat": lambda record: record.shown["to_beat"].__setitem__(4, 0),
    "passes": lambda record: record.shown["passes"].__setitem__(2, 2),
    "bombs": lambda record: record.shown["bombs"].__setitem__(-1, 9),
    "plays": lambda record: record.shown["plays"].__setitem__(0, [1, 0, 0]),
    "winner": lambda record: record.shown["winner"].__setitem__(-1, -1),
    "rewards adp": lambda record: record.rewards.__setitem__("adp", [0, 0, 0]),
}


@pytest.mark.parametrize("name", FALSEHOODS)
def test_a_difference_is_noticed(name):
    record = lockstep.play_oracle(6)
    FALSEHOODS[name](record)
    with pytest.raises(AssertionError, match=rf"seed 6, ply \d+ of \d+: {name}"):
        lockstep.compare([record])


def test_an_illegal_move_is_noticed():
    record = lockstep.play_oracle(6)
    held = set(np.flatnonzero(record.hands[0]))
    record.moves[0] = next(rank for rank in range(15) if rank not in held)  # a solo it lacks
    with pytest.raises(AssertionError, match="seed 6, ply 1 of"):
        lockstep.compare([record])
