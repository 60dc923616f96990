"""The settings of a training run: frozen, typed, checked before any work.

A run is a YAML file of these fields; any of them may be given on the command line as
`--section.field value`.
"""

import argparse
import contextlib
import dataclasses
import difflib
import io
import pathlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from agents import policy
from agents.learn.checks import check_name
from agents.learn.checks import check_within as _within
from mjx.seats import NUM_SEATS


class ConfigError(ValueError):
    """A setting that does not exist, has the wrong type, or cannot be."""


Kind = Literal["small", "two_part", "linear", "fc", "cnn", "densenet", "resnet", "preresnet"]
# What of the layers stands before and after the blocks, and how many make one block of each size.
_LAYERS = {"densenet": (4, 6), "resnet": (2, 6), "preresnet": (2, 9)}


@dataclass(frozen=True)
class NetworkConfig:
    """The Q network."""

    kind: Kind = "small"  # all but `small` and `two_part` read the paper's input
    width: int = 32  # of the hidden layers, where they are fully connected
    context: int = 32  # values that sum up the table for every tile, in `small` and `two_part`
    layers: int = 20  # in all; of `fc` the hidden ones, of `cnn` the convolutions
    channels: int = 16  # of the first convolution; of `densenet` its growth
    dtype: Literal["float32", "bfloat16"] = "float32"  # of products; parameters stay float32

    def __post_init__(self) -> None:
        """Refuses impossible sizes."""
        _within("network.width", self.width, 1, 4096)
        _within("network.context", self.context, 1, 4096)
        _within("network.layers", self.layers, 1, 2048)
        _within("network.channels", self.channels, 1, 1024)
        rest, period = _LAYERS.get(self.kind, (0, 1))
        if self.layers <= rest or self.layers % period != rest:
            raise ValueError(
                f"network.layers: of {self.kind} {rest} more than a multiple of {period}, "
                f"not {self.layers}."
            )


@dataclass(frozen=True)
class SearchConfig:
    """The search that chooses the actions in self-play and in `expectimax_ddqn`."""

    depth: int = 1  # layers of one discard and one draw in the own turn; 0 is the network alone
    claim_depth: int = 0  # layers for claims and passes: a pass is 34 trees
    alpha: float = 0.2  # the share of the tiles in hand that are tried as discards
    calls: Literal["searched", "greedy"] = "searched"  # who chooses all that is no discard

    def __post_init__(self) -> None:
        """Refuses searches that cannot be."""
        _within("search.depth", self.depth, 0, 4)
        _within("search.claim_depth", self.claim_depth, 0, 4)
        _within("search.alpha", self.alpha, 1e-3, 1.0)


@dataclass(frozen=True)
class SelfPlayConfig:
    """Games played at once, each carried over from one iteration to the next."""

    games: int = 128
    steps: int = 8  # decisions of each game in one iteration
    epsilon_start: float = 0.5  # chance of a random action, falling linearly ...
    epsilon_end: float = 0.05
    epsilon_iterations: int = 500  # ... over so many iterations
    reward: Literal["final", "expectimax"] = "expectimax"
    reward_share: float = 0.1  # of the search's value, the reward of each decision but the last

    def __post_init__(self) -> None:
        """Refuses impossible values."""
        _within("selfplay.games", self.games, 1, 1 << 20)
        _within("selfplay.steps", self.steps, 1, 4096)
        _within("selfplay.epsilon_start", self.epsilon_start, 0.0, 1.0)
        _within("selfplay.epsilon_end", self.epsilon_end, 0.0, 1.0)
        _within("selfplay.epsilon_iterations", self.epsilon_iterations, 1, 1 << 30)
        _within("selfplay.reward_share", self.reward_share, 0.0, 1.0)


@dataclass(frozen=True)
class LearningConfig:
    """Double DQN and its optimiser."""

    double: bool = True  # False: plain DQN
    discount: float = 1.0
    loss: Literal["huber", "squared"] = "huber"
    learning_rate: float = 1e-3  # decays to a tenth along a cosine
    batch: int = 256
    updates: int = 8  # gradient steps in one iteration
    target_period: int = 100  # gradient steps between copies into the target network
    clip: float = 10.0  # largest gradient norm
    capacity: int = 65536  # transitions kept
    warmup: int = 4096  # transitions needed before the first gradient step, as many in each group

    def __post_init__(self) -> None:
        """Refuses impossible values."""
        _within("learning.discount", self.discount, 0.0, 1.0)
        _within("learning.learning_rate", self.learning_rate, 1e-8, 1.0)
        _within("learning.batch", self.batch, 1, 1 << 20)
        _within("learning.updates", self.updates, 1, 1 << 20)
        _within("learning.target_period", self.target_period, 1, 1 << 30)
        _within("learning.clip", self.clip, 1e-6, 1e6)
        _within("learning.capacity", self.capacity, 1, 1 << 30)
        _within("learning.warmup", self.warmup, 1, self.capacity)


