"""Properties of all recipes together."""

import argparse
import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import keras_bert
from _runs import write_settings
from _shared import (
    add_file_arguments,
    add_finetuning_arguments,
    finetuning_arguments,
    run_recipe,
)
from _tables import read_table
from keras_bert.training import processes

RECIPES = Path(__file__).resolve().parents[2] / "recipes"
PATHS = sorted(RECIPES.glob("[a-z]*.py"))
# A default differs only where the paper's numbers, or what is learned, do.
OWN_DEFAULTS = {
    "few_labels": {"batch_size": 16, "learning_rate": 2e-5, "epochs": 20},
    "finetune_choice": {"batch_size": 16, "learning_rate": 2e-5},
    "finetune_embedder": {"learning_rate": 2e-5, "label_column": None},
    "finetune_glue": {"learning_rate": 2e-5, "select": "score"},
    "finetune_reranker": {"learning_rate": 2e-5},
    "finetune_squad": {"sequence_length": 384},
    "pretrain_day": {
        **{"batch_size": 4096, "learning_rate": None, "warmup_proportion": 0.06},
        **{"masked_lm_rate": 0.3, "attention_dropout": 0.0},
    },
    "pretrain_tpu": {
        **{"batch_size": 256, "learning_rate": 1e-4},
        **dict.fromkeys(("epochs", "warmup_proportion", "dropout")),
    },
    "quickstart": {"epochs": 8, "steps": 1000, "output": "quickstart_out"},
    "train_bilstm_tagger": {"learning_rate": 1e-3, "select": "f1", "epochs": 20},
}
PRETRAINING = ("dropout", "epochs", "warmup_proportion", "learning_rate")
OWN_HELP = {(name, "pretrain_tpu") for name in PRETRAINING} | {("dev", "few_labels")}
OWN_HELP |= {(name, "train_bilstm_tagger") for name in ("learning_rate", "select")}
OWN_HELP |= {(name, "pretrain_day") for name in (*PRETRAINING, "attention_dropout")}


class Parsed(Exception):
    """Carries a parser out of `parse_args`."""


@pytest.fixture(scope="module")
def flags(recipe):
    """`{flag: {recipe: argparse's action}}`, with the defaults that hold."""

    def leave(parser, *args, **options):
        raise Parsed(parser)

    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(argparse.ArgumentParser, "parse_args", leave)
        patch.setattr(argparse.ArgumentParser, "parse_known_args", leave)
        for path in PATHS:
            with pytest.raises(Parsed) as caught:
                recipe(path.stem).parse_args([])
            for action in caught.value.args[0]._actions:
                if action.dest != "help" and action.option_strings:
                    found.setdefault(action.dest, {})[path.stem] = action
    return found


def test_every_flag_has_a_help_text(flags):
    assert not [name for name, own in flags.items() if not all(a.help for a in own.values())]


def test_a_flag_means_the_same_in_all_recipes(flags):
    for name, actions in flags.items():
        shared = {r: a for r, a in actions.items() if (name, r) not in OWN_HELP}
        assert len({action.help for action in shared.values()}) <= 1, (name, shared)
        kinds = {(type(a), a.type, a.nargs, str(a.choices)) for a in actions.values()}
        assert len(kinds) == 1, (name, kinds)


def test_a_default_differs_only_where_it_is_listed(flags):
    for name, actions in flags.items():
        is_own = {recipe for recipe, own in OWN_DEFAULTS.items() if name in own}
        defaults = {str(a.default) for recipe, a in actions.items() if recipe not in is_own}
        assert len(defaults) <= 1, (name, defaults)
    for recipe, own in OWN_DEFAULTS.items():
        assert {name: flags[name][recipe].default for name in own} == own, recipe


def test_no_function_stands_in_two_recipes():
    seen = {}
    for path in PATHS:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name != "parse_args":
                body = [n for n in node.body if not isinstance(n, ast.Expr)]
                text = "\n".join(map(ast.unparse, body))
                assert text not in seen, f"{node.name} of {path.stem} and {seen[text]}"
                seen[text] = f"{node.name} of {path.stem}"


