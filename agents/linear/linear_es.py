"""The linear player: of the actions that leave the lowest deficiency, the best linear score.

A discard's score is that of the hand it leaves plus that of the tile; a claim's is that of the best
hand it leads to. A chow or pong that lowers the deficiency is called; one that leaves it as it is
where the weights say so. Kongs, wins and declarations follow `greedy`, and with `weights.greedy()`
so does everything else.

Levels come first (`_LEVELS` a tile missing), scores decide within the best level. Only hands that
may decide something are looked at. B = decisions, T = 34 kinds, A = 110 actions, D = 4 hands of a
decision.
"""

import functools
import pathlib
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agents import greedy, options
from agents.linear import features, weights
from agents.linear.features import Table
from agents.linear.weights import Weights
from agents.policy import Explanation, Policy
from agents.reading import network, prices
from agents.worklist import map_where
from mjx import actions, distance, packed
from mjx.observe import Observation
from mjx.rules import DEFAULT, Rules
from mjx.stage import stage
from mjx.tiles import NUM_KINDS

Array = jax.Array

NEVER = np.float32(-np.inf)  # the score of what is not played
_SLOTS = 4  # hands of a decision that discard: the own, or one a claim; and that are at rest
_TO_DISCARD, _AT_REST = 256, 32  # such hands looked at together
_LEFT = 256  # and hands that discards leave
_EARLY = 15  # discards, before which nobody is taken to be ready who has more tiles than
_FEW = 10
_CLAIMS = np.array(options.CLAIMS, np.int32)
_KONGS = slice(actions.CONCEALED_KONG, actions.CHOW_LOW)
# Levels of actions, by tiles missing and then by these.
_LEVELS = 4
_KONG, _PASS, _EQUAL_CLAIM = 1, 1, 2
_WIN_LEVEL = 1000
_FAR = np.int32(distance.FAR)
_KINDS = np.arange(NUM_KINDS, dtype=np.int32)
_TILES = np.zeros((NUM_KINDS, 4), np.uint32)  # each kind as a hand of one tile
_TILES[_KINDS, _KINDS // packed.RANKS] = 1 << (packed.BITS * (_KINDS % packed.RANKS))


def make(path: str = "", rules: Rules = DEFAULT) -> Policy:
    """Makes the linear player.

    Args:
      path: a file of weights, as `python -m agents.linear` writes it; empty for those shipped.
      rules: the table's rules, for weights of a player who reads hands.

    Raises:
      ValueError: there is no such file, or it holds other weights than this version has; or
        weights of one who reads hands, for a game that the reading network has not seen.
    """
    if not path:
        return player(weights.shipped())
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"path: {error}.") from None
    return player(weights.from_text(text), rules)


def player(given: Weights, rules: Rules = DEFAULT) -> Policy:
    """Makes the player of given weights."""
    params = Params(jax.tree.map(jnp.asarray, given), network_for(given, rules))
    act, explain = functools.partial(_act, rules=rules), functools.partial(_explain, rules=rules)
    return Policy("linear_es", params, act, explain)


class Params(NamedTuple):
    """What a player's decisions share."""

    weights: Weights
    network: Any  # that reads hands; None for weights that do without


def network_for(given: Weights, rules: Rules) -> Any:
    """Loads what reads the hands, if the weights ask for it.

    Raises:
      ValueError: a game whose hands the network was not trained to read.
    """
    if given.danger is None:
        return None
    network.check_rules(rules)
    return network.shipped()["network"]


def _act(
    params: Params, key: Array, observation: Observation, legal_action_mask: Array, rules: Rules
) -> Array:
    """Plays the best score: int32[B]."""
    del key
    found = _of_batch(params, observation, legal_action_mask, rules)
    return jnp.argmax(found, axis=-1).astype(jnp.int32)


