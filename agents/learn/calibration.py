"""Does a discard bring what the network says? Predicted against realised returns, in self-play.

The return of a discard is what training aims at: the hand's final points, and under reward (8)
the shares of the search's value on the way. S = decisions of each game, G = games, K = 5
transitions that one decision can close (`selfplay`), P = 4 seats.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agents.learn import selfplay
from agents.learn.config import Config
from agents.learn.networks import QNetwork
from agents.learn.selfplay import POINTS, Decide, Decision
from mjx.observe import Observation
from mjx.state import NUM_SEATS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = jax.Array
Params = Any

TAIL = 256  # decisions at the end of play that only bring hands to their ends: few hands are longer
_SEATS = np.arange(NUM_SEATS)


class Discards(NamedTuple):
    """Transitions of self-play, in thousands of points; `known` marks those to be compared."""

    predicted: Array  # float32[S,G,K]
    realised: Array  # float32[S,G,K]
    known: Array  # bool[S,G,K]


def play(
    network: QNetwork,
    decide: Decide,
    params: Params,
    key: Array,
    games: int,
    steps: int,
    config: Config,
) -> Discards:
    """Plays without random actions, and compares the discards that are followed to the end.

    Args:
      network: predicts.
      decide: plays all seats.
      params: of both.
      key: typed key.
      games: tables, G.
      steps: decisions of each, more than `TAIL`.
      config: reward and discount.
    """
    deal_key, play_key = jax.random.split(key)
    q_values = jax.vmap(jax.vmap(network.apply, (None, 0)), (None, 0))

    def of_params(observations: Observation, masks: Array) -> Decision:
        return decide(params, observations, masks)

    def one_step(tables: selfplay.Game, key: Array) -> tuple[selfplay.Game, tuple]:
        seat = tables.state.current_player
        keys = jax.random.split(key, games)
        tables, made, valid, _ = selfplay.play(
            tables, keys, jnp.float32(0), of_params, config.learning.discount, config.selfplay
        )
        index = made.action.astype(jnp.int32)[..., None]
        predicted = jnp.take_along_axis(q_values(params, made.view), index, axis=-1)[..., 0]
        return tables, (predicted, seat, made.reward, made.discount, valid)

    tables = jax.vmap(selfplay.init)(jax.random.split(deal_key, games))
    _, (predicted, *rest) = jax.lax.scan(one_step, tables, jax.random.split(play_key, steps))
    realised, known = jax.vmap(returns, in_axes=1, out_axes=1)(*rest)
    in_time = np.arange(steps)[:, None, None] < steps - TAIL
    return Discards(predicted, realised, known & in_time)


def returns(seat: Array, reward: Array, discount: Array, valid: Array) -> tuple[Array, Array]:
    """Sums up what followed each discard of one game, from the last decision to the first.

    Args:
      seat: int32[S] who decided.
      reward, discount: float32[S,K] of the transitions closed: the seat's own, then one for each
        seat at the end of a hand.
      valid: bool[S,K] which of them are real.

    Returns:
      float32[S,K] returns and bool[S,K] which of them are known: real, in a hand that ended.
    """

    def one_step(carry: tuple[Array, Array], step: tuple) -> tuple[tuple[Array, Array], tuple]:
        after, is_known = carry  # [P], of the discard that each seat makes next
        seat, reward, discount, valid = step
        last = valid[1:]
        after, is_known = jnp.where(last, reward[1:], after), is_known | last
        mine = reward[0] + discount[0] * after[seat]
        found = jnp.concatenate([mine[None], reward[1:]])
        known = jnp.concatenate([(valid[0] & is_known[seat])[None], last])
        after = jnp.where((seat == _SEATS) & valid[0], mine, after)
        return (after, is_known), (found, known)

    start = jnp.zeros(NUM_SEATS, jnp.float32), jnp.zeros(NUM_SEATS, bool)
    return jax.lax.scan(one_step, start, (seat, reward, discount, valid), reverse=True)[1]


def figures(discards: Discards, bins: int = 20) -> dict[str, Any]:
    """Sums a comparison up, in points; errors come from games, which are independent.

    Args:
      discards: of `play`.
      bins: groups of about equally many discards, by what was predicted.

    Returns:
      `discards`; `bias`, the mean of predicted - realised, with its standard error; `rmse` and
      `correlation`; and of each bin, lists: `predicted`, `realised`, `error` (standard, of
      `realised`) and `count`. Plain numbers, ready for JSON.
    """
    known = np.asarray(discards.known)
    game = np.broadcast_to(np.arange(known.shape[1])[None, :, None], known.shape)[known]
    predicted, realised = (
        POINTS * np.asarray(x, np.float64)[known] for x in (discards.predicted, discards.realised)
    )
    place = np.empty(len(predicted), np.int64)
    place[np.argsort(predicted, kind="stable")] = np.arange(len(predicted)) * bins // len(predicted)
    groups = [place == one for one in range(bins)]
    means = [_mean_of(realised[group], game[group]) for group in groups if group.any()]
    bias, bias_error = _mean_of(predicted - realised, game)
    return {
        "discards": len(predicted),
        "bias": bias,
        "bias_error": bias_error,
        "rmse": float(np.sqrt(np.mean(np.square(predicted - realised)))),
        "correlation": _correlation(predicted, realised),
        "predicted": [float(predicted[group].mean()) for group in groups if group.any()],
        "realised": [mean for mean, _ in means],
        "error": [error for _, error in means],
        "count": [int(group.sum()) for group in groups if group.any()],
    }


def _mean_of(values: np.ndarray, game: np.ndarray) -> tuple[float, float]:
    """Returns the mean of values and its standard error, as the ratio of two sums over games."""
    mean, number = float(values.mean()), len(np.unique(game))
    spread = np.square(np.bincount(game, values - mean)).sum()
    return mean, float(np.sqrt(spread * number / max(number - 1, 1)) / len(values))


def _correlation(a: np.ndarray, b: np.ndarray) -> float | None:
    """Returns Pearson's correlation; None where one of the two does not vary."""
    if a.std() == 0 or b.std() == 0:
        return None
    return float(np.corrcoef(a, b)[0, 1])


def draw(found: dict[str, dict[str, Any]]) -> "Figure":
    """Draws realised against predicted returns.

    Args:
      found: `figures` by the name of who predicts.

    Returns:
      A Matplotlib figure, not yet shown or saved.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4 * len(found), 3.8), layout="constrained")
    all_axes = figure.subplots(1, len(found), squeeze=False)[0]
    for axes, (name, each) in zip(all_axes, found.items(), strict=True):
        both = each["predicted"] + each["realised"]
        limits = (min(both), max(both))
        axes.plot(limits, limits, color="grey", linewidth=0.8)
        bars = 2 * np.array(each["error"])
        axes.errorbar(each["predicted"], each["realised"], bars, marker="o", markersize=3)
        axes.set(title=name, xlabel="predicted, points", ylabel="realised, points")
    return figure
