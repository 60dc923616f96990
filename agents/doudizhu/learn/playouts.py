"""Weights of playouts from the choices of searches: how likely each group is in each situation.

Of every decision of a run's self-play it is known which groups were legal and which candidate the
games spoke for. The weights are those of a multinomial logit, which makes these choices as likely
as it can. The logarithm of a weight is one part for whose move is on the table and one for the
situation, the second kept small, so that what is seldom seen in a situation is taken from all. A
move that empties the hand is no choice: playouts never miss it.

D = decisions, K = candidates, G = groups, E = candidates of all decisions that are used.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agents.doudizhu import playout
from agents.doudizhu.learn.selfplay import Samples
from doudizhu.moves import PASS, all_moves
from doudizhu.state import HAND_SIZES, LANDLORD, NUM_PLAYERS
from doudizhu.tables import NUM_GROUPS

_ON_TABLE = np.arange(playout.NUM_SITUATIONS) // 3 % 3  # of each situation
_STEPS, _RATE, _SMALL = 100, 0.15, 2e-5
_MOST = 0.1  # of the highest share: above it all are equal, so that small ones are not rounded


class Choices(NamedTuple):
    """Decisions, those with several candidates of which none ends the game."""

    place: np.ndarray  # int64[E]  situation * G + group
    start: np.ndarray  # int64[D]  first candidate of each decision
    chosen: np.ndarray  # int64[D]  the one that was best


def choices(samples: Samples) -> Choices:
    """Lists what a run's self-play chose, of those with half the visits of the most visited."""
    ids, visits, mean = (
        np.asarray(leaf, float) for leaf in (samples.ids, samples.visits, samples.mean)
    )
    is_there, move = ids >= 0, np.maximum(ids, 0).astype(np.int64)
    hand = np.asarray(samples.view.hand).sum(axis=1, dtype=np.int64)
    num_cards = all_moves().counts.sum(axis=1, dtype=np.int64)
    is_last = (is_there & (num_cards[move] == hand[:, None])).any(axis=1)
    rows = np.flatnonzero((is_there.sum(axis=1) > 1) & ~is_last)
    enough = is_there & (visits >= 0.5 * visits.max(axis=1, keepdims=True))
    best = np.where(enough, mean, -1.0).argmax(axis=1)[rows]
    is_there, group = is_there[rows], all_moves().group[move[rows]]
    place = situations(samples)[rows, None] * NUM_GROUPS + group
    num = is_there.sum(axis=1)
    start = np.cumsum(num) - num
    before = np.arange(is_there.shape[1]) < best[:, None]
    return Choices(place[is_there], start, start + (is_there & before).sum(axis=1))


def situations(samples: Samples) -> np.ndarray:
    """Numbers the situation of each decision as `playout.situation_of`: int64[D]."""
    history = np.asarray(samples.view.history, np.int64)
    role = np.asarray(samples.view.role, np.int64)
    padded = np.pad(history, ((0, 0), (2, 0)), constant_values=PASS)
    made = (history >= 0).sum(axis=1)
    last = np.take_along_axis(padded, made[:, None] + np.array([1, 0]), axis=1)
    passes = (last == PASS).cumprod(axis=1).sum(axis=1)
    counts = all_moves().counts.sum(axis=1)[np.maximum(history, 0)] * (history >= 0)
    left = np.stack(
        [HAND_SIZES[p] - counts[:, p::NUM_PLAYERS].sum(axis=1) for p in range(NUM_PLAYERS)], axis=1
    )
    assert HAND_SIZES[LANDLORD] == max(HAND_SIZES)
    known = jax.tree.map(jnp.asarray, (role, passes == 2, passes, left))
    number = jax.vmap(playout.situation_of)(*known)
    return np.asarray(number, np.int64)


def fit(known: Choices) -> np.ndarray:
    """Fits the weights by Adam on all choices at once: int32[27, G]."""
    shape = (playout.NUM_SITUATIONS, NUM_GROUPS)
    parts = [np.zeros((3, NUM_GROUPS)), np.zeros(shape)]
    first, second = ([np.zeros_like(part) for part in parts] for _ in range(2))
    for step in range(1, _STEPS + 1):
        gradient = loss(parts[0][_ON_TABLE] + parts[1], known)[1]
        of_table = gradient.reshape(3, 3, 3, NUM_GROUPS).sum(axis=(0, 2))
        rate = _RATE * (1 - step / (_STEPS + 1))
        for i, slope in enumerate((of_table, gradient + _SMALL * parts[1])):
            first[i] = 0.9 * first[i] + 0.1 * slope
            second[i] = 0.99 * second[i] + 0.01 * slope**2
            spread = np.sqrt(second[i] / (1 - 0.99**step)) + 1e-7
            parts[i] -= rate * first[i] / (1 - 0.9**step) / spread
    log = parts[0][_ON_TABLE] + parts[1]
    share = np.exp(log - log.max(axis=1, keepdims=True))
    return playout.whole(np.minimum(share / _MOST, 1.0))


def loss(log: np.ndarray, known: Choices) -> tuple[float, np.ndarray]:
    """Returns the mean of -log of the choices' chances by log weights [27, G], and its gradient."""
    weight = np.exp(log).reshape(-1)[known.place]
    total = np.add.reduceat(weight, known.start)
    chance = weight / np.repeat(total, np.diff(known.start, append=len(weight)))
    value = -float(np.log(chance[known.chosen]).mean())
    chance[known.chosen] -= 1
    gradient = np.bincount(known.place, chance, log.size) / len(known.start)
    return value, gradient.reshape(log.shape)
