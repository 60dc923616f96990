"""Tiles, walls and seats under every option of theirs, against the reference."""

import dataclasses
import re
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mjx
from mjx import state as st
from mjx import tiles
from mjx.rules import PRESETS, Rules
from tests import fuzz, recording
from tests.oracle import actions
from tests.oracle.game import Game
from tests.oracle.rules import Rules as Reference
from tests.oracle.scenes import WAITS_GREEN
from tests.oracle.scripts import run
from tests.oracle.tiles import parse
from tests.oracle.walls import random_wall, wall_with, with_tile_at
from tests.recording import Recording

FLOWERS = Rules(n_flowers=8)
WALL_BREAK = Rules(seat_wind_mode="wall_break")
SEVEN = "f1 f2 f3 f4 f5 f6 f7"
SIX_REPLACED = "1m1m1m1m2m2m2m"


class Hand(NamedTuple):
    """A hand that the reference has played to its end."""

    game: Game
    recording: Recording


def scripted_hand(wall, script, rules):
    """Plays a script, after which seats pass or discard what they drew, to the end."""
    rules = reference(rules)
    played = iter(run(Game(wall, rules=rules), script))

    def choose(game):
        options = game.legal_actions()
        otherwise = actions.PASS if actions.PASS in options else game.drawn
        return next(played, options[0] if otherwise is None else otherwise)

    game = Game(wall, rules=rules)
    return Hand(game, recording.record_game(0, wall, game, choose))


def compare(hands):
    """Replays hands of the same rules in lock step."""
    fuzz.play([hand.recording for hand in hands])


def reference(rules):
    """Gives the reference's rules of the same values."""
    return Reference(**dataclasses.asdict(rules))


def flower_wall(hands, draws="", replacements=""):
    """Builds a wall of 144."""
    return wall_with(hands, draws, replacements, rules=reference(FLOWERS))


def flower_scenes():
    """Lists scripted hands by what is special about them."""
    round_by_round = flower_wall(["f1 f2", "f5", "", ""], "C", "f3 9m 8m 7m")
    twos = SIX_REPLACED
    waits = WAITS_GREEN  # 13 tiles and F
    return {
        "dealt, round by round": scripted_hand(
            with_tile_at(round_by_round, 100, "f4"), "", FLOWERS
        ),
        "the dealer's last tile": scripted_hand(
            flower_wall(["", "", "", ""], "f1", "f2 f3 F"), "", FLOWERS
        ),
        "win on a replacement": scripted_hand(
            flower_wall(["", waits, "", ""], "9s N N N N f2", "f1 f7 F"),
            "0:9s 1:N 2:N 3:N 0:N 1:win",
            FLOWERS,
        ),
        "kong, then flowers": scripted_hand(
            flower_wall(["EEEE", "", "", ""], "9s", "f2 f3 9m"), "0:ankong-E", FLOWERS
        ),
        "last tile": scripted_hand(
            with_tile_at(flower_wall(["", "", "", ""]), 65 + 62, "f1"), "", FLOWERS
        ),
        "eight at the deal": scripted_hand(
            flower_wall(["", SEVEN + "f8", "", ""], "9s", "1m1m1m1m2m2m2m"), "", FLOWERS
        ),
        "eighth robbed at the deal": scripted_hand(
            flower_wall(["", SEVEN, "f8", ""], "9s", twos), "", FLOWERS
        ),
        # The dealer's one flower is exposed before the seven: nobody robs the eighth.
        "eighth is the seventh of a seat": scripted_hand(
            flower_wall(["", SEVEN, "", ""], "f8", "1m1m1m1m2m2m2m3m"), "", FLOWERS
        ),
        "eighth is the dealer's last": scripted_hand(
            flower_wall([SEVEN, "", "", ""], "f8", twos), "", FLOWERS
        ),
        "eight": scripted_hand(flower_wall(["", SEVEN, "", ""], "9s f8", twos), "0:9s", FLOWERS),
        "eighth robbed": scripted_hand(
            flower_wall(["", SEVEN, "", ""], "9s N f8", twos), "0:9s 1:N", FLOWERS
        ),
        # Seat 3 passes a win, and then seat 1 draws the flower that it may not take.
        "locked with seven": scripted_hand(
            flower_wall(["", "", "", SEVEN + "123456789m"], "F f8", "123p 123s F"),
            "0:F 3:pass",
            FLOWERS,
        ),
    }


