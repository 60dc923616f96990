"""The BDI robot: its reference, figures worked out by hand, its parts swapped, its temperament."""

import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from agents import policy
from agents.bdi import describe as words
from agents.bdi import intentions, matcher, rearrange, robot, settings, take_out, tile_bytes
from agents.bdi.goals import NO_GOAL
from mjx import actions, packed, tiles
from tests import bdi, decisions, scenes_of_play
from tests.oracle import bdi as oracle

AS_PRINTED = settings.of()


def _word(text: str) -> jax.Array:
    """Packs the characters of a hand string."""
    return packed.from_counts(jnp.array(tiles.parse(text)))[0]


def _ar(text: str, obtainable: str, unseen: list[int], partial_runs: bool = False):
    """Rearranges characters; returns `Ar` as digits and `p`."""
    marks = packed.at_least(_word(obtainable), 1)
    kept = rearrange.rearrange(_word(text), marks, jnp.bool_(True), partial_runs)
    ranks = np.asarray(rearrange.sequence(kept, jnp.array(unseen)))
    written = "".join(str(rank + 1) for rank in ranks if rank >= 0)
    return written, (int(kept.need.out), int(kept.need.take))


@pytest.mark.parametrize(
    ("hand", "obtainable", "unseen", "partial_runs", "ar", "p"),
    [
        # 123 first though 4 is left over; 4 has more copies to come than 9
        ("12349m", "123456789m", [1, 1, 1, 3, 4, 4, 4, 4, 2], False, "12349", (2, 0)),
        # 2 and 4 are held more than once, so no run goes first; 222, then 345
        ("22234456m", "123456789m", [2] * 9, False, "22234546", (2, 0)),
        ("112233m", "123456789m", [2] * 9, False, "123123", (0, 0)),
        # a live pair stays, a dead one goes before the singles do
        ("2255m9m", "2m", [0, 2, 0, 0, 0, 0, 0, 0, 0], False, "22559", (3, 1)),
        # printed: 2-3 and 6-8 are four singles, equal copies by rank
        ("2368m", "123456789m", [4] * 9, False, "2368", (4, 0)),
        ("2368m", "123456789m", [4] * 9, True, "2368", (0, 2)),
        # 7 is gone, so 6-8 is nothing; 1 and 4 are gone, so 2-3 is nothing
        ("2368m", "235689m", [0, 2, 1, 0, 2, 3, 0, 4, 4], True, "8623", (4, 0)),
    ],
)
def test_rearrangement_by_hand(hand, obtainable, unseen, partial_runs, ar, p):
    assert _ar(hand, obtainable, unseen, partial_runs) == (ar, p)


@pytest.mark.slow
@pytest.mark.parametrize("one", [bdi.ROBOTS[i] for i in (0, 2, 3)])
def test_equals_the_reference(one):
    for seed in range(3):
        bdi.check_block(seed, one)


@pytest.mark.slow
def test_equals_the_reference_in_real_games():
    player = policy.load("bdi")
    seen = scenes_of_play.decisions(player, seed=2, batch=8, steps=70)
    rows = np.sort(np.random.default_rng(0).permutation(len(seen.pending))[: bdi.BLOCK])
    assert len(rows) > 300
    rows = np.resize(rows, bdi.BLOCK)  # so that nothing is compiled anew
    some = jax.tree.map(lambda leaf: np.asarray(leaf)[rows], seen)
    cases = [bdi.case_of(some, row) for row in range(bdi.BLOCK)]
    bdi.compare(cases, some, oracle.Robot(), "real games")


def test_tiles_are_bytes():
    """Characters 0x01-0x09, bamboo from 0x11, dots from 0x21, honours 0x31-0x37."""
    kinds = jnp.arange(34)
    named = dict(zip(tiles.NAMES, np.asarray(tile_bytes.to_byte(kinds)).tolist(), strict=True))
    assert (named["1m"], named["9m"], named["5s"], named["5p"]) == (0x01, 0x09, 0x15, 0x25)
    assert [named[honour] for honour in tiles.HONOURS] == [0x31 + i for i in range(7)]
    np.testing.assert_array_equal(tile_bytes.from_byte(tile_bytes.to_byte(kinds)), kinds)
    np.testing.assert_array_equal(tile_bytes.by_kind(tile_bytes.by_suit(kinds)), kinds)


