"""Tables as text: read back tile by tile, and what another seat's view leaves out."""

import re

import jax
import numpy as np
import pytest

import mjx
from mjx import tiles
from mjx.rules import DEFAULT, Rules
from tests import lockstep
from tests.oracle.scenes import LOCKS, SCENES, WINS

TILE = re.compile("\\S\N{VARIATION SELECTOR-15}([1-9][mps]|[ESWNCFP])")


def at_the_end_of(scene):
    """Plays a scene in both games."""
    game, played = scene.play_all()
    state = lockstep.deal_jit(
        np.array(scene.wall, np.int8), DEFAULT, scene.dealer, scene.round_wind, scene.streak
    )
    for action in played:
        state = lockstep.step_jit(state, action, DEFAULT)
    return game, state


def kinds_in(text):
    """Reads the tiles of a text: picture, text selector, name; the two agree."""
    names = TILE.findall(text)
    for name in names:
        assert tiles.glyph(tiles.NAMES.index(name)) + name in text
    return sorted(tiles.NAMES.index(name) for name in names)


def as_kinds(counts):
    """Lists kinds by their counts."""
    return [kind for kind, count in enumerate(counts) for _ in range(count)]


def seat_rows(text):
    """Splits a picture into its parts: for each seat what it holds, melds, and discards."""
    lines = text.split("\n")[1:9]
    return [(*lines[2 * s].partition("  | ")[::2], lines[2 * s + 1]) for s in range(4)]


@pytest.mark.parametrize(
    "name", ["all_claims", "four_kongs", "rob_kong", "pong_leaves_it_incomplete", "open_kong"]
)
def test_picture_shows_all_tiles(name):
    game, state = at_the_end_of((SCENES | WINS | LOCKS)[name])
    for seat, (hand, melds, river) in enumerate(seat_rows(mjx.render(state))):
        assert hand[2] == str(seat) and hand[4] == "ESWN"[game.seat_wind(seat)]
        assert kinds_in(hand) == as_kinds(game.hands[seat])
        assert kinds_in(river) == as_kinds(game.rivers[seat])
        expected = []
        for form, kind in game.melds[seat]:
            run = (kind, kind + 1, kind + 2)
            expected += run if form == "chow" else (kind,) * (3 if form == "pong" else 4)
        assert kinds_in(melds) == sorted(expected)
        assert melds.count("[") == sum(form == "ankong" for form, _ in game.melds[seat])
        is_turn = not game.terminated and seat == game.current_player
        assert hand.startswith(">") == is_turn


def test_discards_keep_their_order():
    _, state = at_the_end_of(SCENES["passed_win"])
    assert TILE.findall(seat_rows(mjx.render(state))[0][2]) == ["2m"]
    _, state = at_the_end_of(LOCKS["lifted_then_won"])
    rivers = [TILE.findall(row[2]) for row in seat_rows(mjx.render(state))]
    # Seats throw 2m 5m N 9s C C C; seat 3 then draws the 5m it waits for.
    assert rivers == [["2m", "C"], ["5m", "C"], ["N", "C"], ["9s"]]


def test_only_the_viewer_sees_its_hand():
    game, state = at_the_end_of(SCENES["all_claims"])
    for viewer in range(4):
        for seat, (hand, _, river) in enumerate(seat_rows(mjx.render(state, viewer))):
            if seat == viewer:
                assert kinds_in(hand) == as_kinds(game.hands[seat])
            else:
                assert not TILE.search(hand) and f"({sum(game.hands[seat])} tiles)" in hand
            assert kinds_in(river) == as_kinds(game.rivers[seat])


def test_first_line_is_the_table():
    scene = SCENES["all_claims"]
    state = lockstep.deal_jit(np.array(scene.wall, np.int8), DEFAULT, 2, 3, 4)
    first = mjx.render(state).split("\n")[0]
    assert first == "round N · dealer 2 · streak 4 · 55 tiles to draw"
    without_reserve = mjx.render(state, rules=Rules(reserve=0)).split("\n")[0]
    assert without_reserve.endswith("71 tiles to draw")


def test_last_line_is_the_question():
    _, state = at_the_end_of(SCENES["all_claims"])
    assert mjx.render(state).split("\n")[-1] == f"asked about {tiles.glyph(13)}5p: seat 3"
    _, state = at_the_end_of(SCENES["rob_kong"])
    assert mjx.render(state).split("\n")[-1] == f"asked about {tiles.glyph(4)}5m: seat 1"


@pytest.mark.parametrize(
    "name, said",
    [
        ("tianhu", "end: seat 0: self-draw"),
        ("dealer_discards", "end: seat 2: won on a discard"),
    ],
)
def test_last_line_is_the_end(name, said):
    game, state = at_the_end_of(WINS[name])
    points = ", ".join(f"{int(p):+d}" for p in game.rewards)
    assert mjx.render(state).split("\n")[-1] == f"{said} · points {points}"


def test_other_ends():
    _, state = at_the_end_of(SCENES["rob_kong"])
    robbed = lockstep.step_jit(state, mjx.actions.WIN, DEFAULT)
    assert "seat 1: robbed a kong · points -" in mjx.render(robbed)
    illegal = lockstep.step_jit(state, 0, DEFAULT)
    assert mjx.render(illegal).split("\n")[-1] == "end: illegal action · points ?, ?, ?, ?"
    _, state = at_the_end_of(SCENES["last_discard"])
    state = lockstep.step_jit(state, tiles.parse_kinds("F")[0], DEFAULT)
    while not state.terminated:
        state = lockstep.step_jit(state, mjx.actions.PASS, DEFAULT)
    assert mjx.render(state).split("\n")[-1] == "end: drawn · points +0, +0, +0, +0"


def test_what_cannot_be_drawn_is_refused():
    _, state = at_the_end_of(SCENES["all_claims"])
    batch = jax.tree.map(lambda x: np.stack([x, x]), state)
    with pytest.raises(ValueError, match=r"one hand.*jax\.tree\.map"):
        mjx.render(batch)
    for seat in (-1, 4):
        with pytest.raises(ValueError, match=f"seat is 0 to 3, not {seat}"):
            mjx.render(state, seat)
