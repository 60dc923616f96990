"""The options of claims and turns, each in a hand that needs it, against the reference."""

import dataclasses
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjx
from mjx import actions, claims, packed
from mjx import state as st
from mjx.step import advance
from tests.oracle import legal
from tests.oracle.game import Game
from tests.oracle.rules import Rules as Reference
from tests.oracle.scenes import LOCKS, SCENES, WAITS_GREEN, WINS
from tests.oracle.scripts import Scene
from tests.oracle.tiles import parse
from tests.oracle.walls import wall_with

PONG = Scene(wall_with(["", "555p 258m 258s ESWNCFP", "", ""], "5p"), "0:5p 1:pong")
OPEN_KONG = Scene(WINS["open_kong"].wall, "0:5p 1:kong")
KONG_TWICE = Scene(WINS["own_kong_after_an_open_kong"].wall, "0:5p 1:kong 1:ankong-9m")
TIANTING = wall_with(["", WAITS_GREEN, "", ""], "1p 9s N N 2s 3p F")
DITING = wall_with(["", "EEE 123m 123p 123s 99s FP", "", ""], "N F N N N E", replacements="P")
LIGU = wall_with(["", "1144m 2255p 3366s EESS", "", ""], "9p 4m E")
FOUR_KONGS = "0:ankong-1m 0:ankong-3p 0:ankong-5s 0:ankong-E"


def scene(base, script="", **fields):
    """Changes the rules of a scene and goes on with it."""
    rules = dataclasses.replace(base.rules, **fields)
    return dataclasses.replace(base, rules=rules, script=f"{base.script} {script}")


# What the seat to act may do at the end: actions that are there, and some that are not.
LEGAL = {
    "ron_only": (scene(SCENES["passed_win_then_drawn"], guoshui="ron_only"), "win", ""),
    "until_discard": (scene(SCENES["passed_win_then_drawn"], guoshui="until_discard"), "", "win"),
    "guoshui_off": (scene(SCENES["passed_win"], "1:5m", guoshui="off"), "win", ""),
    "pong_free": (scene(PONG, swap_calling="same"), "discard 5p", ""),
    "pong_barred": (scene(PONG, swap_calling="same_and_suji"), "", "discard 5p"),
    "chow_low": (SCENES["chow_low_no_suji"], "", "discard 5m"),
    "chow_low_same": (scene(SCENES["chow_low_no_suji"], swap_calling="same"), "discard 5m", ""),
    "chow_high": (SCENES["chow_high_no_same"], "", "discard 3m"),
    "upstream_kong": (SCENES["upstream_kong"], "pong", "open_kong"),
    "open_kong": (OPEN_KONG, "win", ""),
    "open_kong_barred": (scene(OPEN_KONG, open_kong_win=False), "", "win"),
    "own_kong_barred_too": (scene(KONG_TWICE, open_kong_win=False), "", "win"),
    "tail_calls": (scene(SCENES["all_claims"], "3:pass", tail_no_calls=54), "pong", ""),
    "tail_no_calls": (scene(SCENES["all_claims"], "3:pass", tail_no_calls=55), "", "pong"),
    "min_tai": (scene(SCENES["rob_kong"], min_tai=3), "win", ""),
    "ligu": (Scene(LIGU, "0:9p", rules=Reference(ligu=8)), "win", ""),
    "no_ligu": (Scene(LIGU, "0:9p"), "", "win"),
    "tianting": (
        Scene(TIANTING, rules=Reference(tianting=8)),
        "declare_ready, pass",
        "discard 1p",
    ),
    "tianting_declared": (
        Scene(TIANTING, "1:declare 0:1p", rules=Reference(tianting=8)),
        "discard 9s",
        "discard 1m",
    ),
    "tianting_passed": (
        Scene(TIANTING, "1:pass 0:1p", rules=Reference(tianting=8)),
        "chow_low",
        "",
    ),
    "diting": (Scene(DITING, "0:N 1:P", rules=Reference(diting=4)), "declare_ready, pass", "win"),
    "diting_kong": (
        Scene(DITING, "0:N 1:P 1:declare 2:N 3:N 0:N", rules=Reference(diting=4)),
        "concealed_kong E, discard E",
        "discard 9s",
    ),
}
LOCKED = {
    "until_discard": (scene(SCENES["passed_win_then_drawn"], guoshui="until_discard"), [3]),
    "lifted": (scene(SCENES["passed_win_then_drawn"], "3:E", guoshui="until_discard"), []),
    "kong_declines": (scene(LOCKS["kong_declines_the_win"], guoshui="until_discard"), [0]),
    "ron_only": (scene(SCENES["passed_win_then_drawn"], guoshui="ron_only"), [3]),
    "ron_only_self_draw": (scene(SCENES["passed_self_draw"], guoshui="ron_only"), []),
    "ron_only_robbery": (scene(LOCKS["passed_robbery"], guoshui="ron_only"), [1]),
    "off": (scene(LOCKS["passed_robbery"], guoshui="off"), []),
    "barred_win": (scene(OPEN_KONG, "1:9m", open_kong_win=False), []),
    "too_few_tai": (scene(SCENES["rob_kong"], min_tai=4), []),
}