def _explain(params: Params, observation: Observation, rules: Rules) -> Explanation:
    """Shows the scores, where they decide."""
    legal = observation.legal_action_mask
    found = _of_batch(params, observation, legal, rules)
    value = jnp.where(found == NEVER, jnp.nan, found)
    return Explanation(value, value, greedy.accepting_after(observation, legal))


def _of_batch(params: Params, observation: Observation, legal: Array, rules: Rules) -> Array:
    """Scores the actions of decisions that share their weights: float32[B, A]."""
    return scores(for_each(params, len(legal)), observation, legal, rules)


def for_each(params: Params, number: int) -> Params:
    """Gives each of so many decisions the same weights, leading axis B, as `look` takes them."""
    given = jax.tree.map(lambda x: jnp.broadcast_to(x, (number, *x.shape)), params.weights)
    return params._replace(weights=given)


class _Decision(NamedTuple):
    """One decision, taken apart."""

    own: options.Own
    table: Table
    pending: Array  # int32[]
    legal: Array  # bool[A]
    kongs: Array  # int32[D]  of the own turn as 0-67, concealed before added; 68: none
    now: Array  # int32[]   tiles that the hand lacks
    claims: Array  # int32[4]  and after each chow and pong, `_FAR` where it is not legal
    to_discard: Array  # bool[D]   hands to be looked at: the own, or one a claim
    at_rest: Array  # bool[D]   likewise: before and after an open kong, or after kongs


class Read(NamedTuple):
    """What is read of the opponents' hands; zero where not looked at. Leading axis B, O = 3."""

    price: Array  # float32[T]    hundreds of points that a discard is expected to cost at once
    num_ready: Array  # float32[]     opponents that wait for their last tile
    wins: Array  # float32[O,T]  chance that the opponent wins on the kind
    tai: Array  # float32[O,T]  of such a win, times its chance
    ready: Array  # float32[O]    chance that it waits for its last tile


class Look(NamedTuple):
    """What was looked at to score the actions. Leading axis B."""

    scores: Array  # float32[A]    of the actions among which a score decides; `NEVER` for others
    table: Table
    first: "_Discarding"  # of the own turn
    tiles: Array  # float32[K,T]  `features.TILE`
    read: Read | None  # None where the weights do without


def scores(params: Params, observation: Observation, legal: Array, rules: Rules = DEFAULT) -> Array:
    """Scores the actions: `look(...).scores`."""
    return look(params, observation, legal, rules).scores


def look(
    params: Params,
    observation: Observation,
    legal: Array,
    rules: Rules = DEFAULT,
) -> Look:
    """Looks at decisions.

    Args:
      params: weights of each decision, leading axis B, and the network of all.
      observation: leading axis B.
      legal: bool[B, A].
      rules: the table's rules.
    """
    given = params.weights
    decision = stage(jax.vmap(_take_apart), observation, legal)
    discarding = _look_at_discards(given, decision)
    resting = _look_at_rest(given, decision)
    facts = stage(jax.vmap(features.tile), observation)
    tile = stage(_tile_scores, given.tile, decision.table.late, facts)
    pays = jax.vmap(features.tai)(observation)
    read = None
    if given.danger is not None:
        read = _read(params.network, observation, decision, rules)
    score = jax.vmap(_score)
    found = stage(score, given, decision, discarding, resting, tile, pays, read)
    first = jax.tree.map(lambda x: x[:, 0], discarding)
    return Look(found, decision.table, first, facts, read)


def _read(params: Any, observation: Observation, decision: _Decision, rules: Rules) -> Read:
    """Reads the hands where there is a discard to choose, and somebody may be ready already."""
    is_late = observation.history_kind[:, _EARLY] >= 0
    is_open = jnp.any(observation.num_concealed[:, 1:] <= _FEW, axis=1)
    is_turn = decision.to_discard[:, 0] & (decision.pending < 0)

    def block(seen: Observation) -> Read:
        wins, tai, ready = reading = network.read(params, seen)
        cost, _ = jax.vmap(lambda one, view: prices.deal_in(one, view, rules))(reading, seen)
        return Read(cost / 100, jnp.sum(ready, axis=-1), wins, wins * tai, ready)

    return map_where(block, is_turn & (is_late | is_open), observation, network.AT_ONCE)


