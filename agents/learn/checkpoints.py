"""A run's folder: the one module of learning that touches the disk.

runs/NAME/config.json        the settings, and the versions they were first run with
runs/NAME/checkpoints/N/     everything after N iterations: `params` apart from the `rest`
runs/NAME/metrics.jsonl      one line for every `log_every` iterations, and for each match
runs/NAME/results.json       the matches at the end
runs/NAME/tensorboard/       the metrics again, where tensorboardX is installed

Of several processes each opens the folder, which all of them see, and writes its part of the
checkpoints; all else is the first one's.
"""

import importlib.metadata
import json
import math
import os
import pathlib
from collections.abc import Callable
from typing import IO, Any, TypeVar

import jax
import orbax.checkpoint as ocp
from jax.sharding import SingleDeviceSharding

from agents.learn import devices
from agents.learn.config import Config, ConfigError, differences, from_dict, to_dict

Params = Any
C = TypeVar("C")

CONFIG, METRICS, RESULTS = "config.json", "metrics.jsonl", "results.json"
CHECKPOINTS, TENSORBOARD, LOCK = "checkpoints", "tensorboard", "lock"
_UNREADABLE = (ValueError, KeyError, FileNotFoundError)  # what orbax says of a damaged checkpoint
_VERSIONED = ("jax", "flax", "optax", "orbax-checkpoint", "numpy")


class CheckpointError(ValueError):
    """A run's folder or checkpoint that is missing or is something else."""


class Run:
    """An open run: writes its folder, and finds where it stopped."""

    def __init__(self, folder: str | os.PathLike[str], config: Any) -> None:
        """Opens a run's folder, new or begun before.

        Args:
          folder: the run's folder.
          config: its settings, of either game.

        Raises:
          ConfigError: the folder holds a run with other settings.
          CheckpointError: the folder holds something else, or another run goes on there.
        """
        self.folder = pathlib.Path(folder).absolute()
        self._lock: IO[str] | None = None
        refusal: Exception | None = None
        if devices.is_first():
            try:
                self._lock = self._claim(config)
            except (ValueError, OSError) as error:
                refusal = error
        if devices.any_wants(refusal is not None):
            raise refusal or CheckpointError(f"The first process cannot run in {folder}.")
        self._manager = _manager(self.folder, keep=2)
        self._board = None
        if devices.is_first():
            self._board = _board(self.folder, self._manager.latest_step())

    def restore(self, init: Callable[[], C]) -> C | None:
        """Returns the newest checkpoint, or None before the first; drops later metrics.

        Args:
          init: makes a state of the same shape; where it is compiled, on the devices it says.

        Raises:
          CheckpointError: the checkpoint is damaged, or of another version.
        """
        step = self._manager.latest_step()
        if devices.is_first():
            self._drop_metrics_after(step or 0)
        if step is None:
            return None
        params, rest = _split(jax.eval_shape(init))
        args = ocp.args.Composite(
            params=ocp.args.StandardRestore(params), rest=ocp.args.StandardRestore(rest)
        )
        try:
            restored = self._manager.restore(step, args=args)
        except _UNREADABLE as error:
            raise CheckpointError(
                f"The checkpoint {self.folder / CHECKPOINTS / str(step)} cannot be read; without "
                f"that folder the run goes on from the one before: {_first_line(error)}"
            ) from error
        return restored["rest"].replace(params=restored["params"])

    def save(self, state: Any) -> None:
        """Writes a checkpoint; it counts only once it is whole. Does nothing if it is there."""
        if self._manager.latest_step() == int(state.iteration):
            return
        params, rest = _split(state)
        args = ocp.args.Composite(
            params=ocp.args.StandardSave(params), rest=ocp.args.StandardSave(rest)
        )
        self._manager.save(int(state.iteration), args=args)
        self._manager.wait_until_finished()

    def log(self, line: dict[str, float | int]) -> None:
        """Appends a line of metrics, with the iteration under `iteration`; NaN becomes null."""
        clean = {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in line.items()}
        with (self.folder / METRICS).open("a") as file:
            file.write(json.dumps(clean) + "\n")
        if self._board is not None:
            for name, value in clean.items():
                if value is not None and name != "iteration":
                    self._board.add_scalar(name, value, int(line["iteration"]))

    def metrics(self) -> list[dict[str, float]]:
        """Reads all metrics; a last line that was cut off in writing is left out."""
        path = self.folder / METRICS
        if not path.exists():
            return []
        return [_read_json(line, path) for line in _whole_lines(path)]

    def finish(self, results: list[dict[str, Any]]) -> None:
        """Writes the matches at the end."""
        write_atomically(self.folder / RESULTS, results)

    def results(self) -> list[dict[str, Any]] | None:
        """Reads the matches at the end, or None before it."""
        path = self.folder / RESULTS
        return _read_json(path.read_text(), path) if path.exists() else None

    def close(self) -> None:
        """Ends all writing."""
        self._manager.close()
        if self._lock is not None:
            self._lock.close()
        if self._board is not None:
            self._board.close()

    def _claim(self, config: Any) -> IO[str]:
        """Makes the folder this run's; returns the lock."""
        is_run = (self.folder / CONFIG).exists()
        if not is_run and any(p.name != LOCK for p in _contents(self.folder)):
            raise CheckpointError(f"{self.folder} is not empty and holds no run.")
        self.folder.mkdir(parents=True, exist_ok=True)
        lock = _lock(self.folder)
        try:
            self._keep_settings(config)
        except ValueError:
            lock.close()
            raise
        return lock

    def _keep_settings(self, config: Any) -> None:
        """Writes the settings of a new run, and refuses others for one begun before."""
        path = self.folder / CONFIG
        if not path.exists():
            versions = {name: importlib.metadata.version(name) for name in _VERSIONED}
            write_atomically(path, {"config": to_dict(config), "versions": versions})
        changed = differences(read_config(self.folder, type(config)), config)
        if changed:
            raise ConfigError(
                f"{self.folder} holds a run with other settings (there, and asked for now): "
                f"{'; '.join(changed)}. Choose another --name, or delete the folder."
            )

    def _drop_metrics_after(self, iteration: int) -> None:
        """Forgets the metrics of iterations that will be run again."""
        kept = [line for line in self.metrics() if line["iteration"] <= iteration]
        if (self.folder / METRICS).exists():
            text = "".join(json.dumps(line) + "\n" for line in kept)
            _replace(self.folder / METRICS, text)