def test_settings_come_from_the_command_line():
    parser = argparse.ArgumentParser()
    add_file_arguments(parser)
    add_finetuning_arguments(parser)
    line = "--init b --output o --strategy single --devices 1 --train t --validation_split 0.25"
    more = "--bucket_lengths 8 16 --warmup_proportion 0.2"
    args = parser.parse_args([*line.split(), *more.split()])
    assert keras_bert.get_strategy(args.strategy, args.tpu, args.devices).num_replicas_in_sync == 1
    assert args.validation_split == 0.25
    assert finetuning_arguments(args, class_weight="balanced") == {
        "batching": keras_bert.Batching(32, bucket_lengths=[8, 16]),
        "settings": keras_bert.FineTuning(learning_rate=5e-5, warmup=0.2, class_weight="balanced"),
        "teacher": None,
    }


def test_every_default_is_shown(recipe, capsys):
    for path in PATHS:
        with pytest.raises(SystemExit):
            recipe(path.stem).parse_args(["--help"])
        shown = " ".join(capsys.readouterr().out.split())
        assert not re.search("; by default[^-]*[(]default", shown)
        if "random seed" in shown:
            assert "random seed (default: 0)" in shown, path


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "one of the arguments --dev --validation_split is required"),
        (["--dev", "d", "--validation_split", "0.1"], "not allowed with argument --dev"),
        (["--validation_split", "1.5"], "must be above 0 and below 1; got 1.5"),
        (["--validation_split", "0"], "must be above 0 and below 1; got 0"),
        (["--validation_split", "ten"], "must be above 0 and below 1; got ten"),
    ],
)
def test_the_best_epoch_is_selected_on_a_file_or_on_a_part_of_one(
    recipe, flags, options, message, capsys
):
    for name in flags["validation_split"]:
        with pytest.raises(SystemExit):
            recipe(name).parse_args(["--init", "b", "--output", "o", "--train", "t", *options])
        assert message in capsys.readouterr().err
    dev = flags["dev"].keys() - {"few_labels"}  # which trains without selecting an epoch
    assert dev == flags["validation_split"].keys() == flags["test"].keys()


def test_all_files_are_read_before_a_model_is_made(flags):
    for name in flags["test"].keys() - {"train_bilstm_tagger"}:  # which has a test of its own
        text = (RECIPES / f"{name}.py").read_text(encoding="utf-8").partition("def main(")[2]
        assert text.index("(args.test") < min(
            text.index(made) for made in ("from_preset(", "make_model(") if made in text
        )


FILES = "--init b --output o --train t --dev d"
NEEDED = {
    "ablations": "--output o",
    "export_savedmodel": "reviews --output o --format onnx",
    "finetune_classifier": FILES,
    "finetune_embedder": FILES,
    "finetune_glue": "--init b --task rte --data y --output o",
    "finetune_reranker": "--init b --output o --train t --validation_split 0.1",
    "pretrain_day": "--corpus c --output o",
    "pretrain_tpu": "--corpus c --output o --save_every 4",
    "quickstart": "",
    "score_texts": "--init b --output o",
}


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("ablations", "--table 5", "--corpus is needed"),
        ("ablations", "--table 7 --tags tags", "table 7 needs --init and --tags"),
        ("ablations", "--table 5 --corpus corpus", "give data to judge by"),
        ("export_savedmodel", "--text a", "--text and --version are for SavedModels"),
        ("finetune_classifier", "--regression --class_weight balanced", "argument --regression"),
        ("finetune_classifier", "--regression --multi_label", "argument --regression"),
        ("finetune_classifier", "--text_template a --text_column b", "argument --text_template"),
        ("finetune_embedder", "--text_columns a", "one of --text_columns needs --label_column"),
        ("finetune_embedder", "--label_column a", "--label_column needs one of --text_columns"),
        ("finetune_embedder", "--text_columns a b c --score_column s", "needs two --text_columns"),
        ("finetune_embedder", "--teacher t --alpha 0.9", "--alpha has no effect with --teacher"),
        ("finetune_glue", "--diagnostic ax", "a model of mnli, not of rte"),
        ("finetune_glue", "--task snli", "invalid choice: 'snli'"),
        ("finetune_glue", "--select f1", "one of score, accuracy; got f1"),
        ("finetune_glue", "--epoch_counts 3 0", "--epoch_counts must be above 0; got 0"),
        ("finetune_glue", "--task all --source tfds", "--task all reads folders of TSV files"),
        ("finetune_reranker", "--negative_column a", "--negative_column needs"),
        ("finetune_reranker", "--teacher_column a", "--teacher_column needs"),
        (
            "pretrain_tpu",
            "--save_every 0",
            "--save_every, --steps_per_execution and --batch_size: at least 1",
        ),
        ("pretrain_tpu", "--init b --dropout 0.2", "--dropout is for new models"),
        ("pretrain_tpu", "--init b --num_layers 2", "--num_layers is for new models"),
        ("pretrain_day", "--hours 0", "--hours must be above 0, below a million; got 0.0"),
        ("quickstart", "--steps 4", "at least 5 steps and 1 epoch"),
        ("quickstart", "--epochs 0", "at least 5 steps and 1 epoch"),
        ("score_texts", "", "give --texts, --minimal_pairs or --heldout_corpus"),
    ],
)
def test_arguments_that_contradict_are_refused(recipe, name, arguments, message, capsys):
    with pytest.raises(SystemExit):
        recipe(name).parse_args(f"{NEEDED[name]} {arguments}".split())
    assert message in capsys.readouterr().err


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