def _tile_scores(given: Array, late: Array, facts: Array) -> Array:
    """Scores the tiles that may be thrown: float32[B, T], of weights float32[B, K, 2]."""
    weighed = given[..., 0] + given[..., 1] * late[:, None]
    return jnp.sum(facts * weighed[..., None], axis=1)


def _take_apart(observation: Observation, legal: Array) -> _Decision:
    """Finds which hands of a decision are to be looked at."""
    own, pending = options.own(observation), observation.pending
    now = stage(distance.deficiency, own.hand, own.num_melds)
    claims = stage(_lacks_after_claims, own, pending, legal[_CLAIMS])
    asked = pending >= 0
    is_open = ~legal[actions.WIN]
    # A single claim that brings the hand nearer is made without a look at it.
    nearer = (claims < now) & ((jnp.sum(claims < now) + legal[actions.OPEN_KONG]) > 1)
    some = jnp.where(jnp.any(claims < now), nearer, claims == now)
    turn = (np.arange(_SLOTS) == 0) & legal[:NUM_KINDS].any()
    kongs = jnp.nonzero(legal[_KONGS], size=_SLOTS, fill_value=2 * NUM_KINDS)[0]
    before = jnp.any(some & (claims == now))
    questions = jnp.stack([before, legal[actions.OPEN_KONG], jnp.bool_(False), jnp.bool_(False)])
    return _Decision(
        own,
        features.table_of(observation),
        pending,
        legal,
        kongs.astype(jnp.int32),
        now,
        claims,
        is_open & jnp.where(asked, some, turn),
        is_open & jnp.where(asked, questions, kongs < 2 * NUM_KINDS),
    )


def _lacks_after_claims(own: options.Own, pending: Array, legal: Array) -> Array:
    """Counts the tiles missing after each chow and pong and its best discard: int32[4]."""
    claimed = jax.vmap(options.keep)(legal, options.after_claims(own, pending))
    lacks = jax.vmap(distance.deficiency)(claimed.hand, claimed.num_melds)
    return jnp.where(legal, jnp.maximum(lacks, 1), _FAR)


def _coefficients(given: Array, deficiency: Array, table: Table, melds: Array) -> Array:
    """Weighs what a hand accepts by its context: float32[N, H], of weights [N, H, C]."""
    context = features.context(deficiency, table.late, table.open_melds + melds)
    return jnp.sum(given * context[:, None], axis=-1)


def _take(tree, index: Array):
    """Takes rows of a pytree."""
    return jax.tree.map(lambda x: x[index], tree)


class _Discarding(NamedTuple):
    """Hands that discard; zero where not looked at. Leading axes B, D."""

    lacks: Array  # int32[]     after the best discard
    is_best: Array  # bool[T]     the discards that leave so much
    is_next: Array  # bool[T]     those that leave one tile more
    score: Array  # float32[T]  of the best; zero for a single one of the own turn, unless read
    accepting: Array  # float32[T]  copies, likewise


