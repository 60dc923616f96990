"""Monte Carlo search from the root: which of the candidate moves wins most games played out.

The state is the root and its candidate moves are its children. In a round, M children are chosen
one after another by UCB, each choice counted as a visit at once; for each the hidden cards are
dealt anew, and the game is played out. A child's value is the share of its games that its side
wins. A search may start from values known beforehand, each worth some visits.

B = decisions at once, K = places for candidates, M = games of a round.
"""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import lax

from agents.doudizhu import playout
from agents.doudizhu.candidates import candidates
from agents.doudizhu.playout import Table
from doudizhu import determinize
from doudizhu.cards import NUM_CARDS
from doudizhu.observe import Observation
from doudizhu.rules import DEFAULT, Rules
from doudizhu.state import LANDLORD

Array = jax.Array
T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Settings:
    """How to search.

    Attributes:
      playouts: games played out for a decision.
      at_once: games of a round, chosen before any of them is played.
      exploration: C of UCB, for values from 0 to 1.
      candidates: `groups` or `all`, see `candidates`.
      style: of the playouts, see `playout.STYLES`.
      min_visits: share of the most visited child's visits that a child needs to be chosen.
      prior_visits: what a value known beforehand counts for at the deal; it falls with the share
        of the cards that are left. 0 ignores it.
      tolerance: a decision takes no more games once every other child's mean, and one standard
        deviation of the difference, is at most so much above that of the best; 0 plays all.
      depth: layers of moves that are chosen; the rest of a game is played out, see `tree`.
      rules: the table's rules.
    """

    playouts: int = 256
    at_once: int = 64
    exploration: float = 0.5
    candidates: str = "groups"
    style: str = "sensible"
    min_visits: float = 0.5
    prior_visits: float = 0.0
    tolerance: float = 0.0
    depth: int = 1
    rules: Rules = DEFAULT

    def __post_init__(self) -> None:
        """Refuses searches that cannot be."""
        for name, low, high in (
            ("playouts", 1, 1 << 20),
            ("at_once", 1, 1 << 16),
            ("exploration", 0.0, 100.0),
            ("min_visits", 0.0, 1.0),
            ("prior_visits", 0.0, 1e6),
            ("tolerance", 0.0, 1.0),
            ("depth", 1, 64),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"search: {name} is {low:.7g} to {high:.7g}, not {value}.")
        if self.playouts % self.at_once:
            raise ValueError(
                f"search: playouts is a multiple of at_once ({self.at_once}), not {self.playouts}."
            )
        for name, allowed in (("candidates", ("groups", "all")), ("style", playout.STYLES)):
            value = getattr(self, name)
            if value not in allowed:
                raise ValueError(f"search: {name} is one of {', '.join(allowed)}, not {value!r}.")


class Root(NamedTuple):
    """The children of one decision; what is known beforehand counts as visits already made."""

    ids: Array  # int32[K]    candidate moves, -1 where there are no more
    num: Array  # int32[]     candidates
    visits: Array  # float32[K]  n_i
    total: Array  # float32[K]  sum of the returns
    num_games: Array  # int32[]     games played out so far


def begin(observation: Observation, settings: Settings) -> Root:
    """Lists the candidates of one decision; nothing is known of them."""
    is_grouped = settings.candidates == "groups"
    ids, num = candidates(observation.hand, observation.to_beat, is_grouped, settings.rules)
    zero = jnp.zeros(ids.shape, jnp.float32)
    return Root(ids, num, zero, zero, jnp.int32(0))


def with_values(root: Root, values: Array, num_cards: Array, settings: Settings) -> Root:
    """Starts a search that knows values float32[K] beforehand, as many visits of that mean.

    The fewer cards the three hands hold, int32[], the fewer visits: the network errs as much where
    a game is nearly over as at its start, and games played out err less.
    """
    share = num_cards.astype(jnp.float32) / NUM_CARDS
    visits = jnp.where(root.ids >= 0, settings.prior_visits * share, 0.0)
    return root._replace(visits=visits, total=visits * values)


def run(keys: Array, observation: Observation, root: Root, settings: Settings) -> Root:
    """Searches B decisions with all playouts: keys key[B], everything with leading axis B."""
    return rounds(play_round, keys, observation, root, settings)


