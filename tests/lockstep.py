"""Plays the reference and the JAX game side by side, and compares all that can be compared."""

import functools
from collections.abc import Callable, Iterable

import jax
import jax.numpy as jnp
import numpy as np

import mjx
from mjx import packed
from mjx import state as st
from tests.fuzz import ENDINGS, game_rules
from tests.oracle.game import Game

deal_jit = jax.jit(mjx.init_from_wall, static_argnames="rules")
step_jit = jax.jit(mjx.step, static_argnames="rules")


@functools.partial(jax.jit, static_argnames="rules")
def _shown(state: mjx.State, rules: mjx.Rules) -> dict:
    """Computes all that is compared in one call."""
    views = jax.vmap(lambda seat: mjx.observe(state, seat, rules))(jnp.arange(4))
    hands = packed.to_counts(state.hands.to_array())
    mask = state.legal_action_mask
    return {"state": state, "views": views, "hands": hands, "mask": mask}


def deal_like(game: Game, wall: list[int]) -> mjx.State:
    """Deals the wall of a reference game that has just been dealt."""
    rules = game_rules(game.rules)
    return deal_jit(np.array(wall, np.int8), rules, game.dealer, game.round_wind, game.streak)


def follow(game: Game, state: mjx.State, choose: Callable[[Game], int]) -> mjx.State:
    """Plays both to the end, comparing before each decision."""
    while not game.terminated:
        compare(game, state)
        action = choose(game)
        game.step(action)
        state = step_jit(state, action, game_rules(game.rules))
    compare(game, state)
    return state


def replay(game: Game, state: mjx.State, actions: Iterable[int]) -> mjx.State:
    """Plays given actions in both, comparing before each and after the last."""
    for action in actions:
        compare(game, state)
        game.step(action)
        state = step_jit(state, action, game_rules(game.rules))
    compare(game, state)
    return state


def compare(game: Game, state: mjx.State) -> None:
    """Asserts that both are in the same state."""
    rules = game_rules(game.rules)
    shown = jax.device_get(_shown(state, rules))
    state = shown["state"]
    assert bool(state.terminated) == game.terminated
    assert (shown["hands"] == np.array(game.hands)).all()
    assert [int(state.locked) >> seat & 1 for seat in range(4)] == game.locked
    assert int(st.drawable(state, rules)) == game.drawable
    for seat in range(4):
        compare_view(game, jax.tree.map(lambda field, s=seat: field[s], shown["views"]), seat)
    if game.terminated:
        compare_end(game, state)
        assert shown["mask"].all()
        return
    assert int(state.current_player) == game.current_player
    assert list(np.flatnonzero(shown["mask"])) == game.legal_actions()
    assert int(state.drawn) == (-1 if game.drawn is None else game.drawn)


def compare_view(game: Game, view: mjx.Observation, seat: int) -> None:
    """Asserts that a seat sees the reference's table, turned to itself."""
    turned = [(seat + place) % 4 for place in range(4)]
    assert (view.hand == np.array(game.hands[seat])).all()
    assert (view.discards == np.array([game.rivers[s] for s in turned])).all()
    assert list(view.num_concealed) == [sum(game.hands[s]) for s in turned]
    assert bool(view.locked) == game.locked[seat]
    assert int(view.seat_wind) == game.seat_wind(seat)
    melds = {"chow": view.chows, "pong": view.pongs}
    melds |= {"kong": view.kongs, "ankong": view.concealed_kongs}
    for place, other in enumerate(turned):
        for form, seen in melds.items():
            expected = np.zeros(34, int)
            for kind in (k for f, k in game.melds[other] if f == form):
                expected[kind] += 1
            assert (seen[place] == expected).all(), form
    said = [(seat_of, kind, drawn) for seat_of, kind, drawn in game.history]
    num = len(said)
    seats = [(int(s) + seat) % 4 for s in view.history_seat[:num]]
    seen = zip(seats, view.history_kind[:num], view.history_drawn[:num], strict=True)
    assert [(s, int(k), bool(d)) for s, k, d in seen] == said
    assert (view.history_kind[num:] == -1).all()
    others = [s for s in range(4) if s != seat]
    hidden = np.sum([game.hands[s] for s in others], axis=0) + np.bincount(
        game.wall.left(), minlength=34
    )
    assert (view.unseen == hidden).all()


def compare_end(game: Game, state: mjx.State) -> None:
    """Asserts that both ended in the same way, with the same payments."""
    if game.winner is None:
        assert int(state.ending) == st.DRAWN and int(state.winner) == -1
    else:
        assert int(state.ending) == ENDINGS[game.win_by] and int(state.winner) == game.winner
    assert list(state.rewards) == game.rewards
