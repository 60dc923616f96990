"""The hand-made leaf value: the points that a hand may expect, from what a player can count.

The chance to win is a logistic function of the deficiency, the unseen tiles that bring the hand
nearer (those that a pong may claim count more), the turns left and the melds laid open. Its points
depend on what already pays: a closed hand, triplets of honours, one suit. All constants were
fitted to 16,384 hands of greedy self-play (621,867 own turns; 24.6 % won).

    Q(h, a) = V(h) + G(h - a) - max_b G(h - b)

V looks at the hand before the discard, where a tile counts as accepted if it helps after the right
discard; G, the same formula after it, orders the discards. So the best discard's Q is V, and a
leaf needs no discard. N = positions, T = 34 kinds, S = 4 suits, D = 595 pairs of draws.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agents.search.value import AfterDraws, Position, ValueFunction
from mjx import distance, draws, packed
from mjx import state as st
from mjx.observe import Observation
from mjx.stage import stage
from mjx.tiles import NUM_KINDS

Array = jax.Array

_NUM_HONOURS = 7
_PONGS = np.int32(1 << 8)  # more than there are tiles
_HONOURS = slice(27, 34)
# The suits of numbers, one bit each: of each kind; a hand of at most one of them is one suit's.
_SUIT_BIT = np.array([1] * 9 + [2] * 9 + [4] * 9 + [0] * 7, np.int32)
_TILES_A_TURN = 4.0  # the wall falls by this much between two own draws


class Weights(NamedTuple):
    """The constants, by deficiency 0 (as 1) to 5 (and more) where there are six."""

    bias: Array  # float32[6]   of the log odds to win
    accepting: Array  # float32[6]   log(1 + accepting tiles)
    pong: Array  # float32[6]   what pongs add to that logarithm, their tiles counted twice
    log_turns: Array  # float32[6]
    turns: Array  # float32[6]
    melds: Array  # float32[6]   open melds
    further: Array  # float32[]    each step of deficiency beyond 5
    points: Array  # float32[]    of a win
    closed: Array  # float32[6]   more for a hand without open melds
    honours: Array  # float32[]    each triplet that pays a tai
    pairs: Array  # float32[6]   each pair that may become one
    one_suit: Array  # float32[]    no tile of a second suit
    dealer: Array  # float32[]
    loss: Array  # float32[]    points of a hand not won


def params() -> Weights:
    """Returns the fitted constants."""
    values = dict(
        bias=[-3.498, -3.498, -5.668, -6.447, -4.997, -5.060],
        accepting=[0.867, 0.867, 0.701, 0.579, 0.617, 0.761],
        pong=[0.0, 0.0, 1.103, 1.682, 2.313, 3.235],
        log_turns=[0.551, 0.551, 0.412, 0.126, -1.505, -2.431],
        turns=[0.0977, 0.0977, 0.2102, 0.2788, 0.4237, 0.5133],
        melds=[-0.100, -0.100, -0.156, -0.195, -0.241, -0.186],
        further=-0.526,
        points=2180.0,
        closed=[1160.0, 1160.0, 424.0, 170.0, 91.0, 91.0],
        honours=720.0,
        pairs=[10.0, 10.0, 154.0, 248.0, 419.0, 419.0],
        one_suit=2900.0,
        dealer=500.0,
        loss=-952.0,
    )
    return Weights(**{key: jnp.asarray(value, jnp.float32) for key, value in values.items()})


class Context(NamedTuple):
    """What the positions of one decision share."""

    unseen: Array  # int32[T]
    held: Array  # int32[T]    own concealed tiles at the root
    drawable: Array  # float32[]
    paying: Array  # float32[7]  tai of a triplet of each honour
    is_dealer: Array  # bool[]


class _Hand(NamedTuple):
    """What a hand shows, besides what it accepts. Arrays of one rank, which broadcast."""

    turns: Array  # float32  left to draw
    open_melds: Array  # float32
    triplets: Array  # float32  tai of those held or melded
    pairs: Array  # float32  tai of those that may become triplets
    one_suit: Array  # bool
    is_dealer: Array  # bool


def value() -> ValueFunction:
    """Makes the value function; its parameters are `params()`."""

    def q_values(params: Weights, context: Context, positions: Position) -> Array:
        return jax.vmap(lambda position: _q_values(params, context, position))(positions)

    def best(params: Weights, context: Context, positions: Position) -> Array:
        return jax.vmap(lambda position: _state_value(params, context, position))(positions)

    return ValueFunction(_prepare, q_values, best, AfterDraws(_one, _two, _back))


def _prepare(params: Any, observation: Observation) -> Context:
    """Reads what the positions share."""
    del params
    honours = np.arange(_NUM_HONOURS, dtype=np.int32)
    dragons = (honours >= 4).astype(np.float32)
    seat = honours == observation.seat_wind
    table = honours == observation.round_wind
    return Context(
        unseen=observation.unseen.astype(jnp.int32),
        held=observation.hand.astype(jnp.int32),
        drawable=observation.drawable.astype(jnp.float32),
        paying=dragons + seat.astype(jnp.float32) + table.astype(jnp.float32),
        is_dealer=observation.dealer == 0,
    )


def _state_value(params: Weights, context: Context, position: Position) -> Array:
    """Values one position by V: float32[]."""
    counts = packed.to_counts(position.hand).astype(jnp.int32)
    weights = _weights(context, counts, counts)
    deficiency, both = stage(distance.count_accepting, position.hand, position.num_melds, weights)
    return _expected(params, _look(context, position, counts), deficiency, both)


def _q_values(params: Weights, context: Context, position: Position) -> Array:
    """Values each discard at one position: float32[T]."""
    after = distance.after_discards(position.hand, position.num_melds)
    counts = packed.to_counts(position.hand).astype(jnp.int32)
    left = counts[None] - np.eye(NUM_KINDS, dtype=np.int32)
    weights = jax.vmap(_weights, (None, None, 0))(context, counts, left)
    both = jnp.sum(jnp.where(after.accepting, weights, 0), axis=-1, dtype=jnp.int32)
    shown = jax.vmap(_look, (None, None, 0))(context, position, left)
    ordering = jax.vmap(functools.partial(_expected, params))(shown, after.deficiency, both)
    best = jnp.max(jnp.where(counts > 0, ordering, -jnp.inf))
    return _state_value(params, context, position) + (ordering - best)


def _weights(context: Context, counts: Array, left: Array) -> Array:
    """Weighs the kinds by their copies still to come, and once more if they would pair up.

    Copies drawn into the hand since the root have come. Both numbers stand in one, so that one
    sum adds them up: `_PONGS` times those that pair up, plus all.

    Args:
      context: of the decision.
      counts: int32[T] concealed tiles before the discard.
      left: int32[T] concealed tiles that may be paired.

    Returns:
      int32[T].
    """
    unseen = context.unseen - jnp.maximum(counts - context.held, 0)
    return unseen * jnp.where(left >= 2, _PONGS + 1, 1)


def _look(context: Context, position: Position, counts: Array) -> _Hand:
    """Reads one position, of whose concealed tiles int32[T] may be left."""
    honours, melded = counts[_HONOURS], packed.to_counts(position.sets)[_HONOURS] > 0
    melds = packed.to_counts(position.chows | position.sets) > 0
    suits = jnp.where((counts > 0) | melds, _SUIT_BIT, 0)
    zero = np.float32(0)
    return _Hand(
        turns=_turns(context, position),
        open_melds=_open_melds(position),
        triplets=jnp.sum(jnp.where((honours >= 3) | melded, context.paying, zero)),
        pairs=jnp.sum(jnp.where(honours == 2, context.paying, zero)),
        one_suit=_is_one_suit(jnp.bitwise_or.reduce(suits)),
        is_dealer=context.is_dealer,
    )


def _turns(context: Context, position: Position) -> Array:
    """Counts the own draws to come: float32."""
    turns = (context.drawable - _TILES_A_TURN * position.draws) / _TILES_A_TURN
    return jnp.maximum(turns, np.float32(0))


def _open_melds(position: Position) -> Array:
    """Counts the open melds: float32."""
    open_sets = position.sets & (packed.MARKS * np.uint32(st.PONG + st.KONG))
    chows = jnp.sum(packed.num_tiles(position.chows), axis=-1, dtype=jnp.int32)
    sets = jnp.sum(jax.lax.population_count(open_sets), axis=-1, dtype=jnp.uint32)
    return chows.astype(jnp.float32) + sets.astype(jnp.float32)


def _is_one_suit(suits: Array) -> Array:
    """Tells of the bits of `_SUIT_BIT` that at most one is set: bool."""
    return (suits & (suits - 1)) == 0


def _expected(params: Weights, shown: _Hand, deficiency: Array, both: Array) -> Array:
    """Expects points of hands: float32 from deficiency and sum of `_weights`, elementwise."""
    step = jnp.minimum(deficiency, 5)
    by_step = Weights(*(_at_step(w, step) if jnp.ndim(w) else w for w in params))
    both = both.astype(jnp.int32)
    accepted, to_pong = ((both % _PONGS).astype(jnp.float32), (both // _PONGS).astype(jnp.float32))
    log_accepted = jnp.log1p(accepted)
    odds = (
        by_step.bias
        + by_step.accepting * log_accepted
        + by_step.pong * (jnp.log1p(accepted + to_pong) - log_accepted)
        + by_step.log_turns * jnp.log1p(shown.turns)
        + by_step.turns * shown.turns
        + by_step.melds * shown.open_melds
        + by_step.further * jnp.maximum(deficiency - 5, 0).astype(jnp.float32)
    )
    points = (
        by_step.points
        + jnp.where(shown.open_melds == 0, by_step.closed, np.float32(0))
        + by_step.honours * shown.triplets
        + by_step.pairs * shown.pairs
        + jnp.where(shown.one_suit, by_step.one_suit, np.float32(0))
        + jnp.where(shown.is_dealer, by_step.dealer, np.float32(0))
    )
    return jax.nn.sigmoid(odds) * (points - by_step.loss) + by_step.loss


def _at_step(constants: Array, step: Array) -> Array:
    """Picks one of six constants; five selections are faster than a look-up."""
    picked = jnp.broadcast_to(constants[0], step.shape)
    for n in range(1, 6):
        picked = jnp.where(step == n, constants[n], picked)
    return picked


# --- all draws at once, lanes last ------------------------------------------------------------


def _one(params: Weights, contexts: Context, rests: Position) -> Array:
    """Values rests with one draw: V of a position, or G of what a discard leaves: float32[T, N]."""
    grown = draws.one(rests.hand, rests.num_melds, _draw_weights(contexts, rests, 1))
    triplets, pairs, suits = _honours_and_suits(contexts, rests)
    shown = _shown(
        contexts,
        rests,
        triplets[0][None] + triplets[1],
        pairs[0][None] + pairs[1],
        suits[None] | _SUIT_BIT[:, None],
    )
    return _expected(params, shown, *grown)


def _two(params: Weights, contexts: Context, rests: Position) -> Array:
    """Values rests with two draws: float32[D, N]."""
    grown = draws.two(rests.hand, rests.num_melds, _draw_weights(contexts, rests, 2))
    triplets, pairs, suits = _honours_and_suits(contexts, rests)
    same = (draws.FIRST == draws.SECOND)[:, None]

    def after_two(none: Array, by_one: Array, by_two: Array) -> Array:
        apart = by_one[draws.FIRST] + by_one[draws.SECOND]
        return none[None] + jnp.where(same, by_two[draws.FIRST], apart)

    drawn_suits = (_SUIT_BIT[draws.FIRST] | _SUIT_BIT[draws.SECOND])[:, None]
    shown = _shown(
        contexts, rests, after_two(*triplets), after_two(*pairs), suits[None] | drawn_suits
    )
    return stage(functools.partial(_expected, params), shown, *grown)


def _back(params: Weights, contexts: Context, rests: Position) -> Array:
    """Values rests by G when a tile is drawn and thrown back: float32[T, N]."""

    def one_rest(context: Context, position: Position) -> Array:
        counts = packed.to_counts(position.hand).astype(jnp.int32)
        now = distance.at_rest(position.hand, position.num_melds)
        weights = jnp.where(now.accepting, _weights(context, counts, counts), 0)
        seen = jnp.where(now.accepting, _weights(context, counts + 1, counts), 0)
        both = jnp.sum(weights, dtype=jnp.int32) - (weights - seen)
        shown = _look(context, position, counts)
        deficiency = jnp.broadcast_to(now.deficiency, both.shape)
        return _expected(params, jax.tree.map(lambda x: x[None], shown), deficiency, both)

    return jax.vmap(one_rest, out_axes=-1)(contexts, rests)


def _draw_weights(contexts: Context, rests: Position, num_draws: int) -> Array:
    """Weighs the kinds with 0 to `num_draws` of their copies drawn: uint16[1 + num_draws, T, N]."""
    counts = packed.to_counts(rests.hand).astype(jnp.int32)
    weights = [_weights(contexts, counts + drawn, counts + drawn) for drawn in range(num_draws + 1)]
    # Below zero only for what cannot come.
    return jnp.maximum(jnp.stack(weights), 0).astype(jnp.uint16).swapaxes(1, 2)


def _honours_and_suits(
    contexts: Context, rests: Position
) -> tuple[tuple[Array, ...], tuple[Array, ...], Array]:
    """Reads what draws of honours change.

    Returns:
      Tai of triplets without a draw, float32[N], and what one and two draws of a kind add,
      float32[T, N]; the same of pairs; the bits of `_SUIT_BIT`, int32[N].
    """
    counts = packed.to_counts(rests.hand).astype(jnp.int32)
    honours, melded = counts[:, _HONOURS], packed.to_counts(rests.sets)[:, _HONOURS] > 0
    paying, zero = contexts.paying, np.float32(0)
    triplets = [jnp.where((honours + n >= 3) | melded, paying, zero).T for n in range(3)]
    pairs = [jnp.where(honours + n == 2, paying, zero).T for n in range(3)]

    def differences(by_drawn: list[Array]) -> tuple[Array, ...]:
        none = jnp.zeros((27, len(counts)), jnp.float32)
        more = (jnp.concatenate([none, after - by_drawn[0]]) for after in by_drawn[1:])
        return (jnp.sum(by_drawn[0], axis=0), *more)

    melds = packed.to_counts(rests.chows | rests.sets) > 0
    suits = jnp.where((counts > 0) | melds, _SUIT_BIT[None], 0)
    return differences(triplets), differences(pairs), jnp.bitwise_or.reduce(suits, axis=-1)


def _shown(
    contexts: Context, rests: Position, triplets: Array, pairs: Array, suits: Array
) -> _Hand:
    """Describes hands grown from rests: triplets, pairs and suits are [..., N]."""
    return _Hand(
        turns=_turns(contexts, rests)[None],
        open_melds=_open_melds(rests)[None],
        triplets=triplets,
        pairs=pairs,
        one_suit=_is_one_suit(suits),
        is_dealer=contexts.is_dealer[None],
    )
