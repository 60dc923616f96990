"""The rows of table 4 and the sizes they come in: what each is learned with."""

import dataclasses
from pathlib import Path
from typing import Literal, NamedTuple

from agents.learn import calibration, player
from agents.learn import config as settings
from agents.learn.config import Config, NetworkConfig
from agents.supervised import config as supervised

CONFIGS = Path(__file__).parents[1] / "configs"


class Row(NamedTuple):
    """One row: supervised where it has a loss, else learned by self-play."""

    title: str
    loss: Literal["cross_entropy", "hinge"] | None = None
    double: bool = False
    searched: bool = False


ROWS = {
    "linear": Row("Linear", "cross_entropy"),
    "svm": Row("SVM", "hinge"),
    "fc": Row("FC", "cross_entropy"),
    "cnn": Row("CNN", "cross_entropy"),
    "densenet": Row("DenseNet", "cross_entropy"),
    "resnet": Row("ResNet", "cross_entropy"),
    "features": Row("Network of the rows below, supervised (ours)", "cross_entropy"),
    "dqn": Row("DQN"),
    "double_dqn": Row("Double DQN", double=True),
    "expectimax_dqn": Row("Expectimax + DQN", searched=True),
    "expectimax_double_dqn": Row("Expectimax + Double DQN", double=True, searched=True),
}


@dataclasses.dataclass(frozen=True)
class Size:
    """What all rows are made with."""

    learning: str  # file of the reinforcement rows' settings
    networks: dict[str, NetworkConfig]  # of supervised rows
    epochs: dict[str, int]  # at most, of those that differ
    base: supervised.Config
    pairs: int = 1500
    opponent: str = "expectimax_paper"
    games: int = 128  # tables of the calibration
    steps: int = 512  # decisions of each


_LINEAR = NetworkConfig(kind="linear")
SIZES = {
    "cpu": Size(
        learning="table4.yaml",
        networks={
            "linear": _LINEAR,
            "svm": _LINEAR,
            "fc": NetworkConfig(kind="fc", layers=2, width=256),
            "cnn": NetworkConfig(kind="cnn", layers=3, channels=16, width=256),
            "densenet": NetworkConfig(kind="densenet", layers=10, channels=8),
            "resnet": NetworkConfig(kind="resnet", layers=8, channels=8),
        },
        epochs={"cnn": 5, "densenet": 3, "resnet": 5},
        base=supervised.Config(hands=4000),
    ),
    "paper": Size(
        learning="paper.yaml",
        networks={
            "linear": _LINEAR,
            "svm": _LINEAR,
            "fc": NetworkConfig(kind="fc", layers=3, width=1024),
            "cnn": NetworkConfig(kind="cnn", layers=3, channels=64, width=1024),
            "densenet": NetworkConfig(kind="densenet", layers=190, channels=40),
            "resnet": NetworkConfig(kind="preresnet", layers=1001),
        },
        epochs={},
        base=supervised.Config(hands=100_000),
    ),
    "smoke": Size(
        learning="smoke.yaml",
        networks={
            "linear": _LINEAR,
            "svm": _LINEAR,
            "fc": NetworkConfig(kind="fc", layers=1, width=8),
            "cnn": NetworkConfig(kind="cnn", layers=2, channels=4, width=8),
            "densenet": NetworkConfig(kind="densenet", layers=10, channels=4),
            "resnet": NetworkConfig(kind="resnet", layers=8, channels=4),
        },
        epochs={},
        base=supervised.Config(agent="greedy", hands=10, epochs=2, batch=64),
        pairs=2,
        opponent="greedy",
        games=4,
        steps=calibration.TAIL + 64,
    ),
}


def supervised_config(size: Size, row: str, seed: int) -> supervised.Config:
    """Returns the settings of a supervised row."""
    loss = ROWS[row].loss
    assert loss is not None, f"{row} is no supervised row"
    return dataclasses.replace(
        size.base,
        seed=seed,
        records_seed=seed + 1,
        loss=loss,
        network=size.networks.get(row, _file(size).network),
        epochs=size.epochs.get(row, size.base.epochs),
    )


def reinforcement_config(size: Size, row: str, seed: int) -> Config:
    """Returns the settings of a reinforcement row: those of the file but for what the row is."""
    config, about = _file(size), ROWS[row]
    search = dataclasses.replace(config.search, calls="greedy")
    return dataclasses.replace(
        config,
        name=row,
        seed=seed,
        search=search if about.searched else player.alone(search),
        selfplay=dataclasses.replace(
            config.selfplay, reward="expectimax" if about.searched else "final"
        ),
        learning=dataclasses.replace(config.learning, double=about.double),
        evaluation=dataclasses.replace(
            config.evaluation, every=config.iterations, opponents=(), searched_opponents=()
        ),
    )


def _file(size: Size) -> Config:
    """Reads the settings that the reinforcement rows share."""
    return settings.parse([], CONFIGS / size.learning)