def deal(game, wall):
    """Deals the wall of a reference game under its rules."""
    rules = mjx.Rules(**dataclasses.asdict(game.rules))
    dealt = (game.dealer, game.round_wind, game.streak)
    return mjx.init_from_wall(np.array(wall, np.int8), rules, *dealt), rules


def compare(game, state):
    """Asserts that both let the same seat do the same."""
    assert bool(state.terminated) == game.terminated
    assert [int(state.locked) >> seat & 1 for seat in range(4)] == game.locked
    if not game.terminated:
        assert int(state.current_player) == game.current_player
        assert list(np.flatnonzero(state.legal_action_mask)) == game.legal_actions()


def replay(base):
    """Plays a scene in both games, comparing before each action and after the last."""
    played, game = base.play_all()[1], base.new_game()
    state, rules = deal(game, base.wall)
    for action in [*played, None]:
        compare(game, state)
        if action is not None:
            game.step(action)
            state = advance(state, jnp.int32(action), rules)
    return state, rules


@pytest.mark.parametrize("name", LEGAL)
def test_option_decides_what_is_legal(name):
    base, there, missing = LEGAL[name]
    state, _ = replay(base)
    found = {actions.NAMES[i] for i in np.flatnonzero(state.legal_action_mask)}
    assert found >= set(filter(None, there.split(", ")))
    assert not found & set(filter(None, missing.split(", ")))


@pytest.mark.parametrize("name", LOCKED)
def test_option_decides_who_is_locked(name):
    base, locked = LOCKED[name]
    state, _ = replay(base)
    assert [seat for seat in range(4) if int(state.locked) >> seat & 1] == locked


def play_on(state, rules, *played):
    """Plays further actions."""
    for action in played:
        state = advance(state, jnp.int32(action), rules)
    return state


def test_several_winners():
    """All are asked, whatever the others say; the first in turn order is the winner."""
    state, rules = replay(SCENES["three_winners"])
    for answers, winners in (("WWW", 0b1110), ("PWP", 0b0100), ("WPW", 0b1010), ("PPW", 0b1000)):
        state_t = state
        for seat, answer in enumerate(answers, 1):
            assert int(state_t.current_player) == seat and not state_t.terminated
            state_t = play_on(state_t, rules, actions.WIN if answer == "W" else actions.PASS)
        assert state_t.terminated and int(state_t.ending) == st.ON_DISCARD
        assert int(state_t.winners) == winners
        assert int(state_t.winner) == answers.index("W") + 1
        assert int(state_t.pending) == parse("5p")
        again = play_on(state_t, rules, actions.PASS)
        assert all(map(np.array_equal, jax.tree.leaves(again), jax.tree.leaves(state_t)))


def test_a_win_is_not_shown_to_who_is_asked_next():
    state, rules = replay(SCENES["three_winners"])
    won, passed = (play_on(state, rules, action) for action in (actions.WIN, actions.PASS))
    for seat in (0, 2, 3):
        one, other = (mjx.observe(after, seat, rules) for after in (won, passed))
        assert all(map(np.array_equal, jax.tree.leaves(one), jax.tree.leaves(other)))


