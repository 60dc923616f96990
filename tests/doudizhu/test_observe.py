"""What a player sees, that nothing hidden is in it, and states drawn from it."""

import dataclasses

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import doudizhu
from doudizhu import moves
from doudizhu.state import HAND_SIZES
from tests.doudizhu import scenes

NUM = 1000
observe_all = jax.jit(jax.vmap(lambda state, player: doudizhu.observe(state, player)))
determinize_all = jax.jit(jax.vmap(doudizhu.determinize))


@pytest.fixture(scope="module")
def midgame():
    return scenes.midgame(NUM)


def scrambled(states, players):
    """Exchanges the cards that a player cannot see between the two other hands, and no more."""
    rng = np.random.default_rng(1)
    hands = states.hands.copy()
    for i, player in enumerate(players):
        first, second = (player + 1) % 3, (player + 2) % 3
        pile = np.repeat(np.arange(15), hands[i, first] + hands[i, second])
        size = hands[i, first].sum()
        rng.shuffle(pile)
        hands[i, first] = np.bincount(pile[:size], minlength=15)
        hands[i, second] = np.bincount(pile[size:], minlength=15)
    return states.replace(hands=hands)


@pytest.mark.parametrize("place", range(3))
def test_nothing_hidden_is_seen(midgame, place):
    """By the player that moves and by the two after it."""
    players = (midgame.current_player + place) % 3
    other = scrambled(midgame, players)
    differs = (other.hands != midgame.hands).any(axis=2)
    assert differs.any(axis=1).mean() > 0.8 and not differs[np.arange(NUM), players].any()
    chex.assert_trees_all_equal(observe_all(midgame, players), observe_all(other, players))


def test_a_list_of_moves_is_shown_to_its_player_alone(midgame):
    for place in range(3):
        mask = observe_all(midgame, (midgame.current_player + place) % 3).legal_action_mask
        if place:
            assert not mask.any()
        else:
            expected = jax.jit(jax.vmap(lambda s: doudizhu.legal_action_mask(s)))(midgame)
            assert (mask == expected).all() and mask.any(axis=1).all()


def test_what_should_be_seen_is_seen(midgame):
    """Every public field of the state shows, each in its own fields of the observation."""
    players = midgame.current_player
    before = observe_all(midgame, players)
    changes = {
        "bottom": {"bottom"},
        "passes": {"passes"},
        "bombs": {"bombs"},
        "plays": {"plays"},
        "history": {"history"},
        "num_plies": {"num_plies"},
        "owner": {"owner"},
        "to_beat": {"to_beat", "legal_action_mask"},
        "played": {"played", "unseen"},
    }
    hidden = {"hands", "current_player", "terminated", "rewards", "winner"}
    names = {field.name for field in dataclasses.fields(doudizhu.State)}
    assert names == hidden | set(changes)  # a new field has to be sorted in
    for name, seen in changes.items():
        old = getattr(midgame, name)
        if name == "to_beat":
            new = np.where(old == 3, 4, 3).astype(old.dtype)
        elif name == "owner":
            new = (old + 1) % 3
        else:
            new = old + old.dtype.type(1)
        after = observe_all(midgame.replace(**{name: new}), players)
        for field in dataclasses.fields(doudizhu.Observation):
            same = np.asarray(getattr(before, field.name) == getattr(after, field.name))
            assert same.all() == (field.name not in seen), (name, field.name)


def test_shapes_and_types(midgame):
    view = jax.eval_shape(doudizhu.observe, scenes.one(midgame, 0), jnp.int32(0))
    expected = dict.fromkeys(("hand", "unseen", "bottom"), ((15,), "int8"))
    expected |= dict.fromkeys(("num_cards", "plays"), ((3,), "int32"))
    numbers = ("role", "current_player", "to_beat", "owner", "passes", "bombs", "num_plies")
    expected |= dict.fromkeys(numbers, ((), "int32"))
    expected |= {"played": ((3, 15), "int8"), "history": ((154,), "int16")}
    expected |= {"legal_action_mask": ((moves.NUM_MOVES,), "bool")}
    got = {
        field.name: (getattr(view, field.name).shape, str(getattr(view, field.name).dtype))
        for field in dataclasses.fields(view)
    }
    assert got == expected


