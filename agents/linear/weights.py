"""The weights of the linear score: named, as text, and the points to start from.

H = `features.HAND`, C = `features.CONTEXT`, K = `features.TILE`, Q = `CLAIM`.
"""

import importlib.resources
import json
from typing import Any, NamedTuple

import numpy as np

from agents.linear.features import CONTEXT, HAND, TILE

Array = Any  # NumPy's or JAX's

PHASE = ("always", "late")  # what a weight of `TILE` is multiplied by: 1, and `Table.late`
# Of a claim that leaves the deficiency as it is; it is made where their sum is positive.
CLAIM = (
    "always",
    "growth",  # log of the accepting copies after to before, one added to both
    "pong",
    "pays",  # tai of the triplet
    "closed",  # nothing was open before
    "late",
    "far",  # three tiles missing or more
)


class Weights(NamedTuple):
    """Weights of one player, or leading axes of several."""

    hand: Array  # float32[H,C]
    tile: Array  # float32[K,2]
    claim: Array  # float32[Q]


_SHAPES = ((len(HAND), len(CONTEXT)), (len(TILE), len(PHASE)), (len(CLAIM),))
_SIZES = tuple(int(np.prod(shape)) for shape in _SHAPES)
NUM_WEIGHTS = sum(_SIZES)
# How far the evolution strategy varies each of them.
SPREAD = Weights(
    *(np.full(shape, size, np.float32) for shape, size in zip(_SHAPES, (0.2, 1, 0.3), strict=True))
)


def greedy() -> Weights:
    """Makes weights with which the player plays as `greedy`, move for move."""
    hand, tile, claim = (np.zeros(shape, np.float32) for shape in _SHAPES)
    hand[HAND.index("accepting"), :4] = 1
    claim[CLAIM.index("always")] = -1
    return Weights(hand, tile, claim)


def handmade() -> Weights:
    """Makes weights to start from: greedy that counts pongs apart, and claims a little more."""
    weights = greedy()
    weights.hand[HAND.index("pong"), :4] = (0, 0.8, 0.8, 0.6)
    weights.claim[CLAIM.index("growth")] = 1
    return weights


def flat(weights: Weights) -> np.ndarray:
    """Joins weights, [..., shape] each: float32[..., NUM_WEIGHTS]."""
    parts = zip(weights, _SHAPES, strict=True)
    return np.concatenate(
        [part.reshape(*part.shape[: part.ndim - len(s)], -1) for part, s in parts], axis=-1
    )


def parted(vector: np.ndarray) -> Weights:
    """Takes joined weights float32[..., NUM_WEIGHTS] apart."""
    parts = zip(np.split(vector, np.cumsum(_SIZES)[:-1], axis=-1), _SHAPES, strict=True)
    return Weights(*(part.reshape(*vector.shape[:-1], *shape) for part, shape in parts))


def to_text(weights: Weights) -> str:
    """Writes weights as JSON, each row under its name."""
    named = {
        part: dict(zip(names, np.round(rows.astype(float), 4).tolist(), strict=True))
        for (part, rows), names in zip(weights._asdict().items(), (HAND, TILE, CLAIM), strict=True)
    }
    lines = json.dumps(named, indent=1).replace(",\n   ", ", ").replace("[\n   ", "[")
    return lines.replace("\n  ]", "]") + "\n"


def from_text(text: str) -> Weights:
    """Reads weights.

    Raises:
      ValueError: no such JSON, or other rows or numbers than this version has.
    """
    try:
        named = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"Weights are JSON as this package writes it: {error}.") from None
    parts = []
    for part, names, shape in zip(Weights._fields, (HAND, TILE, CLAIM), _SHAPES, strict=True):
        rows = named.get(part) if isinstance(named, dict) else None
        if not isinstance(rows, dict) or tuple(rows) != names:
            raise ValueError(f"Weights: {part!r} has the rows {', '.join(names)}, in this order.")
        try:
            values = np.array(list(rows.values()), np.float32)
        except (ValueError, TypeError):
            values = np.zeros(0, np.float32)
        if values.shape != shape or not np.isfinite(values).all():
            raise ValueError(f"Weights: {part!r} is numbers of shape {shape}, not {values.shape}.")
        parts.append(values)
    return Weights(*parts)


def shipped() -> Weights:
    """Returns the trained weights of the package."""
    file = importlib.resources.files("agents.linear").joinpath("weights.json")
    return from_text(file.read_text(encoding="utf-8"))
