"""Legal moves in all their forms: bits, mask, list, one move, one at random, groups."""

import time

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import doudizhu
from doudizhu import groups, legal, moves, tables
from doudizhu.rules import DEFAULT, Rules
from tests.doudizhu import scenes
from tests.oracle import doudizhu as oracle

STRICT = Rules(strict=True)
MOVES = moves.all_moves()
words_of = jax.jit(jax.vmap(legal.words_of, (0, 0, None)), static_argnums=2)
groups_of = jax.jit(jax.vmap(groups.groups_of, (0, 0, None)), static_argnums=2)


def ids_of(words):
    return np.flatnonzero(np.unpackbits(np.asarray(words).view(np.uint8), bitorder="little"))


def stress(num, seed=0):
    """Hands of up to 20 cards, each with a group's main cards or a move, to lead or to answer."""
    rng = np.random.default_rng(seed)
    copies = np.array([4] * 13 + [1, 1])
    hands = np.zeros((num, 15), np.int8)
    for i, hand in enumerate(hands):
        group = i % tables.NUM_GROUPS
        core = np.array(MOVES.groups[group].main)
        if i // tables.NUM_GROUPS % 2:
            core = MOVES.counts[rng.choice(np.flatnonzero(MOVES.group == group))]
        others = np.repeat(np.arange(15), copies - core)
        weights = rng.random(len(others)) * rng.random(15)[others] ** (i % 4)
        room = 20 - core.sum()
        num_others = rng.choice([room, rng.integers(0, room + 1)])
        chosen = others[np.argsort(-weights)[:num_others]]
        hand[:] = core + np.bincount(chosen, minlength=15)
    firsts = tables.group_table(False).first
    to_beat = np.where(rng.random(num) < 0.5, moves.PASS, rng.choice(firsts, num))
    return hands, to_beat.astype(np.int32)


@pytest.mark.parametrize("rules", [DEFAULT, STRICT], ids=["default", "strict"])
def test_groups_are_those_of_the_table(rules):
    """The closed form, on 20,000 hands, against the moves group by group."""
    hands, to_beat = stress(20_000)
    num_groups, seen = tables.NUM_GROUPS, np.zeros(tables.NUM_GROUPS, np.int64)
    for first in range(0, len(hands), 2000):
        part = slice(first, first + 2000)
        words = np.asarray(words_of(hands[part], to_beat[part], rules))
        bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")[:, : moves.NUM_MOVES]
        starts = np.searchsorted(MOVES.group, np.arange(num_groups))
        expected = np.logical_or.reduceat(bits.astype(bool), starts, axis=1)
        assert (np.asarray(groups_of(hands[part], to_beat[part], rules)) == expected).all()
        seen += expected.sum(axis=0)
    assert (seen > 0).all()


def test_one_move_is_asked_as_all_are():
    """Every id, and ids out of range, in states of all kinds."""
    states = scenes.midgame()
    asked = jax.jit(
        jax.vmap(lambda s, m, r: legal.is_legal(s, m, r), (None, 0, None)), static_argnums=2
    )
    words = jax.jit(lambda s, r: legal.legal_words(s, r), static_argnums=1)
    every = jnp.arange(-3, moves.NUM_MOVES + 300)
    over = jax.tree.map(lambda x: x[-1], scenes.games()[0])
    last = scenes.one(over, 0)
    for rules in (DEFAULT, STRICT):
        for state in [scenes.one(states, i) for i in range(6)] + [last]:
            got = np.flatnonzero(asked(state, every, rules)) - 3
            assert (got == ids_of(words(state, rules))).all()
    assert ids_of(words(last, DEFAULT)).tolist() == [moves.PASS]


def test_list_holds_what_the_words_hold():
    states = scenes.midgame()
    listed = jax.jit(jax.vmap(lambda s: legal.legal_list(s, length=64)))
    words = jax.jit(jax.vmap(doudizhu.legal_words))(states)
    ids, num = (np.asarray(x) for x in listed(states))
    assert ids.dtype == np.int32 and (num > 64).any()
    for row, count, expected in zip(ids, num, map(ids_of, words), strict=True):
        assert count == len(expected)
        assert (row[:count] == expected[:64]).all() and (row[count:] == -1).all()