def test_flags_are_a_byte():
    mask = np.zeros(actions.NUM_ACTIONS, bool)
    mask[[actions.CHOW_HIGH, actions.OPEN_KONG, actions.PASS]] = True
    assert int(matcher.behaviours(jnp.array(mask))) == 0b101010
    mask[:] = False
    mask[[3, actions.ADDED_KONG, actions.WIN, actions.DECLARE_READY]] = True
    assert int(matcher.behaviours(jnp.array(mask))) == 0b1011001


def _seen(text: str, pending: int = -1, legal: tuple[int, ...] = (), drawable: int = 40):
    """Shows one decision with all other tiles unseen."""
    hand = tiles.parse(text)
    unseen = [4 - held for held in hand]
    if pending >= 0:
        unseen[pending] -= 1
    legal = legal or tuple(kind for kind in range(34) if hand[kind])
    case = oracle.Decision(hand, unseen, [0] * 34, pending, drawable, frozenset(legal))
    return jax.tree.map(jnp.asarray, bdi.observe([case]))


@functools.partial(jax.jit, static_argnums=1)
def _think(seen, how):
    return robot.think(seen, seen.legal_action_mask, how)


def _act(name, seen) -> str:
    """Acts on one decision."""
    player = _player(name)
    key = jax.random.split(jax.random.key(0), 1)
    action = _acts(player.act, key, seen)
    return actions.to_text(int(action[0]))


@functools.cache
def _player(name):
    return policy.load(name) if isinstance(name, str) else name


@functools.partial(jax.jit, static_argnums=0)
def _acts(act, key, seen):
    return act((), key, seen, seen.legal_action_mask)


@pytest.mark.slow
def test_temperament():
    """A claim without gain, one of gain 1, and a hand too far away, by hand."""
    pong = (actions.PONG, actions.PASS)
    # 5m of the triplet 555m: a kong leaves the need as it is, gain 0.
    kong = (actions.OPEN_KONG, actions.PASS)
    seen = _seen("555m123p456s99sEEEFF", 4, kong)
    assert _act("bdi", seen) == "pass"
    assert _act("bdi:temper=1", seen) == "open_kong"
    # The pair EE needs one more: its pong has gain 1.
    seen = _seen("555m123p456s99sCCCEE", tiles.EAST, pong)
    assert _act("bdi", seen) == "pong"
    assert _act("bdi:temper=-1", seen) == "pass"
    # Far away with one draw left: E, of which nobody can hold two more, is the safest.
    hand = tiles.parse("1475m258p369sESWNCFP")
    hidden = [3] * 27 + [1] + [3] * 6
    held = frozenset(kind for kind in range(34) if hand[kind])
    case = oracle.Decision(hand, hidden, [0] * 34, -1, 4, held)
    seen = jax.tree.map(jnp.asarray, bdi.observe([case]))
    assert _act("bdi:temper=-1", seen) == "discard E"
    mind = _think(jax.tree.map(lambda leaf: leaf[0], seen), settings.of(temper=-1))
    assert int(mind.goals.chosen) == NO_GOAL and int(mind.goals.bits) == 0


def test_empty_suit_as_a_goal():
    """A suit without a tile holds the pair only if the paper is taken at its word."""
    seen = _seen("123456m999s")  # complete but for a pair, no dots and no honours
    for empty_goals, bits in ((False, 0b0011), (True, 0b1111)):
        how = settings.of(empty_goals=empty_goals)
        mind = _think(jax.tree.map(lambda leaf: leaf[0], seen), how)
        assert int(mind.goals.bits) == bits
        far = take_out.cost(mind.goals.distances, 1)
        assert int(far[3]) == 0  # as printed: (0, 0) for what is not there


