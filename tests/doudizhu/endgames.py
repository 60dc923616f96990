"""Endgames in which a player knows all hands: states for the search, and what the reference says.

The landlord has only bottom cards left, which the others have seen, so that each peasant knows
what the other holds; or, for the landlord, all cards of the others are of one rank.
"""

import functools
import random

import jax
import numpy as np

import doudizhu
from doudizhu import cards
from tests.doudizhu import scenes
from tests.oracle import doudizhu_endgames as oracle


@functools.cache
def endgames(num, seed=0):
    """Gives states [num] in which the player leads and not all it can lead wins, and the winners.

    Returns:
      States (NumPy), and for each the set of winning moves as card strings.
    """
    rng = random.Random(seed)
    states, winners = [], []
    while len(states) < num:
        hands, player = _hands(rng)
        won, lost = oracle.winning_moves(hands, player)
        if won and lost:
            states.append(_state(hands, player))
            winners.append(won)
    return _stack(states), winners


def _hands(rng):
    """Deals few cards so that the player who leads knows where all are."""
    player = rng.randrange(3)
    deck = [card for card in cards.RANKS for _ in range(1 if card in "BR" else 4)]
    few = rng.sample(cards.RANKS, 5)  # pairs and more are common among few ranks
    deck = [card for card in deck if card in few]
    rng.shuffle(deck)
    sizes = [rng.randint(1, 3), rng.randint(2, 4), rng.randint(2, 4)]
    if player == 0:
        rank = rng.choice([card for card in few if card not in "BR"])
        others = [rank * rng.randint(1, 2), rank * rng.randint(1, 2)]
        deck = [card for card in deck if card != rank]
        hands = ["".join(deck[: rng.randint(2, 5)]), *others]
    else:
        ends = np.cumsum(sizes)
        hands = ["".join(deck[end - size : end]) for size, end in zip(sizes, ends, strict=True)]
    return tuple("".join(sorted(hand, key=cards.RANKS.index)) for hand in hands), player


def _state(hands, player):
    """Builds the state: all other cards were played by the peasant that does not lead."""
    counts = np.array([cards.parse(hand) for hand in hands], np.int8)
    played = np.zeros((3, 15), np.int8)
    played[1 if player != 1 else 2] = np.array(cards.COPIES) - counts.sum(axis=0)
    bottom = np.zeros(15, np.int8)
    if player != 0:
        bottom = counts[0]
    state = scenes.init_jit(jax.random.key(0))
    return state.replace(
        current_player=np.int32(player), hands=counts, played=played, bottom=bottom
    )


def _stack(states):
    """Puts states together: leading axis."""
    return jax.tree.map(lambda *leaves: np.stack([np.asarray(x) for x in leaves]), *states)


def observe(states):
    """Shows each state to the player that moves."""
    return _observe(states)


_observe = jax.jit(jax.vmap(lambda one: doudizhu.observe(one, one.current_player)))
