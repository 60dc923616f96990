"""Dealing, moving, paying, and what is refused."""

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import doudizhu
from doudizhu import moves
from doudizhu import state as st
from doudizhu.rules import DEFAULT, Rules
from tests.doudizhu import scenes
from tests.oracle import doudizhu as oracle

COPIES = np.array([4] * 13 + [1, 1])
DECK = np.repeat(np.arange(15), COPIES).astype(np.int8)


def counts(text):
    return np.array(doudizhu.parse(text), np.int8)


def test_deal():
    """20, 17 and 17 cards of the 54, the bottom three with the landlord, by the key alone."""
    deal = jax.jit(jax.vmap(doudizhu.init))
    states, again = (deal(jax.random.split(jax.random.key(1), 500)) for _ in range(2))
    chex.assert_trees_all_equal(states, again)
    hands = np.asarray(states.hands)
    assert (hands.sum(axis=1) == COPIES).all() and (hands >= 0).all()
    assert (hands.sum(axis=2) == [20, 17, 17]).all()
    assert (states.bottom.sum(axis=1) == 3).all() and (states.bottom <= hands[:, 0]).all()
    assert len(np.unique(hands.reshape(500, -1), axis=0)) == 500
    # Each player holds each rank as often as its share of the cards, within 5 deviations.
    mean, size = hands.mean(axis=0), np.array([20, 17, 17])[:, None]
    share = size / 54
    deviation = np.sqrt(COPIES * share * (1 - share) / 500)
    assert (np.abs(mean - COPIES * share) < 5 * deviation).all()
    assert (states.to_beat == moves.PASS).all() and (states.current_player == 0).all()
    assert (states.history == -1).all() and (states.owner == -1).all()


def test_deal_of_a_deck():
    state = doudizhu.init_from_deck(DECK)
    hands = [doudizhu.format(hand.tolist()) for hand in state.hands]
    assert hands == ["33334444555566667" + "2BR", "77788889999TTTTJJ", "JJQQQQKKKKAAAA222"]
    assert doudizhu.format(state.bottom.tolist()) == "2BR"


def test_invariants_of_whole_games():
    """Of every state of random games."""
    states, chosen = scenes.games()
    hands, played = states.hands.astype(int), states.played.astype(int)
    assert (hands >= 0).all() and (played >= 0).all()
    assert (hands.sum(axis=2) + played.sum(axis=2) == COPIES).all()
    assert states.terminated[-1].all() and (states.num_plies <= st.MAX_PLIES).all()
    running = ~states.terminated
    ply = np.arange(len(hands))[:, None]
    assert (states.num_plies[running] == np.broadcast_to(ply, running.shape)[running]).all()
    assert (states.current_player[running] == (ply % 3 + 0 * running)[running]).all()
    assert ((states.passes >= 0) & (states.passes <= 2))[running].all()
    leads = states.to_beat == moves.PASS
    assert (leads == ((states.passes == 2) | (states.owner < 0)))[running].all()
    assert (states.owner == states.current_player)[running & leads & (ply > 0)].all()
    assert (states.terminated == (hands.sum(axis=3) == 0).any(axis=2)).all()
    assert (states.plays.sum(axis=2) <= 52).all()
    ended = states.terminated & ~np.roll(states.terminated, 1, axis=0)
    assert (ended[1:].sum(axis=0) == 1).all()
    won = states.rewards != 0
    assert (won.all(axis=2) == ended).all() and (won.any(axis=2) == ended).all()
    assert (states.winner == states.current_player)[ended].all()
    last = jax.tree.map(lambda x: x[-1], states)
    for game in range(scenes.NUM_GAMES):
        num = int(last.num_plies[game])
        assert (last.history[game, :num] == chosen[:num, game]).all()
        assert (last.history[game, num:] == -1).all()


def test_a_finished_game_stays_as_it_is():
    states, _ = scenes.games()
    over = scenes.one(jax.tree.map(lambda x: x[-1], states), 3)
    assert over.terminated and not over.rewards.any()
    for move in (0, moves.PASS, moves.ROCKET):
        chex.assert_trees_all_equal(scenes.step_jit(over, move), over)
        chex.assert_trees_all_equal(doudizhu.step(over, move), over)