@pytest.mark.slow
def test_strategies_can_be_swapped():
    """A filter that wants the last suit, a decomposition in reverse, a rearrangement of nothing."""

    def last(bits, far):
        del far
        return jnp.where(bits >> 3 & 1 > 0, 3, 0).astype(jnp.int32)

    def reverse(belief, chosen):
        wishes = intentions.decompose(belief, chosen)
        return wishes._replace(urgency=-wishes.urgency, throw=jnp.zeros_like(wishes.throw))

    def runs_only(word, obtainable, is_number):
        kept = rearrange.rearrange(word, obtainable, is_number)
        return kept._replace(need=kept.need._replace(take=jnp.zeros_like(kept.need.take)))

    seen = _seen("123m55m159pEEE22s")
    one = jax.tree.map(lambda leaf: leaf[0], seen)
    plain = _think(one, AS_PRINTED)
    filtered = settings.Settings(settings.Strategy(choose=last))
    assert int(_think(one, filtered).goals.chosen) == 3
    assert int(plain.goals.chosen) == 0
    other = settings.Settings(settings.Strategy(rearrange=runs_only))
    need = _think(one, other).belief.states.kept.need
    assert not need.take.any() and plain.belief.states.kept.need.take.any()
    turned = robot.policy("turned", settings.Settings(settings.Strategy(decompose=reverse)))
    # 5m is the pair, 123m the run kept longest of what is in `Ar`; characters come first.
    assert _act(turned, seen) == "discard 5m"
    assert _act("bdi", seen) == "discard 9p"


@pytest.mark.slow
def test_rows_do_not_depend_on_each_other():
    player = policy.load("bdi")
    rng = np.random.default_rng(9)
    seen = jax.tree.map(jnp.asarray, bdi.observe([bdi.sample(rng) for _ in range(7)]))
    act = jax.jit(chex.assert_max_traces(player.act, n=2))
    keys = jax.random.split(jax.random.key(0), 7)
    together = act((), keys, seen, seen.legal_action_mask)
    np.testing.assert_array_equal(act((), keys, seen, seen.legal_action_mask), together)
    for row in range(7):
        alone = jax.tree.map(lambda leaf, row=row: leaf[row : row + 1], seen)
        assert act((), keys[row : row + 1], alone, alone.legal_action_mask)[0] == together[row]


@pytest.mark.slow
def test_explain_decides():
    player = policy.load("bdi_partial")
    rng = np.random.default_rng(3)
    cases = [decisions.sample(rng, i % 6, i % 2 == 1, 20) for i in range(24)]
    seen = decisions.batch(cases)
    shown = jax.jit(player.explain)((), seen)
    action = jax.jit(player.act)((), None, seen, seen.legal_action_mask)
    np.testing.assert_array_equal(np.nanargmax(shown.value, axis=1), action)
    np.testing.assert_array_equal(np.isfinite(shown.value), seen.legal_action_mask)


@pytest.mark.slow
def test_describe():
    seen = _seen("123m55m159pEEE22s")
    one = jax.tree.map(lambda leaf: leaf[0], seen)
    text = words.describe(one)
    for part in (
        "characters: 1m 2m 3m 5m 5m; 0 out 1 in for sets, 0 out 0 in for sets and the pair",
        "dots: 1p 5p 9p; 3 out 0 in",
        "goal: the pair in characters (from 5m5m)",
        "characters 3 out 1 in",
        "throw   9p, 5p, 1p",
        "obtain  1 of 2s (2 unseen)",
        "action: discard 9p",
    ):
        assert part in text, text
    with pytest.raises(ValueError, match="one decision"):
        words.describe(seen)
    with pytest.raises(ValueError, match="nothing is legal"):
        words.describe(one.replace(legal_action_mask=jnp.zeros(actions.NUM_ACTIONS, bool)))


@pytest.mark.parametrize(
    ("name", "word"),
    [("bdi:temper=5", "-4 to 4"), ("bdi:filter_weight=3", "1 or 2"), ("bdi:tempr=1", "'temper'")],
)
def test_bad_options_are_refused(name, word):
    with pytest.raises(ValueError, match=word):
        policy.load(name)