def test_scripted_flowers():
    scenes = flower_scenes()
    compare(scenes.values())
    games = {name: hand.game for name, hand in scenes.items()}
    flowers = {name: game.flowers for name, game in games.items()}
    assert flowers["dealt, round by round"][0][:3] == [1, 2, 3]
    assert flowers["dealt, round by round"][1] == [5]
    assert flowers["the dealer's last tile"][0][:3] == [1, 2, 3]
    assert games["win on a replacement"].winner == 1
    assert flowers["kong, then flowers"][0][:2] == [2, 3]
    assert flowers["last tile"][3] == [1] and games["last tile"].winner is None
    for name in ("eight at the deal", "eight"):
        assert (games[name].winner, games[name].tai_items) == (1, {"baxian": 8})
    dealer = games["eighth is the dealer's last"]
    assert (dealer.winner, dealer.tai_items) == (0, {"baxian": 8})
    assert games["eighth is the seventh of a seat"].history
    for name, seat in (("eighth robbed at the deal", 2), ("eighth robbed", 2)):
        assert (games[name].winner, games[name].tai_items) == (1, {"qiqiangyi": 8})
        assert np.argmin(games[name].rewards) == seat
    locked = games["locked with seven"]
    assert locked.flowers[1] == [8] and len(locked.flowers[3]) == 7
    assert "qiqiangyi" not in locked.tai_items


def test_an_item_without_tai_does_not_end_the_hand():
    rules = Rules(n_flowers=8, baxian=0, qiqiangyi=0)
    walls = [
        flower_wall(["", SEVEN, "", ""], draws, SIX_REPLACED) for draws in ("9s f8", "9s N f8")
    ]
    hands = [scripted_hand(wall, "0:9s", rules) for wall in walls]
    compare(hands)
    assert not any("baxian" in hand.game.tai_items for hand in hands)
    assert all(len(hand.game.history) > 2 for hand in hands)


def test_thirteen_draws_to_the_last_tile():
    rules = PRESETS["thirteen"]
    assert rules == Rules(hand_tiles=13, reserve=0)
    state = mjx.init_from_wall(np.array(random_wall(0, reference(rules)), np.int8), rules)
    assert int(st.drawable(state, rules)) == 136 - 53
    assert state.history.shape == (100,)  # 1 + 83 draws + 16 calls


def test_flowers_are_seen_and_drawn():
    wall = np.array(flower_wall(["f1 f2", "", "f5", ""], "C", "9m 8m 7m"), np.int8)
    state = mjx.init_from_wall(wall, FLOWERS)
    view = mjx.observe(state, 2, FLOWERS)
    assert np.argwhere(view.flowers).tolist() == [[0, 4], [2, 0], [2, 1]]
    rows = [re.findall("f[1-8]", row) for row in mjx.render(state, rules=FLOWERS).split("\n")]
    assert [row for row in rows if row] == [["f1", "f2"], ["f5"]]
    assert mjx.observe(mjx.init(jax.random.key(0)), 0).flowers is None
    assert len(tiles.NAMES) == 34 and tiles.WALL_NAMES[34:] == tuple(f"f{i}" for i in range(1, 9))
    assert len({tiles.glyph(kind) for kind in range(42)}) == 42


def test_concealed_kong_is_shown_as_backs():
    rules = Rules(concealed_kong_shown=False)
    wall = np.array(wall_with(["EEEE", "", "", ""]), np.int8)
    east = parse("E")
    state = mjx.step(mjx.init_from_wall(wall, rules), mjx.actions.CONCEALED_KONG + east, rules)
    for seat in range(4):
        view = mjx.observe(state, seat, rules)
        assert int(view.unseen[east]) == (0 if seat == 0 else 4)
        assert bool(view.concealed_kongs[-seat % 4, east]) == (seat == 0)
        text = mjx.render(state, seat, rules).split("\n")[1]
        assert ("[" in text) and ("E" in text.split("|")[1]) == (seat == 0)
    assert "E" in mjx.render(state, rules=rules).split("\n")[1].split("|")[1]