def test_the_richest_hand_known_fits_the_list():
    """519 leads; no search for a richer hand of 20 cards has found one."""
    state = scenes.facing("34567888999TTTJJJQKA")
    ids, num = jax.jit(doudizhu.legal_list)(state)
    assert int(num) == 519 < legal.MAX_LEGAL == len(ids)
    assert (np.asarray(ids[:519]) == ids_of(doudizhu.legal_words(state))).all()


def test_random_moves_are_legal_and_even():
    """Each of the 519 about as often: the variance of the counts is that of even chances."""
    words = doudizhu.legal_words(scenes.facing("34567888999TTTJJJQKA"))
    num = 519 * 200
    bits = jax.random.bits(jax.random.key(0), (num,))
    drawn = np.asarray(jax.jit(jax.vmap(legal.nth_legal, (0, None)))(bits, words))
    ids, counts = np.unique(drawn, return_counts=True)
    assert (ids == ids_of(words)).all()
    assert 0.8 < np.var(counts) / 200 < 1.25


def test_random_moves_reach_both_ends():
    words = doudizhu.legal_words(scenes.facing("3BR", "4"))
    ends = [int(legal.nth_legal(jnp.uint32(bits), words)) for bits in (0, 0xFFFFFFFF)]
    assert [moves.to_text(move) for move in ends] == ["B", "pass"]


def test_batches_are_refused():
    states = scenes.midgame()
    for function in (doudizhu.legal_words, doudizhu.legal_groups, doudizhu.legal_list):
        with pytest.raises(ValueError, match="one game: vmap"):
            function(states)


def test_plain_jit_and_vmap_agree():
    states = scenes.midgame()
    for function in (doudizhu.legal_words, doudizhu.legal_action_mask, doudizhu.legal_groups):
        jitted = jax.jit(chex.assert_max_traces(function, n=1))
        batch = jax.jit(jax.vmap(function))(states)
        for place in (0, 7):
            state = scenes.one(states, place)
            chex.assert_trees_all_equal(jitted(state), batch[place])
        chex.assert_trees_all_equal(function(state), batch[place])
    mask = doudizhu.legal_action_mask(state)
    assert mask.shape == (27472,) and mask.dtype == bool
    assert (np.flatnonzero(mask) == ids_of(doudizhu.legal_words(state))).all()


def test_strict_moves_are_those_of_the_reference():
    """The default ones are compared in whole games."""
    states = scenes.midgame(1500)
    hands = states.hands[np.arange(1500), states.current_player]
    words = np.asarray(words_of(hands, states.to_beat, STRICT))
    for hand, to_beat, found in zip(hands, states.to_beat, words, strict=True):
        text = doudizhu.format(hand.tolist())
        if to_beat == moves.PASS:
            expected = {*oracle.moves_of(text, strict=True)}
        else:
            beaten = moves.to_text(int(to_beat))
            last = oracle.moves_of(beaten)[beaten]
            expected = {*oracle.answers_to(last, text, strict=True), oracle.PASS}
        assert {moves.to_text(int(move)) for move in ids_of(found)} == expected, text


def test_strict_bars_kickers_of_one_rank():
    names = {}
    for rules in (DEFAULT, STRICT):
        words = scenes.words_jit(scenes.facing("33344455").hands[0], moves.PASS, rules)
        names[rules] = {moves.to_text(int(move)) for move in ids_of(words)}
    assert names[DEFAULT] - names[STRICT] == {"33344455"}


def test_legality_is_fast():
    """Some 1 µs a state on one core; an unrolled form without stages takes 20 times as much."""
    hands, to_beat = stress(1024)
    run = jax.jit(lambda h, t: jnp.sum(jax.vmap(legal.words_of)(h, t), axis=0))
    jax.block_until_ready(run(hands, to_beat))
    best = float("inf")
    for _ in range(10):
        start = time.process_time()
        jax.block_until_ready(run(hands, to_beat))
        best = min(best, time.process_time() - start)
    assert best / len(hands) < 20e-6