@dataclass(frozen=True)
class EvaluationConfig:
    """Matches against other agents, in mirrored pairs of hands."""

    every: int = 100  # iterations between short matches of the network alone
    pairs: int = 128  # of each short match
    opponents: tuple[str, ...] = ("random", "greedy")  # of the network alone
    final_pairs: int = 512  # of each match of the network alone, at the end
    searched_pairs: int = 128  # of each match with the search, at the end
    searched_opponents: tuple[str, ...] = ("expectimax:depth=1",)

    def __post_init__(self) -> None:
        """Refuses impossible values."""
        _within("evaluation.every", self.every, 1, 1 << 30)
        for name in ("pairs", "final_pairs", "searched_pairs"):
            _within(f"evaluation.{name}", getattr(self, name), 2, 1 << 20)
        for opponent in (*self.opponents, *self.searched_opponents):
            policy.load(opponent)  # raises a ValueError that says what is allowed


@dataclass(frozen=True)
class Config:
    """One training run."""

    name: str = "cpu"  # the run's folder under runs/
    seed: int = 0
    iterations: int = 1000
    log_every: int = 10  # iterations in one compiled call; one line of metrics for each
    checkpoint_every: int = 100  # iterations
    groups: int = 8  # of games, each with its own part of the replay; as many devices at most
    network: NetworkConfig = field(default_factory=NetworkConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    selfplay: SelfPlayConfig = field(default_factory=SelfPlayConfig)
    learning: LearningConfig = field(default_factory=LearningConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)

    def __post_init__(self) -> None:
        """Refuses values that cannot stand together."""
        check_name(self.name)
        _within("seed", self.seed, 0, 2**32 - 1)
        _within("iterations", self.iterations, 1, 1 << 30)
        _within("log_every", self.log_every, 1, self.iterations)
        _within("groups", self.groups, 1, 1 << 16)
        for path, value in (
            ("selfplay.games", self.selfplay.games),
            ("learning.batch", self.learning.batch),
            ("learning.capacity", self.learning.capacity),
        ):
            if value % self.groups:
                raise ValueError(f"{path}: a multiple of groups ({self.groups}), not {value}.")
        at_once = self.selfplay.games * (1 + NUM_SEATS)  # transitions of one step
        if self.learning.capacity < at_once:
            raise ValueError(
                f"learning.capacity: at least {at_once}, what {self.selfplay.games} games may give "
                f"at once, not {self.learning.capacity}."
            )
        for path, value in (
            ("iterations", self.iterations),
            ("checkpoint_every", self.checkpoint_every),
            ("evaluation.every", self.evaluation.every),
        ):
            if value < 1 or value % self.log_every:
                raise ValueError(
                    f"{path}: a multiple of log_every ({self.log_every}), not {value}."
                )


C = TypeVar("C")
_FILE = re.compile("^--config(?==|$)")  # the library calls the option --config_path


def parse(arguments: Sequence[str], default_file: pathlib.Path, kind: type[C] = Config) -> C:
    """Reads a config from a YAML file and command-line arguments.

    Args:
      arguments: `--config FILE` and any `--section.field value`.
      default_file: read when no file is given.
      kind: the dataclass of the settings, whose fields all have defaults.

    Returns:
      The config.

    Raises:
      ConfigError: names the field, what is wrong, and the nearest right one.
    """
    import draccus
    import yaml

    arguments = [_FILE.sub("--config_path", argument) for argument in arguments]
    _refuse_unknown_options(arguments, _fields(kind))
    if not any(a.split("=")[0] == "--config_path" for a in arguments):
        arguments = [f"--config_path={default_file}", *arguments]
    try:
        path = _config_path(arguments)
        _refuse_unknown_keys(yaml.safe_load(path.read_text()), path, _fields(kind))
        with contextlib.redirect_stderr(io.StringIO()) as complaint:
            try:
                return draccus.parse(kind, args=arguments)
            except SystemExit as stop:
                if stop.code in (0, None):  # --help was asked for
                    raise
                raise ConfigError(complaint.getvalue().strip().splitlines()[-1]) from None
    except (OSError, yaml.YAMLError) as error:
        raise ConfigError(f"Cannot read the config: {error}") from error
    except draccus.utils.ParsingError as error:
        raise ConfigError(_innermost(error)) from error


def named(arguments: Sequence[str], key: str) -> str | None:
    """Reads what a config file names under `game` or `method`; None where it names none."""
    import yaml

    try:
        path = _config_path([_FILE.sub("--config_path", argument) for argument in arguments])
        values = yaml.safe_load(path.read_text()) if path else None
    except (ConfigError, OSError, yaml.YAMLError):  # said by `parse`
        return None
    return values.get(key) if isinstance(values, dict) else None


def to_dict(config: Any) -> dict[str, Any]:
    """Returns a config as nested plain values, lists for tuples, as JSON would give it back."""
    return _plain(dataclasses.asdict(config))


def from_dict(values: dict[str, Any], kind: type[C] = Config) -> C:
    """Returns the config of `to_dict`.

    Raises:
      ConfigError: the values are not those of a config.
    """
    import draccus

    try:
        return draccus.decode(kind, values)
    except draccus.utils.ParsingError as error:
        raise ConfigError(_innermost(error)) from error


def differences(a: Any, b: Any) -> list[str]:
    """Lists the fields in which two configs differ, with both values."""
    flat_a, flat_b = dict(_flat(to_dict(a))), dict(_flat(to_dict(b)))
    return [
        f"{path}: {flat_a[path]!r} and {flat_b[path]!r}"
        for path in flat_a
        if flat_a[path] != flat_b[path]
    ]


def _plain(value: Any) -> Any:
    """Turns tuples into lists, all the way down."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def _flat(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yields nested values under dotted names."""
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _fields(kind: type) -> list[str]:
    """Lists every field under its dotted name."""
    return [path for path, _ in _flat(to_dict(kind()))]


def _refuse_unknown_options(arguments: Sequence[str], fields: list[str]) -> None:
    """Refuses an option that names no field."""
    allowed = [*fields, "config", "config_path", "help"]
    for argument in arguments:
        name = argument.split("=")[0].removeprefix("--")
        if argument.startswith("--") and name not in allowed:
            raise ConfigError(f"No option is named --{name}.{_nearest(name, allowed, '--')}")


def _refuse_unknown_keys(values: Any, path: pathlib.Path, allowed: list[str]) -> None:
    """Refuses a key of a file that names no field."""
    if not isinstance(values, dict):
        raise ConfigError(f"{path} holds no settings: {values!r}.")
    sections = {name.split(".")[0] for name in allowed if "." in name}
    for name, value in _flat(values):
        if name in sections:
            raise ConfigError(f"{path}: {name} is a section of settings, not {value!r}.")
        if name not in allowed:
            raise ConfigError(f"{path}: no setting is named {name}.{_nearest(name, allowed)}")


def _nearest(name: str, allowed: Sequence[str], prefix: str = "") -> str:
    """Suggests the nearest allowed name, by its whole path or by its last part alone."""
    found = difflib.get_close_matches(name, allowed, n=1, cutoff=0.5)
    if not found:
        last = {path.split(".")[-1]: path for path in allowed}
        found = [
            last[part]
            for part in difflib.get_close_matches(name.split(".")[-1], list(last), n=1, cutoff=0.5)
        ]
    return f" Did you mean {prefix}{found[0]}?" if found else f" Fields: {', '.join(allowed)}."


def _config_path(arguments: Sequence[str]) -> pathlib.Path:
    """Finds the config file among the arguments."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False, allow_abbrev=False)
    parser.add_argument("--config_path", type=pathlib.Path)
    try:
        return parser.parse_known_args(list(arguments))[0].config_path
    except argparse.ArgumentError as error:
        raise ConfigError(str(error)) from error


def _innermost(error: BaseException) -> str:
    """Returns the message of a field's own check where there is one, else the library's."""
    cause = error.__cause__
    is_ours = isinstance(cause, ValueError) and not type(cause).__module__.startswith("draccus")
    is_check = is_ours and "instantiate" in str(error)
    return str(cause if is_check else error)
