"""Reading hands: labels against the reference, features without a leak, chances, the player."""

import random

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import mjx
from agents import policy
from agents.reading import features, measure, network, training
from agents.search import opponents
from mjx import packed
from mjx.observe import observe
from mjx.rules import Rules
from mjx.seats import SeatHands
from tests import lockstep
from tests.oracle import legal, players
from tests.oracle.game import Game
from tests.oracle.score import score

_look = jax.jit(training.look)  # features and labels of a batch, compiled once
_chances = jax.jit(jax.vmap(network.chances, (None, 0)))


@pytest.fixture(scope="module")
def positions():
    """Positions of games by the reference and by us, late ones, most with somebody ready."""
    rng, found = random.Random(5), []
    while len(found) < 48:
        wall = [kind for kind in range(34) for _ in range(4)]
        rng.shuffle(wall)
        game = Game(wall, dealer=rng.randrange(4), round_wind=rng.randrange(4))
        style = players.STYLES[rng.choice(["passer", "winner", "flush", "declares"])]
        state = lockstep.deal_like(game, wall)
        while not game.terminated:
            if game.drawable < 36 and rng.random() < 0.1:
                truth = _truth(game)
                if truth or rng.random() < 0.25:
                    found.append((truth, state))
            action = players.choose(game, rng, style)
            game.step(action)
            state = lockstep.step_jit(state, action, mjx.Rules())
    truths, states = zip(*found[:48], strict=True)
    return truths, jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)


def _truth(game):
    """Asks the reference what the others would win on, with how many tai: tai by place and kind."""
    us, found = game.current_player, {}
    for place in range(1, 4):
        seat = (us + place) % 4
        for kind in range(34):
            # Four of a kind in one hand cannot be thrown at it.
            if game.hands[seat][kind] < 4 and legal.can_win(game, seat, kind, "discard"):
                won = legal.won_hand(game, seat, kind, "discard")
                found[place - 1, kind] = sum(score(won, game.rules).values())
    return found


def test_labels_are_the_references(positions):
    truths, states = positions
    found = _look(states).labels
    assert sum(map(len, truths)) > 50
    for row, truth in enumerate(truths):
        places = zip(*np.nonzero(np.asarray(found.wins[row])), strict=True)
        assert {(int(o), int(k)) for o, k in places} == set(truth)
        assert {place: int(found.tai[row][place]) for place in truth} == truth
        assert int(found.tai[row].sum()) == sum(truth.values())


def _shuffled(states, rng):
    """Deals the tiles that the one who decides cannot see to the other hands and the wall anew."""
    hands = np.array(packed.to_counts(states.hands.to_array()))
    walls = np.array(states.wall)
    for row, us in enumerate(np.asarray(states.current_player)):
        left = slice(int(states.head[row]), int(states.tail[row]) + 1)
        others = [p for p in range(4) if p != us]
        hidden = np.concatenate([np.repeat(np.arange(34), hands[row, p]) for p in others])
        hidden = rng.permutation(np.concatenate([hidden, walls[row, left]]))
        for p in others:
            size = hands[row, p].sum()
            hands[row, p], hidden = np.bincount(hidden[:size], minlength=34), hidden[size:]
        walls[row, left] = hidden
    words = packed.from_counts(jnp.asarray(hands, jnp.int32))
    by_seat = SeatHands.from_array(jnp.moveaxis(words, 0, -1))
    return states.replace(hands=by_seat, wall=jnp.asarray(walls))


def test_features_show_nothing_hidden(positions):
    _, states = positions
    others = _shuffled(jax.device_get(states), np.random.default_rng(3))
    seen, again = _look(states).features, _look(others).features
    assert not np.array_equal(states.hands.to_array(), others.hands.to_array())
    jax.tree.map(np.testing.assert_array_equal, seen, again)
    assert seen.tiles.shape == (48, 3, 34, features.ROWS)
    assert seen.table.shape == (48, 3, features.NUMBERS)
    for part in seen:
        assert np.isfinite(part).all() and np.abs(part).max() <= 4


def test_passed_tiles_are_no_waits(positions):
    """A hand unchanged since a tile was thrown did not win on it, unless it let a win pass."""
    _, states = positions
    seen, found = _look(states)[:2]
    passed = np.asarray(seen.tiles[..., 0]) > 0
    assert passed.any(axis=-1).mean() > 0.5
    wins = np.asarray(found.wins)
    assert wins[passed].mean() < 0.5 * wins[~passed].mean()


def test_chances(positions):
    """Chances are chances, and each decision's are its own."""
    _, states = positions
    seen, hidden = _look(states)[:2]
    weights = network.shipped()["network"]
    found = _chances(weights, seen)
    for chance in (found.wins, found.ready):
        assert (np.asarray(chance) >= 0).all() and (np.asarray(chance) <= 1).all()
    assert (np.asarray(found.tai) >= 0).all()
    turned = _chances(weights, jax.tree.map(lambda x: x[::-1], seen))
    for one, other in zip(found, turned, strict=True):
        np.testing.assert_allclose(one, other[::-1], rtol=1e-5, atol=1e-6)
    # What is known tells something of the truth: winning kinds are given far more than the rest.
    truth = np.asarray(hidden.wins)
    assert np.asarray(found.wins)[truth].mean() > 3 * np.asarray(found.wins)[~truth].mean()


