"""Settings: every file in the repository, and every kind of mistake."""

import dataclasses
import pathlib

import pytest

from agents.doudizhu.learn import config as doudizhu
from agents.learn import config as settings
from agents.learn.config import Config, ConfigError
from agents.residual import config as residual

CONFIGS = pathlib.Path(__file__).parents[2] / "configs"


def _file(tmp_path, text):
    path = tmp_path / "some.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_files_are_read_and_survive_json(path):
    game, method = (settings.named(["--config", str(path)], key) for key in ("game", "method"))
    assert (game == "doudizhu") == ("doudizhu" in path.stem)
    kind = {None: Config, "doudizhu": doudizhu.Config, "residual": residual.Config}[game or method]
    config = settings.parse([], path, kind)
    assert config.name == path.stem
    assert settings.from_dict(settings.to_dict(config), kind) == config


def test_command_line_goes_over_the_file(tmp_path):
    path = _file(tmp_path, "seed: 3\nlearning: {batch: 8}\n")
    other = tmp_path / "other.yaml"
    other.write_text("seed: 9\n")
    config = settings.parse(["--learning.batch", "16", "--selfplay.reward=final"], path)
    assert (config.seed, config.learning.batch, config.selfplay.reward) == (3, 16, "final")
    assert settings.parse([f"--config_path={other}"], path).seed == 9


@pytest.mark.parametrize(
    "text, arguments, message",
    [
        ("sede: 3", [], r"no setting is named sede. Did you mean seed\?"),
        ("learning: {bach: 3}", [], r"learning.bach. Did you mean learning.batch\?"),
        ("batch: 3", [], r"no setting is named batch. Did you mean learning.batch\?"),
        ("seed: three", [], "seed.*three.*int"),
        ("learning: {batch: 1.5}", [], "learning.batch.*1.5.*int"),
        ("learning: {double: perhaps}", [], "learning.double.*perhaps.*bool"),
        ("learning: {loss: hubert}", [], "learning.loss.*hubert.*huber, squared"),
        ("learning: {batch: 0}", [], "learning.batch: from 1 to .*, not 0"),
        ("learning: {learning_rate: .nan}", [], "learning.learning_rate: from .* not nan"),
        ("learning: {warmup: 9, capacity: 8}", [], "learning.warmup: from 1 to 8, not 9"),
        (
            "{selfplay: {games: 8}, learning: {warmup: 9, capacity: 32}}",
            [],
            "learning.capacity: at least 40",
        ),
        ("selfplay: {games: 12}", [], r"selfplay.games: a multiple of groups \(8\), not 12"),
        ("{groups: 16, learning: {batch: 40}}", [], r"batch: a multiple of groups \(16\), not 40"),
        ("learning: {capacity: 9999}", [], r"capacity: a multiple of groups \(8\), not 9999"),
        ("groups: 0", [], "groups: from 1 to 65536, not 0"),
        ("search: {alpha: 1.5}", [], "search.alpha: from 0.001 to 1, not 1.5"),
        ("iterations: 15", [], r"iterations: a multiple of log_every \(10\), not 15"),
        ("name: ../elsewhere", [], "name: letters"),
        ("evaluation: {opponents: [greddy]}", [], "greddy.*did you mean 'greedy'"),
        ("learning: 3", [], "learning is a section of settings, not 3"),
        ("- 3", [], "holds no settings"),
        ("", [], "holds no settings: None"),
        ("seed: [", [], "Cannot read the config"),
        (
            "seed: 1",
            ["--learning.bacth", "3"],
            r"--learning.bacth. Did you mean --learning.batch\?",
        ),
        ("seed: 1", ["--seed", "three"], "seed.*three.*int"),
        ("seed: 1", ["--learning.loss", "hubert"], "hubert"),
        ("seed: 1", ["--config_path", "nowhere.yaml"], "nowhere.yaml"),
        ("seed: 1", ["stray"], "stray"),
    ],
)
def test_mistakes_are_named(tmp_path, text, arguments, message):
    with pytest.raises(ConfigError, match=message):
        settings.parse(arguments, _file(tmp_path, text))


def test_differences_name_the_fields():
    a = Config()
    b = dataclasses.replace(a, seed=5, learning=dataclasses.replace(a.learning, batch=16))
    assert settings.differences(a, a) == []
    assert settings.differences(a, b) == ["seed: 0 and 5", "learning.batch: 256 and 16"]