def _look_at_discards(given: Weights, decision: _Decision) -> _Discarding:
    """Looks at hands after their discards."""
    is_wanted = decision.to_discard.reshape(-1)
    reads = given.danger is not None  # so single discards are compared with others, too

    def block(lanes: Array) -> _Discarding:
        place, slot = lanes // _SLOTS, lanes % _SLOTS
        own, pending, legal, table = _take(
            (decision.own, decision.pending, decision.legal[:, :NUM_KINDS], decision.table), place
        )
        is_claim = pending >= 0
        hands = jax.vmap(_discarding)(own, pending, slot)
        hands = jax.vmap(options.keep)(is_wanted[lanes], hands)  # lane 0 fills the last block
        after = jax.vmap(distance.deficiency_after_discards)(hands.hand, hands.num_melds)
        after = jnp.where(legal | is_claim[:, None], after, _FAR)
        lacks = jnp.min(after, axis=-1)
        is_best = (after == lacks[:, None]) & (after < _FAR)
        weighed = _coefficients(given.hand[place], lacks, table, is_claim.astype(jnp.float32))
        wanted = is_best & (reads | is_claim | (jnp.sum(is_best, axis=-1) > 1))[:, None]

        def left(lane: Array) -> tuple[Array, Array]:
            hand, kind = lane // NUM_KINDS, lane % NUM_KINDS
            rest = hands.hand[hand] - jnp.asarray(_TILES)[kind]
            found = features.hand(rest, hands.num_melds[hand], _take(table, hand))
            return jnp.sum(found * weighed[hand].T, axis=0), found[0]

        lane = jnp.arange(wanted.size, dtype=jnp.int32)
        found = map_where(left, wanted.reshape(-1), lane, _LEFT)
        is_next = (after == lacks[:, None] + 1) & (after < _FAR)
        return _Discarding(lacks, is_best, is_next, *(x.reshape(wanted.shape) for x in found))

    lanes = jnp.arange(len(is_wanted), dtype=jnp.int32)
    found = map_where(block, is_wanted, lanes, _TO_DISCARD)
    return jax.tree.map(lambda x: x.reshape(-1, _SLOTS, *x.shape[1:]), found)


def _discarding(own: options.Own, pending: Array, slot: Array) -> options.Own:
    """Lists the own hand or, in a question, lays down a claim."""
    claimed = _take(options.after_claims(own, pending), slot)
    return jax.tree.map(lambda a, b: jnp.where(pending < 0, a, b), own, claimed)


class _Resting(NamedTuple):
    """Hands at rest; zero where not looked at. Leading axes B, D."""

    lacks: Array  # int32[]
    score: Array  # float32[]
    accepting: Array  # float32[]


def _look_at_rest(given: Weights, decision: _Decision) -> _Resting:
    """Looks at hands as they are, and after kongs."""
    is_wanted = decision.at_rest.reshape(-1)

    def block(lanes: Array) -> _Resting:
        place, slot = lanes // _SLOTS, lanes % _SLOTS
        own, pending, kongs, table = _take(
            (decision.own, decision.pending, decision.kongs, decision.table), place
        )
        hands = jax.vmap(_resting)(own, pending, kongs, slot)
        hands = jax.vmap(options.keep)(is_wanted[lanes], hands)
        lacks = jax.vmap(distance.deficiency)(hands.hand, hands.num_melds)
        # A concealed kong opens nothing; an added one is counted already.
        is_open = ((pending >= 0) & (slot == 1)).astype(jnp.float32)
        found = features.hand(hands.hand, hands.num_melds, table)
        weighed = _coefficients(given.hand[place], lacks, table, is_open)
        return _Resting(lacks, jnp.sum(found * weighed.T, axis=0), found[0])

    lanes = jnp.arange(len(is_wanted), dtype=jnp.int32)
    found = map_where(block, is_wanted, lanes, _AT_REST)
    return jax.tree.map(lambda x: x.reshape(-1, _SLOTS), found)


def _resting(own: options.Own, pending: Array, kongs: Array, slot: Array) -> options.Own:
    """Lists the hand of a question, as it is and after an open kong; or after a kong."""
    kong = kongs[slot]
    hands = (
        own,
        options.after_open_kong(own, pending),
        options.after_concealed_kong(own, kong % NUM_KINDS),
        options.after_added_kong(own, kong % NUM_KINDS),
    )
    way = jnp.where(pending >= 0, jnp.minimum(slot, 1), 2 + (kong >= NUM_KINDS))
    return jax.tree.map(lambda *each: jnp.stack(each)[way], *hands)