def play(hands, bottom, texts, rules=DEFAULT):
    """Plays moves in order with the reference at its side, and compares the rewards."""
    state = doudizhu.init_from_hands(np.array([counts(h) for h in hands]), counts(bottom))
    game = oracle.Game(hands)
    for text in texts.split():
        kind = game.legal()[oracle.in_order(text) if text != "pass" else text]
        game.play(oracle.in_order(text) if kind else text, kind)
        state = scenes.step_jit(state, moves.from_text(text), rules)
    assert state.terminated
    assert state.rewards.tolist() == game.rewards(rules.scoring, rules.spring)
    return state


# Both sides can win these hands with one side passing throughout.
HANDS = ("333344445555666677BR", "77888899TTTTJJJJQ", "99QQQKKKKAAAA2222")
LANDLORD_ALONE = "BR pass pass 3333 pass pass 4444 pass pass 66 pass pass 55556677"
LANDLORD_ONCE = "77 pass 99 pass pass KKKKQ2 pass pass QQ pass pass AAAA pass pass 222"
ADP, SPRING = Rules(scoring="adp"), Rules(scoring="adp", spring=True)


@pytest.mark.parametrize(
    "texts, rules, rewards",
    [
        # Two bombs and the rocket double; a quad with two pairs is no bomb.
        (LANDLORD_ALONE, DEFAULT, [1, -1, -1]),
        (LANDLORD_ALONE, ADP, [2 * 2**3, -(2**3), -(2**3)]),
        (LANDLORD_ALONE, SPRING, [2 * 2**4, -(2**4), -(2**4)]),
        # One bomb; the landlord's lead is its only move.
        (LANDLORD_ONCE, DEFAULT, [-1, 1, 1]),
        (LANDLORD_ONCE, ADP, [-2 * 2**1, 2**1, 2**1]),
        (LANDLORD_ONCE, SPRING, [-2 * 2**2, 2**2, 2**2]),
    ],
)
def test_bombs_and_springs_double(texts, rules, rewards):
    assert play(HANDS, "7BR", texts, rules).rewards.tolist() == rewards


def test_rewards_of_either_scoring_fit_one_game():
    states, _ = scenes.games()
    last = jax.tree.map(lambda x: x[-1], states)
    wp = jax.vmap(lambda s: doudizhu.rewards(s))(last)
    adp = jax.vmap(lambda s: doudizhu.rewards(s, Rules(scoring="adp")))(last)
    assert (np.abs(wp) == 1).all() and (np.sign(adp) == np.sign(wp)).all()
    assert (adp.sum(axis=1) == 0).all() and (np.abs(adp[:, 0]) == 2 * 2.0**last.bombs).all()
    first = jax.tree.map(lambda x: jnp.asarray(x[0, 0]), states)
    assert doudizhu.rewards(first).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "hand, to_beat, move, reason",
    [
        ("345", None, "pass", "pass is not legal here: who leads may not pass"),
        ("345", None, "6", "6 is not legal here: the hand is 345"),
        ("345", "4", "3", "3 is not legal here: it does not beat 4"),
        ("345", "5", "5", "it does not beat 5"),
        ("3344", "5", "44", "it does not beat 5"),
        ("3333BR", "4444", "3333", "it does not beat 4444"),
        ("3333", "BR", "3333", "it does not beat BR"),
        ("333344", "BR", "333344", "it does not beat BR"),
    ],
)
def test_illegal_moves_are_refused_with_the_reason(hand, to_beat, move, reason):
    with pytest.raises(ValueError, match=reason):
        doudizhu.step(scenes.facing(hand, to_beat), moves.from_text(move))


def test_what_strict_bars_is_refused_with_the_reason():
    state = scenes.facing("333444552")
    move = moves.from_text("33344455")
    assert doudizhu.step(state, move).plays[0] == 1
    with pytest.raises(ValueError, match="solos of different ranks"):
        doudizhu.step(state, move, Rules(strict=True))


