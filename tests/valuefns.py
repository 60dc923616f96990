"""Value functions that mean nothing, for JAX and in plain NumPy: whole numbers, so sums are exact.

`by_kind` has its own number for every kind discarded. `by_hand` is made like the hand-made one,

    Q(h, a) = F(h) + F(h - a) - max_b F(h - b),

so that its leaves can be valued by pairs of draws, and its discards ordered without their Q.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agents.search.tree import Risk
from agents.search.value import AfterDraws, ValueFunction
from mjx import distance, draws, packed
from tests.oracle import hand as oracle

_RNG = np.random.default_rng(7)
_BY_KIND = _RNG.integers(-50, 50, 34)
_BY_HELD = _RNG.integers(-9, 10, (34, 34))
_BY_DRAWS = _RNG.integers(-20, 20, 34)
_BY_CHOW, _BY_SET = _RNG.integers(-20, 20, 34), _RNG.integers(-20, 20, 34)
_BY_TILE = _RNG.integers(-15, 16, (3, 34))  # by the number of tiles: before and after a discard
_BY_ROUND, _BY_NEXT = _RNG.integers(-6, 7, 34), _RNG.integers(-9, 10, 33)
_SCALE = 8


class Params(NamedTuple):
    """What `by_hand` can be told without compiling again; the first is 1 by default, others 0."""

    scale: jax.Array
    more: jax.Array  # of every hand
    impossible: jax.Array  # more of hands that hold tiles that cannot be in them


def params(scale=1, more=0, impossible=0) -> Params:
    return Params(*(jnp.float32(x) for x in (scale, more, impossible)))


class _Context(NamedTuple):
    drawable: jax.Array  # float32[]
    most: jax.Array  # int32[T]  copies that a hand can hold


def _prepare(params, observation):
    del params
    most = observation.hand.astype(jnp.int32) + observation.unseen
    return _Context(observation.drawable.astype(jnp.float32), most)


def _melds(chows, sets):
    return chows @ _BY_CHOW + sets @ _BY_SET


def _q_by_kind(counts, chows, sets, draws):
    """Values discards of one position, for NumPy and JAX alike."""
    return _SCALE * (_BY_KIND + counts @ _BY_HELD.T + _BY_DRAWS * draws + _melds(chows, sets))


def _f(counts, chows, sets, draws, by_tile):
    """F of hands [..., T], for NumPy and JAX alike; `by_tile` is the row of their size."""
    near = (counts[..., 1:] * counts[..., :-1]) @ _BY_NEXT
    own = counts @ by_tile + draws * (counts @ _BY_ROUND)
    return _SCALE * (own + near + _melds(chows, sets))


def _fields(position):
    fields = (position.hand, position.chows, position.sets)
    return (packed.to_counts(field).astype(jnp.int32) for field in fields)


def by_lack() -> ValueFunction:
    """Makes one that counts what a discard leaves lacking, and nothing else."""

    def q_values(params, context, positions):
        del params, context
        after = jax.vmap(distance.after_discards)(positions.hand, positions.num_melds)
        return -100.0 * after.deficiency.astype(jnp.float32)

    return ValueFunction(_prepare, q_values)


def plain_by_lack(case, counts, melds, draws):
    """The same in plain Python: a list of 34 values."""
    del case, draws
    held = [kind for kind in range(34) if counts[kind]]
    values = [0.0] * 34
    for kind in held:
        rest = tuple(n - (other == kind) for other, n in enumerate(counts))
        values[kind] = -100.0 * oracle.deficiency(rest, len(melds))
    return values


def by_kind() -> ValueFunction:
    """Makes the first; its parameters mean nothing."""

    def q_values(params, context, positions):
        del params

        def one(position):
            q = _q_by_kind(*_fields(position), position.draws)
            return q.astype(jnp.float32) + context.drawable

        return jax.vmap(one)(positions)

    return ValueFunction(_prepare, q_values)


def by_hand(after_draws: bool, back: bool) -> ValueFunction:
    """Makes the second, with or without what it says of draws."""

    def f(params, context, position, change):
        """F of one position with more and fewer tiles, int32[D,T]: float32[D]."""
        counts, chows, sets = _fields(position)
        counts = counts[None] + change
        size = jnp.sum(counts[0]) % 3
        whole = _f(counts, chows, sets, position.draws, jnp.asarray(_BY_TILE, jnp.int32)[size])
        value = params.scale * (whole.astype(jnp.float32) + context.drawable) + params.more
        impossible = jnp.any(counts > context.most[None], axis=-1)
        return value + jnp.where(impossible, params.impossible, 0)

    def q_values(params, context, positions):
        def one(position):
            unit = np.eye(34, dtype=np.int32)
            left = f(params, context, position, -unit)
            held = packed.to_counts(position.hand) > 0
            best = jnp.max(jnp.where(held, left, -jnp.inf))
            return f(params, context, position, np.zeros((1, 34), np.int32)) + left - best

        return jax.vmap(one)(positions)

    def grow(change):
        def grown(params, contexts, rests):
            one = lambda context, rest: f(params, context, rest, change)  # noqa: E731
            return jax.vmap(one, out_axes=-1)(contexts, rests)

        return grown

    unit = np.eye(34, dtype=np.int32)
    none = np.zeros((34, 34), np.int32)
    after = AfterDraws(
        grow(unit), grow(unit[draws.FIRST] + unit[draws.SECOND]), grow(none) if back else None
    )
    return ValueFunction(_prepare, q_values, after_draws=after if after_draws else None)


def meld_counts(melds):
    """Writes the oracle's melds as counts of chows and of other sets: int[34] each."""
    chows, sets = np.zeros(34, int), np.zeros(34, int)
    for form, kind in melds:
        if form == "chow":
            chows[kind] += 1
        else:
            sets[kind] += {"pong": 1, "kong": 2, "ankong": 4}[form]
    return chows, sets


def plain_by_kind(case, counts, melds, draws):
    """Values discards as `by_kind`, in NumPy: 34 numbers."""
    return (_q_by_kind(np.array(counts), *meld_counts(melds), draws) + case.drawable).tolist()


def plain_by_hand(case, counts, melds, draws):
    """Values discards as `by_hand`, in NumPy: 34 numbers."""
    held, own = np.array(counts), (*meld_counts(melds), draws)
    size = held.sum() % 3
    left = _f(held[None] - np.eye(34, dtype=int), *own, _BY_TILE[size - 1])
    best = left[held > 0].max()
    return (_f(held, *own, _BY_TILE[size]) + case.drawable + left - best).tolist()


def risk() -> Risk:
    """Makes a risk that means nothing."""

    def discards(params, context, positions):
        del params, context
        counts = jax.vmap(packed.to_counts)(positions.hand).astype(jnp.float32)
        rho = -16.0 * counts - 4.0 * positions.draws[:, None].astype(jnp.float32)
        return rho, 1.0 - counts / 8.0

    def passing(params, context):
        del params, context
        return jnp.float32(-40), jnp.float32(0.75)

    return Risk(lambda params, observation, wanted: (), discards, passing)


PASS_RISK = (-40.0, 0.75)


def plain_risk(counts, melds, draws):
    """Writes the same down by discard: rho and sigma."""
    del melds
    return [-16.0 * n - 4.0 * draws for n in counts], [1 - n / 8 for n in counts]