RUN = """
from _shared import run_recipe
def main():
    import tensorflow as tf
    tf.ones(2), tf.config.list_physical_devices("GPU"), print("answer")
run_recipe(main)
"""


@pytest.mark.slow
def test_tensorflow_logs_nothing_before_an_answer():
    environment = {k: v for k, v in os.environ.items() if k != "TF_CPP_MIN_LOG_LEVEL"}
    command = [sys.executable, "-c", RUN]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=RECIPES)
    assert done.stdout == "answer\n", done.stderr
    # TensorFlow 2.21 says this before it reads any setting, by the processor and without a GPU.
    unavoidable = ("WARNING: All log messages before absl::", "Could not find cuda drivers")
    unavoidable += ("oneDNN custom operations are on",)
    lines = done.stderr.splitlines()
    assert not [line for line in lines if not any(text in line for text in unavoidable)]


def raised_by(function, *arguments):
    """What a recipe ends with whose `main` calls a function."""

    def main():
        function(*arguments)

    with pytest.raises(BaseException) as caught:
        run_recipe(main)
    return caught.value


def test_errors_of_users_are_short_and_others_keep_their_traceback(tmp_path):
    table = tmp_path / "empty.tsv"
    assert "No such file" in raised_by(read_table, table).code
    table.touch()
    assert re.match("error: .*empty.tsv is empty", raised_by(read_table, table).code)
    assert isinstance(raised_by(json.loads, "{"), ValueError)  # of a library: a bug
    assert isinstance(raised_by(dict().pop, 1), KeyError)

    def main():
        raise ValueError("of the recipe")

    with pytest.raises(SystemExit, match="error: of the recipe"):
        run_recipe(main)


def test_every_recipe_has_short_errors():
    for path in PATHS:
        assert path.read_text(encoding="utf-8").endswith("    _shared.run_recipe(main)\n"), path


def test_a_run_keeps_its_settings_until_a_new_one_begins(tmp_path, refused):
    settings = {"seed": 1, "rates": [0.1, 0.2], "init": None}
    for _ in range(2):
        write_settings(tmp_path, settings)
    message = "more=1 .there None.*a folder of its own"
    refused(message, write_settings, tmp_path, {**settings, "more": 1})
    write_settings(tmp_path, settings)  # those of the run, which stood
    write_settings(tmp_path, {"seed": 2}, resume=False)
    assert json.loads((tmp_path / "settings.json").read_text()) == {"seed": 2}


def test_processes_with_other_settings_are_refused(tmp_path, monkeypatch, refused):
    monkeypatch.setattr(processes, "numbers_of_all", lambda number, strategy: [number, 1])
    refused("differ in their settings: .*'seed': 2", write_settings, tmp_path / "a", {"seed": 2})
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("damaged", ["", '{"seed": ', "[1]"])
def test_damaged_settings_are_named_with_a_remedy(tmp_path, damaged):
    (tmp_path / "settings.json").write_text(damaged)
    with pytest.raises(ValueError, match="settings.json .*Remove it if this run has the settings"):
        write_settings(tmp_path, {"seed": 1})