def test_dice_come_from_the_key_and_leave_its_wall():
    def deal(seed, rules):
        return mjx.init(jax.random.key(seed), rules, dealer=2)

    seeds = jnp.arange(600)
    states = jax.vmap(lambda seed: deal(seed, WALL_BREAK))(seeds)
    plain = jax.vmap(lambda seed: deal(seed, mjx.DEFAULT))(seeds)
    np.testing.assert_array_equal(states.wall, plain.wall)
    dice = np.asarray(states.dice_sum)
    assert 3 <= dice.min() < 6 and 15 < dice.max() <= 18
    # Three dice: 10.5 on average, variance 35 / 4.
    assert abs(dice.mean() - 10.5) < 4 * np.sqrt(35 / 4 / 600)
    winds = jax.vmap(lambda s: mjx.observe(s, 2, WALL_BREAK).seat_wind)(states)
    np.testing.assert_array_equal(winds, (1 - dice) % 4)
    assert plain.dice_sum is None


def test_seat_winds_of_a_throw_are_drawn():
    wall = np.array(random_wall(0), np.int8)
    state = mjx.init_from_wall(wall, WALL_BREAK, dealer=2, dice_sum=8)  # east is seat 1
    lines = mjx.render(state, rules=WALL_BREAK).split("\n")[1::2][:4]
    assert [line[4] for line in lines] == ["N", "E", "S", "W"]


@pytest.mark.parametrize(
    "rules, dice_sum, said",
    [
        (WALL_BREAK, None, "needs a dice_sum of 3 to 18"),
        (WALL_BREAK, 2, "dice_sum is 3 to 18, not 2"),
        (WALL_BREAK, 19, "dice_sum is 3 to 18, not 19"),
        (mjx.DEFAULT, 3, "dice_sum is given with"),
    ],
)
def test_bad_throw_is_refused(rules, dice_sum, said):
    with pytest.raises(ValueError, match=said):
        mjx.init_from_wall(np.array(random_wall(0), np.int8), rules, dice_sum=dice_sum)


def test_bad_wall_with_flowers_is_refused():
    wall = np.array(random_wall(0, reference(FLOWERS)), np.int8)
    with pytest.raises(ValueError, match="A wall is 136 kinds, not an array"):
        mjx.init_from_wall(wall)
    with pytest.raises(ValueError, match="A wall is 144 kinds, not an array"):
        mjx.init_from_wall(wall[:136], FLOWERS)
    wall[wall == 41] = 40
    with pytest.raises(ValueError, match="each of the flowers 34 to 41 once"):
        mjx.init_from_wall(wall, FLOWERS)


def test_wall_of_a_key_is_uniform_with_flowers():
    keys = jax.random.split(jax.random.key(3), 2000)
    walls = np.asarray(jax.vmap(lambda key: st.shuffle(key, FLOWERS))(keys))
    assert (np.sort(walls, axis=1) == st.all_tiles(FLOWERS)).all()
    share = (walls >= 34).mean(axis=0)  # of flowers at each place: 8 of 144
    assert abs(share - 8 / 144).max() < 5 * np.sqrt(8 / 144 / 2000)


def test_plain_jit_and_vmap_agree():
    rules = Rules(n_flowers=8, wall_mode="stable_draw", seat_wind_mode="wall_break")

    def deal(seed):
        return mjx.init(jax.random.key(seed), rules, dealer=3)

    batch = jax.jit(jax.vmap(deal))(jnp.arange(3))
    for i in range(3):
        one = deal(i)
        same = jax.tree.map(lambda x, y, i=i: bool(jnp.array_equal(x[i], y)), batch, one)
        assert jax.tree.all(same)