@pytest.mark.parametrize(
    "move, reason",
    [(-1, "0 to 27471, not -1"), (27472, "not 27472"), (1.0, "whole number"), ([0, 1], "vmap")],
)
def test_what_is_no_move_is_refused(move, reason):
    with pytest.raises(ValueError, match=reason):
        doudizhu.step(scenes.facing("345"), np.array(move))


@pytest.mark.parametrize("move", [-1, moves.NUM_MOVES, moves.PASS, moves.ROCKET, 30])
def test_an_illegal_move_under_jit_ends_the_game_with_nan(move):
    state = scenes.facing("345")
    after = scenes.step_jit(state, jnp.int32(move))
    assert after.terminated and np.isnan(after.rewards).all() and int(after.winner) == -1
    chex.assert_trees_all_equal(after.hands, state.hands)
    again = scenes.step_jit(after, jnp.int32(0))
    assert again.terminated and not again.rewards.any()


@pytest.mark.parametrize(
    "deck, reason",
    [
        (DECK[:53], r"54 ranks, not an array \(53,\)"),
        (np.zeros(54, np.int8), "ranks 0 to 12 four times"),
        (np.where(DECK == 14, 13, DECK), "13 and 14 once"),
    ],
)
def test_impossible_decks_are_refused(deck, reason):
    with pytest.raises(ValueError, match=reason):
        doudizhu.init_from_deck(deck)


@pytest.mark.parametrize(
    "hands, bottom, reason",
    [
        (("333344445555666677BR", "77888899TTTTJJJJQ", HANDS[2]), "7B", "3 cards of the landlord"),
        (("333344445555666677BR", "77888899TTTTJJJJQ", HANDS[2]), "8BR", "of the landlord's hand"),
        (("333344445555666677B", "77888899TTTTJJJJQ", HANDS[2]), "7BR", "hold 0 of R together"),
        (("333344445555666677B", "77888899TTTTJJJJQR", HANDS[2]), "77B", r"not \(19, 18, 17\)"),
        (("333344445555666678BR", "77888899TTTTJJJJQ", HANDS[2]), "BR8", "hold 3 of 7 together"),
    ],
)
def test_impossible_hands_are_refused(hands, bottom, reason):
    with pytest.raises(ValueError, match=reason):
        doudizhu.init_from_hands(np.array([counts(hand) for hand in hands]), counts(bottom))


def test_hands_of_a_wrong_shape_are_refused():
    with pytest.raises(ValueError, match=r"counts \[3, 15\]"):
        doudizhu.init_from_hands(np.zeros((3, 14), np.int8), np.zeros(15, np.int8))
    hands = np.array([counts(hand) for hand in HANDS])
    hands[0, 0], hands[1, 0] = 5, -1
    with pytest.raises(ValueError, match="0 or more"):
        doudizhu.init_from_hands(hands, counts("7BR"))


@pytest.mark.parametrize(
    "fields, reason",
    [
        ({"scoring": "bid"}, "one of"),
        ({"strict": 1}, "True or False"),
        ({"spring": True}, 'needs scoring="adp"'),
    ],
)
def test_impossible_rules_are_refused(fields, reason):
    with pytest.raises(ValueError, match=reason):
        Rules(**fields)


def test_plain_jit_and_vmap_agree():
    states, chosen = scenes.games()
    batch = jax.tree.map(lambda x: x[10], states)
    after = jax.jit(jax.vmap(lambda s, m: doudizhu.step(s, m)))(batch, chosen[10])
    jitted = jax.jit(chex.assert_max_traces(lambda s, m: doudizhu.step(s, m), n=1))
    for game in (0, 5):
        state, move = scenes.one(batch, game), jnp.int32(chosen[10, game])
        expected = jax.tree.map(lambda x, g=game: x[g], after)
        chex.assert_trees_all_equal(doudizhu.step(state, move), jitted(state, move), expected)
        chex.assert_trees_all_equal_shapes_and_dtypes(state, expected)