def test_plain_jit_and_vmap_agree(midgame):
    jitted = jax.jit(chex.assert_max_traces(lambda s, p: doudizhu.observe(s, p), n=1))
    players = np.arange(NUM, dtype=np.int32) % 3
    batch = observe_all(midgame, players)
    for place in (0, NUM - 1):
        state, player = scenes.one(midgame, place), jnp.int32(players[place])
        expected = jax.tree.map(lambda x, i=place: x[i], batch)
        chex.assert_trees_all_equal(doudizhu.observe(state, player), jitted(state, player))
        chex.assert_trees_all_equal(doudizhu.observe(state, int(player)), expected)


@pytest.mark.parametrize("place", range(3))
def test_drawn_states_show_the_same(midgame, place):
    """The player sees what it saw; the cards are all there; the landlord has its bottom cards."""
    players = (midgame.current_player + place) % 3
    seen = observe_all(midgame, players)
    drawn = determinize_all(jax.random.split(jax.random.key(place), NUM), seen)
    chex.assert_trees_all_equal(observe_all(drawn, players), seen)
    chex.assert_trees_all_equal(
        drawn.replace(hands=midgame.hands, rewards=midgame.rewards), midgame
    )
    hands = np.asarray(drawn.hands)
    assert (hands >= 0).all()
    assert (hands.sum(axis=1) + midgame.played.sum(axis=1) == [4] * 13 + [1, 1]).all()
    known = np.maximum(midgame.bottom - midgame.played[:, 0], 0)
    assert (hands[:, 0] >= known).all()
    differs = (hands != midgame.hands).any(axis=(1, 2))
    assert differs.mean() > 0.8
    mean = hands.astype(float).mean(axis=0) - midgame.hands.mean(axis=0)
    assert np.abs(mean).max() < 0.2  # of ranks that are held 1.2 times on average


def test_drawn_states_depend_on_what_is_seen_alone(midgame):
    players = midgame.current_player
    pair = [
        determinize_all(jax.random.split(jax.random.key(5), NUM), observe_all(states, players))
        for states in (midgame, scrambled(midgame, players))
    ]
    chex.assert_trees_all_equal(*pair)


def test_drawn_states_are_even():
    """Landlord-up sees five cards in the others' hands, one a bottom card: the rest is even."""
    state = doudizhu.init(jax.random.key(0))
    hands = np.zeros((3, 15), np.int8)
    hands[0, [0, 1, 2]], hands[1, [3, 4]], hands[2, 5] = 1, 1, 4
    copies = np.array([4] * 13 + [1, 1], np.int8)
    played = np.zeros((3, 15), np.int8)
    played[1] = copies - hands.sum(axis=0)
    bottom = np.eye(15, dtype=np.int8)[2]
    state = state.replace(
        hands=jnp.asarray(hands), played=jnp.asarray(played), bottom=jnp.asarray(bottom)
    )
    num = 6000
    seen = doudizhu.observe(state, 2)
    draw = jax.jit(jax.vmap(doudizhu.determinize, (0, None)))
    drawn = np.asarray(draw(jax.random.split(jax.random.key(3), num), seen).hands)
    assert (drawn[:, 0, 2] == 1).all() and (drawn[:, 2] == hands[2]).all()
    ways, counts = np.unique(drawn[:, 0], axis=0, return_counts=True)
    assert len(ways) == 6  # two of four cards
    assert (np.abs(counts - num / 6) < 5 * np.sqrt(num / 6)).all()


def test_a_finished_game_is_drawn_finished():
    states, _ = scenes.games()
    last = jax.tree.map(lambda x: x[-1], states)
    players = np.arange(scenes.NUM_GAMES, dtype=np.int32) % 3
    keys = jax.random.split(jax.random.key(0), scenes.NUM_GAMES)
    drawn = determinize_all(keys, observe_all(last, players))
    assert drawn.terminated.all() and (drawn.winner == last.winner).all()


def test_the_deal_is_seen_as_dealt():
    seen = doudizhu.observe(doudizhu.init(jax.random.key(0)), 1)
    assert seen.num_cards.tolist() == [HAND_SIZES[1], HAND_SIZES[2], HAND_SIZES[0]]
    assert int(seen.role) == 1 and int(seen.current_player) == 2 and int(seen.owner) == -1


def test_batches_and_other_players_are_refused():
    states = scenes.midgame()
    with pytest.raises(ValueError, match="one game: vmap"):
        doudizhu.observe(states, 0)
    for player in (-1, 3, 1.0):
        with pytest.raises(ValueError, match="player is 0 to 2"):
            doudizhu.observe(scenes.one(states, 0), player)
