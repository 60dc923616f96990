"""The case file: states with all their legal moves, out of games and constructed."""

import json
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import doudizhu
from doudizhu import cards, legal, moves
from tests.doudizhu import scenes
from tests.oracle import doudizhu as oracle

FILE = pathlib.Path(__file__).parents[1] / "cases" / "ddz_states.jsonl"
CASES = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
GAMES = [case for case in CASES if case["source"] == "game"]
_mask = jax.jit(jax.vmap(lambda hand, to_beat: legal.unpack(legal.words_of(hand, to_beat))))


def to_beat_of(case):
    return moves.PASS if case["leading"] else moves.from_text(case["last_move"])


def test_file_is_whole():
    assert (len(CASES), len(GAMES)) == (197, 147)


def test_legal_moves():
    hands = np.array([cards.parse(case["hands"][case["player"]]) for case in CASES], np.int8)
    to_beat = np.array([to_beat_of(case) for case in CASES], np.int32)
    for case, mask in zip(CASES, np.asarray(_mask(hands, to_beat)), strict=True):
        ours = [moves.to_text(int(move)) for move in np.flatnonzero(mask)]
        assert sorted(ours) == sorted(case["legal"]), case["id"]
        assert case["n_legal"] == len(ours)


def test_ids():
    """Ours are those of rlcard but for planes with solos of three trios or more."""
    for case in CASES:
        for text, theirs in zip(case["legal"], case["legal_ids"], strict=True):
            ours = moves.from_text(text)
            assert ours == theirs or (1480 <= ours <= 22333 and 1480 <= theirs <= 22333)


def test_the_reference_agrees():
    for case in CASES:
        hand = case["hands"][case["player"]]
        if case["leading"]:
            found = {*oracle.moves_of(hand)}
        else:
            last = oracle.moves_of(case["last_move"])[oracle.in_order(case["last_move"])]
            found = {*oracle.answers_to(last, hand), oracle.PASS}
        assert found == set(case["legal"]), case["id"]


@pytest.mark.parametrize("case", GAMES[::7], ids=lambda case: str(case["id"]))
def test_history_leads_to_the_state(case):
    hands = [cards.parse(hand) for hand in case["initial_hands"]]
    state = doudizhu.init_from_hands(
        jnp.array(hands, jnp.int8), jnp.array(cards.parse(case["bottom_cards"]), jnp.int8)
    )
    for player, text in case["history"]:
        assert int(state.current_player) == player
        state = scenes.step_jit(state, moves.from_text(text))
    assert not state.terminated and int(state.current_player) == case["player"]
    assert [cards.format(hand.tolist()) for hand in state.hands] == case["hands"]
    assert int(state.to_beat) == to_beat_of(case)
    assert int(state.passes) == (case["passes"] if case["ply"] else 0)  # they begin with 2
    assert int(state.num_plies) == case["ply"]