def test_an_illegal_answer_ends_the_hand_among_several_winners():
    state, rules = replay(SCENES["three_winners"])
    step = jax.jit(lambda s, a: mjx.step(s, a, rules))
    after = step(step(state, actions.WIN), 5)
    assert after.terminated and int(after.ending) == st.ILLEGAL
    assert int(after.winner) == -1 and int(after.winners) == 0
    again = step(after, actions.PASS)
    after = after.replace(rewards=jnp.zeros(4))
    assert all(map(np.array_equal, jax.tree.leaves(again), jax.tree.leaves(after)))


@pytest.mark.parametrize(("rules", "ends"), [({}, True), ({"min_tai": 9}, False)])
def test_four_kongs_end_the_hand(rules, ends):
    base = scene(SCENES["four_kongs"], sigangpai=8, **rules)
    state, rules = replay(dataclasses.replace(base, script=FOUR_KONGS))
    assert bool(state.terminated) == ends
    assert int(state.ending) == (st.FOUR_KONGS if ends else st.RUNNING)
    assert int(state.winner) == (0 if ends else -1)
    assert int(st.drawable(state, rules)) == 55 - (3 if ends else 4)
    if ends:
        again = play_on(state, rules, actions.PASS)
        assert all(map(np.array_equal, jax.tree.leaves(again), jax.tree.leaves(state)))


def test_question_about_readiness_shows_nothing_of_others():
    """The asked seat sees no tile in question, and not what the dealer has drawn."""
    state, rules = replay(Scene(TIANTING, rules=Reference(tianting=8)))
    assert int(state.drawn) == parse("1p") and int(state.pending) == -1
    for seat in range(4):
        view = mjx.observe(state, seat, rules)
        assert int(view.drawn) == int(view.pending) == int(view.pending_seat) == -1
        assert int(view.current_player) == (0 if seat == 1 else -1)
        assert bool(view.legal_action_mask.any()) == (seat == 1)
        assert not view.ready.any()
    state = play_on(state, rules, actions.DECLARE_READY)
    assert int(state.current_player) == 0 and int(state.drawn) == parse("1p")
    assert [list(mjx.observe(state, seat, rules).ready).index(1) for seat in range(4)] == [
        *(1, 0, 3, 2)
    ]
    assert int(mjx.observe(state, 0, rules).drawn) == parse("1p")

    state, rules = replay(Scene(DITING, "0:N 1:P", rules=Reference(diting=4)))
    views = [mjx.observe(state, seat, rules) for seat in range(4)]
    assert all(int(view.pending) == -1 for view in views)


def test_rules_without_an_option_remember_nothing_of_it():
    state = mjx.init(jax.random.key(0))
    for field in ("winners", "ready", "barred", "win_barred"):
        assert getattr(state, field) is None
    assert mjx.observe(state, 0).ready is None


@pytest.mark.parametrize("mode", ["same", "same_and_suji"])
def test_a_chow_must_leave_a_discard(mode):
    """Small hands of one suit, where the barred kinds may be all that is left."""
    rng, game = random.Random(0), Game(PONG.wall, rules=Reference(swap_calling=mode))
    rules = mjx.Rules(swap_calling=mode)
    kinds, hands, expected = [], [], []
    for _ in range(600):
        kind, num_tiles = rng.randrange(9), rng.choice((4, 4, 7))
        near = [k for k in range(kind - 3, kind + 4) if 0 <= k < 9]
        held = rng.sample([k for k in near for _ in range(3)], num_tiles)
        kinds.append(kind)
        hands.append([held.count(k) for k in range(34)])
        game.hands[1] = hands[-1]
        expected.append(legal._chow_actions(game, 1, kind))

    def chows(counts, kind):
        words = tuple(packed.from_counts(counts))
        bits = claims.chow_bits(words[0], kind)
        return bits, bits & claims.chows_with_discard(words, kind, rules)

    runs, kept = jax.jit(jax.vmap(chows))(np.array(hands), np.array(kinds, np.int32))
    found = [[actions.CHOW_LOW + i for i in range(3) if bits >> i & 1] for bits in kept.tolist()]
    assert found == expected
    assert (runs != kept).sum() > 5


def test_illegal_action_while_readiness_is_asked():
    state, rules = replay(Scene(TIANTING, rules=Reference(tianting=8)))
    with pytest.raises(ValueError, match="Legal: pass, declare_ready"):
        mjx.step(state, actions.WIN, rules)