def _score(
    given: Weights,
    decision: _Decision,
    discarding: _Discarding,
    resting: _Resting,
    tile: Array,
    pays: Array,
    read: Read | None,
) -> Array:
    """Scores the actions of one decision: float32[A]."""
    first = jax.tree.map(lambda x: x[0], discarding)
    now = decision.now
    is_open, thrown = first.is_best, first.score + tile
    if read is not None:
        is_open, thrown = _with_danger(given, decision.table, first, tile, read)
    discard_level = jnp.where(is_open, -_LEVELS * first.lacks, -_WIN_LEVEL)
    best = jnp.where(discarding.is_best, discarding.score, NEVER)
    claim_score = jnp.where(decision.to_discard, jnp.max(best, axis=-1), 0)
    accepting = jnp.take_along_axis(
        discarding.accepting, jnp.argmax(best, axis=-1)[:, None], axis=-1
    )[:, 0]
    growth = jnp.log1p(accepting) - jnp.log1p(resting.accepting[0])
    call = _call(given.claim, decision, growth, pays[jnp.maximum(decision.pending, 0)])
    is_called = (decision.claims == now) & (call > 0)
    claim_level = jnp.where(is_called, _EQUAL_CLAIM, 0) - _LEVELS * decision.claims
    is_kong = decision.kongs[:, None] == np.arange(2 * NUM_KINDS, dtype=np.int32)[None]
    kong_level = jnp.where(is_kong, (_KONG - _LEVELS * resting.lacks)[:, None], -_WIN_LEVEL)
    kong_score = jnp.where(is_kong, resting.score[:, None], 0)
    stays = _PASS - _LEVELS * now
    level = [
        discard_level,
        jnp.max(kong_level, axis=0),
        claim_level,
        jnp.stack([-_LEVELS * resting.lacks[1], jnp.int32(_WIN_LEVEL), stays, stays]),
    ]
    score = [
        thrown,
        jnp.sum(kong_score, axis=0),
        claim_score,
        # Whoever may declare itself ready does.
        jnp.stack([resting.score[1], np.float32(0), np.float32(0), np.float32(1)]),
    ]
    level = jnp.where(decision.legal, jnp.concatenate(level), -2 * _WIN_LEVEL)
    is_best = decision.legal & (level == jnp.max(level))
    return jnp.where(is_best, jnp.concatenate(score), NEVER)


def _with_danger(
    given: Weights, table: Table, first: _Discarding, tile: Array, read: Read
) -> tuple[Array, Array]:
    """Weighs danger and giving up a tile: the discards to choose from bool[T], scores float32[T].

    A hand that lacks one tile more than it must is worth the best hand less a sum of its own; what
    it accepts is not looked at.
    """
    assert given.danger is not None and given.fold is not None, "weights that do without reading"
    *steps, late, _ = features.context(first.lacks, table.late, table.open_melds)
    facts = [*steps, late, read.num_ready]
    best = jnp.argmax(jnp.where(first.is_best, first.score, NEVER))
    for_danger = sum(given.danger[n] * fact for n, fact in enumerate(facts))
    facts.append(first.accepting[best] / 10)
    for_fold = sum(given.fold[n] * fact for n, fact in enumerate(facts))
    score = jnp.where(first.is_best, first.score, first.score[best] - for_fold)
    return first.is_best | first.is_next, score + tile - for_danger * read.price


def _call(claim: Array, decision: _Decision, growth: Array, pays: Array) -> Array:
    """Weighs each claim that leaves the deficiency as it is: float32[4], made where positive."""
    is_pong = (_CLAIMS == actions.PONG).astype(np.float32)
    one = np.ones_like(is_pong)
    facts = (
        one,
        growth,
        is_pong,
        is_pong * pays.astype(jnp.float32),
        one * (decision.table.open_melds == 0),
        one * decision.table.late,
        one * (decision.now >= 3),
    )
    return sum((claim[n] * fact for n, fact in enumerate(facts)), jnp.zeros(len(one)))