def rounds(
    play_round: Callable, keys: Array, observation: Observation, found: T, settings: Settings
) -> T:
    """Plays all rounds, one after another, each with keys of its own; arguments as `run`."""

    def one_round(index: Array, found: T) -> T:
        round_keys = jax.vmap(lambda key: jax.random.fold_in(key, index))(keys)
        return play_round(round_keys, observation, found, settings)

    return lax.fori_loop(0, settings.playouts // settings.at_once, one_round, found)


def play_round(keys: Array, observation: Observation, root: Root, settings: Settings) -> Root:
    """Plays M games for each of B decisions, and counts who won; arguments as `run`.

    A decision that is not open plays none.
    """
    visited, chosen = jax.vmap(lambda one: choose(one, settings))(root)
    tables = begin_games(keys, observation, root, chosen, settings)
    won = end_games(keys, observation, tables, settings)
    return count(root, visited, chosen, won, settings)


def count(root: Root, visited: Array, chosen: Array, won: Array, settings: Settings) -> Root:
    """Counts a round: visits float32[B, K] with it, children and returns of its games [B, M]."""
    total = jax.vmap(lambda total, child, value: total.at[child].add(value))(
        root.total, chosen, won
    )
    goes_on = jax.vmap(lambda one: is_open(one, settings))(root)
    return root._replace(
        visits=jnp.where(goes_on[:, None], visited, root.visits),
        total=jnp.where(goes_on[:, None], total, root.total),
        num_games=root.num_games + jnp.where(goes_on, settings.at_once, 0),
    )


def is_open(root: Root, settings: Settings) -> Array:
    """Tells whether more games may change a decision: bool[].

    Never with one candidate. With a tolerance not once all others have fallen behind the child with
    the highest mean, see `Settings`; the variance of n results with s wins is taken to be
    p (1 - p) / n of p = (s + 1) / (n + 2), so that a few equal results do not decide.
    """
    if settings.tolerance == 0:
        return root.num > 1
    mean = jnp.where(root.ids >= 0, means(root), -jnp.inf)
    best = jnp.argmax(mean)
    chance = (root.total + 1) / (root.visits + 2)
    variance = chance * (1 - chance) / jnp.maximum(root.visits, 1e-9)
    lead = mean[best] - mean + settings.tolerance
    may_win = (lead < jnp.sqrt(variance + variance[best])) & (jnp.arange(len(mean)) != best)
    return (root.num > 1) & jnp.any(may_win)


def choose(root: Root, settings: Settings) -> tuple[Array, Array]:
    """Chooses the children of a round, one after another, by their means before the round.

    The highest mean + C sqrt(ln(sum of n) / n_i) is next, the first of equals; before that, all
    those without a visit in their order. A child without a result has the root's mean.

    Returns:
      float32[K] visits with those of the round, int32[M] children.
    """
    is_child, mean = root.ids >= 0, means(root)

    def one(visits: Array, _: None) -> tuple[Array, Array]:
        bonus = jnp.sqrt(jnp.log(jnp.maximum(jnp.sum(visits), 1.0)) / jnp.maximum(visits, 1e-9))
        score = jnp.where(visits > 0, mean + settings.exploration * bonus, jnp.inf)
        child = jnp.argmax(jnp.where(is_child, score, -jnp.inf)).astype(jnp.int32)
        return visits.at[child].add(1.0), child

    return lax.scan(one, root.visits, None, length=settings.at_once)


def means(root: Root) -> Array:
    """Returns the children's means float32[K], that of the root for those never visited."""
    of_root = jnp.sum(root.total) / jnp.maximum(jnp.sum(root.visits), 1.0)
    known = jnp.where(jnp.sum(root.visits) > 0, of_root, 0.5)
    return jnp.where(root.visits > 0, root.total / jnp.maximum(root.visits, 1e-9), known)


def begin_games(
    keys: Array, observation: Observation, root: Root, chosen: Array, settings: Settings
) -> Table:
    """Deals hidden cards for each child int32[B, M] and moves: games [B, M]."""

    def one_game(key: Array, seen: Observation, move: Array, goes_on: Array) -> Table:
        state = determinize(key, seen)
        table = Table(state.hands, seen.role, seen.to_beat, seen.passes, jnp.int32(-1))
        table = playout.after(table, move)
        return table._replace(winner=jnp.where(goes_on, table.winner, 0))

    def one_row(key: Array, seen: Observation, root: Root, chosen: Array) -> Table:
        game_keys = jax.random.split(key, settings.at_once)
        return jax.vmap(one_game, (0, None, 0, None))(
            game_keys, seen, root.ids[chosen], is_open(root, settings)
        )

    deal_keys = jax.vmap(jax.random.fold_in, (0, None))(keys, 0)
    return jax.vmap(one_row)(deal_keys, observation, root, chosen)


def end_games(keys: Array, observation: Observation, tables: Table, settings: Settings) -> Array:
    """Plays games [B, M] out: float32[B, M], 1 where the side of the root's player wins."""
    play_keys = jax.vmap(jax.random.fold_in, (0, None))(keys, 1)
    winner = playout.play_out(play_keys, tables, settings.style, settings.rules)
    is_landlord = (observation.role == LANDLORD)[:, None]
    return ((winner == LANDLORD) == is_landlord).astype(jnp.float32)


def decide(root: Root, settings: Settings) -> Array:
    """Picks the child with the highest mean among those visited enough: int32[] its id.

    Of equals the one with more visits, then the first.
    """
    is_child = root.ids >= 0
    enough = is_child & (root.visits >= settings.min_visits * jnp.max(root.visits))
    mean = jnp.where(enough, root.total / jnp.maximum(root.visits, 1e-9), -1.0)
    is_best = enough & (mean >= jnp.max(mean))
    best = jnp.argmax(jnp.where(is_best, root.visits, -1.0))
    return root.ids[jnp.where(root.num > 1, best, 0)]