def _contents(folder: pathlib.Path) -> list[pathlib.Path]:
    """Lists a folder; one that does not exist is empty."""
    return list(folder.iterdir()) if folder.exists() else []


def _lock(folder: pathlib.Path) -> IO[str]:
    """Claims a folder for this process; the claim ends with it, however it ends.

    Raises:
      CheckpointError: another process has it.
    """
    file = (folder / LOCK).open("w")
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:  # no such locks on this system
        pass
    except OSError as error:
        file.close()
        raise CheckpointError(f"Another process runs in {folder}.") from error
    return file


def read_config(folder: str | os.PathLike[str], kind: type[C] = Config) -> C:
    """Reads the settings of a run, by default of the first game.

    Raises:
      CheckpointError: there is no run, or its settings are not ours.
    """
    path = pathlib.Path(folder) / CONFIG
    if not path.exists():
        raise CheckpointError(f"{folder} holds no run: {CONFIG} is missing there.{_others(path)}")
    try:
        return from_dict(json.loads(path.read_text())["config"], kind)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(
            f"{path} is not the config of a run of this version: {error}"
        ) from error


def read_params(folder: str | os.PathLike[str], init: Callable[[], Params]) -> Params:
    """Reads the network of a run's newest checkpoint.

    Args:
      folder: the run's folder.
      init: makes parameters of the same shape.

    Raises:
      CheckpointError: there is no checkpoint, or it holds another network.
    """
    path = pathlib.Path(folder).absolute()
    if not (path / CHECKPOINTS).is_dir():
        raise CheckpointError(f"{folder} holds no checkpoint yet.")
    manager = _manager(path, keep=None)
    try:
        step = manager.latest_step()
        if step is None:
            raise CheckpointError(f"{folder} holds no checkpoint yet.")
        here = SingleDeviceSharding(jax.local_devices()[0])
        shapes = jax.tree.map(
            lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=here), jax.eval_shape(init)
        )
        args = ocp.args.Composite(params=ocp.args.StandardRestore(shapes))
        try:
            return manager.restore(step, args=args)["params"]
        except _UNREADABLE as error:
            raise CheckpointError(
                f"The checkpoint of {folder} at iteration {step} does not hold the network that "
                f"its {CONFIG} describes: {_first_line(error)}"
            ) from error
    finally:
        manager.close()


def write_atomically(path: pathlib.Path, value: Any) -> None:
    """Writes a value as JSON, whole or not at all."""
    _replace(path, json.dumps(value, indent=2) + "\n")


def _replace(path: pathlib.Path, text: str) -> None:
    """Replaces a file's text, whole or not at all."""
    beside = path.with_suffix(".tmp")
    beside.write_text(text)
    os.replace(beside, path)


def _read_json(text: str, path: pathlib.Path) -> Any:
    """Reads JSON of a file.

    Raises:
      CheckpointError: it is none.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise CheckpointError(f"{path} is damaged: {error}") from error


def _first_line(error: Exception) -> str:
    """Shortens the message of a library."""
    return str(error).splitlines()[0][:200]


def _whole_lines(path: pathlib.Path) -> list[str]:
    """Lists the lines of a file that end in a newline."""
    return path.read_text().split("\n")[:-1]


def _split(state: Any) -> tuple[Params, Any]:
    """Takes the parameters apart, so that an agent can be read without the rest."""
    return state.params, state.replace(params=())


def _manager(folder: pathlib.Path, keep: int | None) -> ocp.CheckpointManager:
    """Opens a run's checkpoints."""
    options = ocp.CheckpointManagerOptions(max_to_keep=keep, enable_async_checkpointing=False)
    return ocp.CheckpointManager(folder / CHECKPOINTS, options=options)


def _board(folder: pathlib.Path, step: int | None) -> Any:
    """Opens TensorBoard's log where tensorboardX is installed; drops what comes after `step`."""
    try:
        import tensorboardX
    except ImportError:
        return None
    return tensorboardX.SummaryWriter(str(folder / TENSORBOARD), purge_step=(step or 0) + 1)


def _others(path: pathlib.Path) -> str:
    """Names the runs that lie beside a folder that is none."""
    beside = path.parent.parent
    found = sorted(p.parent.name for p in beside.glob(f"*/{CONFIG}")) if beside.is_dir() else []
    return f" Runs beside it: {', '.join(found)}." if found else ""