def test_training_lowers_the_loss(positions):
    """A few steps on the same decisions fit them better, from fresh parameters."""
    _, states = positions
    config = training.Config(updates=40, learning_rate=3e-3)
    batch = _look(states)
    assert batch.cells.shape == (48, 3, 34)
    assert (np.asarray(batch.cells) < training.NUM_CELLS).all()
    params = network.init(jax.random.key(0), 16)
    opt_state = training.optimizer(config).init(params)
    learn = jax.jit(lambda p, o: training.learn(p, o, batch, config))
    history = []
    for _ in range(config.updates):
        params, opt_state, parts = learn(params, opt_state)
        history.append(float(parts["wins"]))
    assert optax.tree.norm(params) < 100
    assert history[-1] < 0.5 * history[0]
    packed = network.to_bytes({"network": params})
    assert len(packed) < 200_000


def test_measures():
    """Log loss, order and calibration of a few pairs, by hand."""
    pairs = measure.Pairs(np.array([0.5, 0.25, 0.25, 0.125]), np.array([True, True, False, False]))
    expected = -(np.log(0.5) + np.log(0.25) + np.log(0.75) + np.log(0.875)) / 4
    assert measure.log_loss(pairs) == pytest.approx(expected)
    assert measure.auc(pairs) == pytest.approx((1 + 1 + 0.5 + 1) / 4)
    two = measure.bins(pairs, 2)
    assert two.count.sum() == 4
    assert (two.predicted * two.count).sum() == pytest.approx(1.125)
    assert (two.observed * two.count).sum() == pytest.approx(2)
    table = measure.Table(3)
    table.add(np.array([0] * 30 + [1] * 30), np.array([True] * 10 + [False] * 50))
    mean = 10 / 60
    expected = [(10 + 10 * mean) / 40, 10 * mean / 40, mean]
    np.testing.assert_allclose(table.chance(np.arange(3)), expected)


def _table(wins, tai, ready, **changes):
    """Makes a reading of two kinds, and what it is asked about."""
    reading = network.Reading(*(jnp.asarray(x, jnp.float32) for x in (wins, tai, ready)))
    seen = observe(mjx.init(jax.random.key(0)), 0)
    return reading, seen.replace(**{k: jnp.int32(v) for k, v in changes.items()})


def _prepare(reading, seen, danger, tempo):
    """Makes the context where a ready seat wins a tenth of its draws, a twentieth of discards."""
    params = {"draw": jnp.float32(0.1), "discard": jnp.float32(0.05)}
    params |= opponents.weights(danger, tempo)
    return opponents.context_of(params, reading, seen, Rules())


def test_danger_by_hand():
    """Two opponents wait for the first kind; the one that comes first takes it, the dealer pays."""
    wins = np.zeros((3, 34))
    wins[0, 0], wins[2, 0], wins[1, 5] = 0.5, 0.25, 0.125
    tai = np.full((3, 34), 2.0)
    reading, seen = _table(wins, tai, [0.5, 0.125, 0.25], dealer=3, streak=1)
    context = _prepare(reading, seen, 1.0, 0.0)
    plain, dealer = 1000 + 500 * 2, 1000 + 500 * (2 + 3)
    assert context.rho[0] == pytest.approx(-(0.5 * plain + 0.5 * 0.25 * dealer))
    assert context.sigma[0] == pytest.approx(0.5 * 0.75)
    assert context.rho[5] == pytest.approx(-0.125 * plain)
    assert context.rho[7] == 0 and context.sigma[7] == 1
    assert context.rho_pass == 0 and context.sigma_pass == 1
    half = _prepare(reading, seen, 0.5, 0.0)
    assert half.rho[0] == pytest.approx(context.rho[0] / 2)


def test_tempo_by_hand():
    """A ready seat wins at its own draw, or is fed by the two others that still act."""
    wins = np.zeros((3, 34))
    wins[0, 0] = 1.0
    reading, seen = _table(wins, np.full((3, 34), 2.0), [1.0, 0.0, 0.0], dealer=1, pending_seat=1)
    context = _prepare(reading, seen, 0.0, 1.0)
    # The next seat is the dealer, ready: 2 tai, 1 for the self-draw, 1 for the dealer.
    np.testing.assert_allclose(context.rho, np.full(34, -0.1 * (1000 + 500 * 4)), rtol=1e-6)
    np.testing.assert_allclose(context.sigma, np.full(34, 0.9 * (1 - 0.1)), rtol=1e-6)
    # After a pass on its discard the two other seats act, which may feed it.
    assert context.rho_pass == 0
    assert context.sigma_pass == pytest.approx(1 - 2 * 0.05)


@pytest.mark.slow
def test_the_player_is_legal(positions):
    _, states = positions
    player = policy.load("expectimax_opp:depth=1")
    seen = jax.vmap(lambda s: observe(s, s.current_player))(states)
    keys = jax.random.split(jax.random.key(0), 48)
    quickly = {"xla_backend_optimization_level": 0}
    act = jax.jit(player.act, compiler_options=quickly)
    action = act(player.params, keys, seen, seen.legal_action_mask)
    assert np.asarray(seen.legal_action_mask)[np.arange(48), np.asarray(action)].all()


@pytest.mark.parametrize("name", ["expectimax_opp:danger=-1", "expectimax_opp:tempo=-0.5"])
def test_bad_weights_are_refused(name):
    with pytest.raises(ValueError, match="0 or more"):
        policy.load(name)


def test_other_games_are_refused():
    for rules in (mjx.rules.PRESETS["thirteen"], Rules(ligu=8)):
        with pytest.raises(ValueError, match="16 tiles"):
            policy.load("expectimax_opp", rules)
    policy.load("expectimax_opp", mjx.rules.PRESETS["wan"])
