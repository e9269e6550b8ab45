"""Properties of all recipes together."""

import json

import pytest

import keras_bert
from _runs import write_settings
from _shared import (
    add_file_arguments,
    add_finetuning_arguments,
    finetuning_arguments,
    loading_settings,
    read_dev_and_test,
    recipe_parser,
    run_recipe,
)
from _tables import read_table
from keras_bert.training import processes
from tests.gates import ROOT

RECIPES = ROOT / "recipes"
PATHS = sorted(RECIPES.glob("[a-z]*.py"))


def test_settings_come_from_the_command_line():
    parser = recipe_parser("A recipe.")
    add_file_arguments(parser)
    add_finetuning_arguments(parser)
    line = "--init b --output o --train t --validation_split 0.25 --from_scratch"
    args = parser.parse_args(f"{line} --batch_size 8 --alpha 0.9 --warmup 0.2".split())
    loading = {"load_weights": False, "keep_layers": None, "sequence_length": 128}
    assert loading_settings(args) == loading
    assert read_dev_and_test(args, None) == (0.25, None)
    assert finetuning_arguments(args, class_weight="balanced") == {
        "batching": keras_bert.Batching(8),
        "settings": keras_bert.FineTuning(
            learning_rate=5e-5, warmup=0.2, alpha=0.9, class_weight="balanced"
        ),
        "teacher": None,
    }


SHOW_HELP = """
import runpy, sys
for path in sys.argv[1:]:
    sys.argv = [path, "--help"]
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit:
        pass
print({"keras", "tensorflow", "scipy", "sklearn"} & set(sys.modules) or "nothing slow")
"""


def test_help_and_errors_of_flags_come_before_slow_imports(run_python):
    said = run_python("-c", SHOW_HELP, *PATHS, cwd=RECIPES)
    assert said.count("usage: ") == len(PATHS) and said.endswith("nothing slow\n")


def test_errors_of_users_are_short_and_others_keep_their_traceback(tmp_path):
    def main():
        raise ValueError("of the recipe")

    (tmp_path / "empty.tsv").touch()
    for call, error, message in (
        (main, SystemExit, "^error: of the recipe"),
        (
            lambda: read_table(tmp_path / "empty.tsv"),
            SystemExit,
            "^error: .*empty.tsv is empty",
        ),
        (lambda: json.loads("{"), ValueError, "Expecting"),  # of a library: a bug
    ):
        with pytest.raises(error, match=message):
            run_recipe(call)


def test_a_run_keeps_its_settings_until_a_new_one_begins(tmp_path, monkeypatch, refused):
    for _ in range(2):
        write_settings(tmp_path, {"seed": 1, "rates": (0.1, 0.2), "init": tmp_path})
    message = r"seed=2 .there 1., rates=None .there \[0.1, 0.2\]..*a folder of its own"
    refused(message, write_settings, tmp_path, {"seed": 2})
    write_settings(tmp_path, {"seed": 2}, resume=False)
    assert json.loads((tmp_path / "settings.json").read_text()) == {"seed": 2}
    monkeypatch.setattr(processes, "numbers_of_all", lambda number, strategy: [number, 1])
    refused(
        "differ in their settings: .*'seed': 2",
        write_settings,
        tmp_path / "a",
        {"seed": 2},
    )
    assert not (tmp_path / "a").exists()
