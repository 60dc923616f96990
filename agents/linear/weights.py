"""The weights of the linear score: named, as text, and the points to start from.

H = `features.HAND`, C = `features.CONTEXT`, K = `features.TILE`, Q = `CLAIM`, D = `DANGER`,
F = `FOLD`.
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


# What a hundred points at risk weigh, and a tile that the hand lacks once more: sums over these.
DANGER = ("1", "2", "3", "4+", "late", "ready")  # tiles missing; opponents ready, as read
FOLD = (*DANGER, "accepting")  # ten copies that the best hand accepts


class Weights(NamedTuple):
    """Weights of one player, or leading axes of several; with the last two it reads hands."""

    hand: Array  # float32[H,C]
    tile: Array  # float32[K,2]
    claim: Array  # float32[Q]
    danger: Array | None = None  # float32[D]
    fold: Array | None = None  # float32[F]


_NAMES = (HAND, TILE, CLAIM, DANGER, FOLD)
_SHAPES = (
    (len(HAND), len(CONTEXT)),
    (len(TILE), len(PHASE)),
    *((len(names),) for names in _NAMES[2:]),
)
_SIZES = tuple(int(np.prod(shape)) for shape in _SHAPES)
_NUM_PARTS = (3, len(_SHAPES))  # without and with reading
NUM_WEIGHTS = tuple(sum(_SIZES[:number]) for number in _NUM_PARTS)


def spread(reads: bool) -> Weights:
    """Tells how far the evolution strategy varies each weight."""
    parts = zip(_SHAPES[: _NUM_PARTS[reads]], (0.2, 1, 0.3, 2, 4), strict=False)
    return Weights(*(np.full(shape, size, np.float32) for shape, size in parts))


def greedy() -> Weights:
    """Makes weights with which the player plays as `greedy`, move for move."""
    hand, tile, claim = (np.zeros(shape, np.float32) for shape in _SHAPES[: _NUM_PARTS[False]])
    hand[HAND.index("accepting"), :4] = 1
    claim[CLAIM.index("always")] = -1
    return Weights(hand, tile, claim)


def handmade() -> Weights:
    """Makes weights to start from: greedy that counts pongs apart, and claims a little more."""
    weights = greedy()
    weights.hand[HAND.index("pong"), :4] = (0, 0.8, 0.8, 0.6)
    weights.claim[CLAIM.index("growth")] = 1
    return weights


def reading(weights: Weights) -> Weights:
    """Adds the weights of a player who reads hands, as a start: a deal-in costs what it costs."""
    danger = np.array([5, 7, 8, 9, 0, 0], np.float32)  # accepting copies for a hundred points
    fold = np.array([35, 30, 26, 22, 0, 0, 0], np.float32)
    return weights._replace(danger=danger, fold=fold)


def flat(weights: Weights) -> np.ndarray:
    """Joins weights, [..., shape] each: float32[..., one of NUM_WEIGHTS]."""
    parts = [(part, s) for part, s in zip(weights, _SHAPES, strict=True) if part is not None]
    return np.concatenate(
        [part.reshape(*part.shape[: part.ndim - len(s)], -1) for part, s in parts], axis=-1
    )


def parted(vector: np.ndarray) -> Weights:
    """Takes joined weights float32[..., one of NUM_WEIGHTS] apart."""
    number = _NUM_PARTS[NUM_WEIGHTS.index(vector.shape[-1])]
    parts = np.split(vector, np.cumsum(_SIZES[:number])[:-1], axis=-1)
    shapes = _SHAPES[:number]
    return Weights(
        *(p.reshape(*vector.shape[:-1], *shape) for p, shape in zip(parts, shapes, strict=True))
    )


def to_text(weights: Weights) -> str:
    """Writes weights as JSON, each row under its name."""
    named = {
        part: dict(zip(names, np.round(rows.astype(float), 4).tolist(), strict=True))
        for (part, rows), names in zip(weights._asdict().items(), _NAMES, strict=True)
        if rows is not None
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
    reads = isinstance(named, dict) and any(part in named for part in Weights._fields[3:])
    parts = []
    each = zip(Weights._fields, _NAMES, _SHAPES, strict=True)
    for part, names, shape in tuple(each)[: _NUM_PARTS[reads]]:
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


def shipped(name: str = "weights") -> Weights:
    """Returns trained weights of the package: `weights`, or `reading` of the player who reads."""
    file = importlib.resources.files("agents.linear").joinpath(f"{name}.json")
    return from_text(file.read_text(encoding="utf-8"))
