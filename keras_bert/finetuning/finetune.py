"""Fine-tuning of a task on raw examples."""

import dataclasses
import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import keras

from keras_bert.data.data import RawExamples
from keras_bert.data.data_of import data_of
from keras_bert.files.json_files import write_json
from keras_bert.files.remote import local_path
from keras_bert.finetuning.run_settings import write_settings
from keras_bert.finetuning.settings import FineTuning
from keras_bert.finetuning.teaching import (
    Teaching,
    rows_of_texts,
    rows_with_teacher,
    start_teaching,
)
from keras_bert.finetuning.train_epochs import best_epoch, shown_scores, train_epochs
from keras_bert.messages import check_number, check_one_of, shown
from keras_bert.models.bert_task import BertTask
from keras_bert.models.compiling import check_trainable
from keras_bert.preprocessing.batching import Batching
from keras_bert.presets.preset_arguments import check_saves
from keras_bert.training.adamw import AdamW
from keras_bert.training.checkpointing import TrainingCheckpoint
from keras_bert.training.describe_training import describe_training
from keras_bert.training.processes import is_chief, wait_for_all
from keras_bert.training.strategy import Strategy, scope_of
from keras_bert.training.warmup_linear_decay import WarmupLinearDecay


def finetune(
    model: BertTask,
    train: Any,
    dev: Any,
    output: str | os.PathLike,
    settings: FineTuning | None = None,
    *,
    test: Any = None,
    batching: Batching | None = None,
    teacher: "BertTask | str | os.PathLike | None" = None,
    scores: Callable | None = None,
    answer_options: dict | None = None,
    strategy: "Strategy | None" = None,
    callbacks: Sequence[keras.callbacks.Callback] = (),
) -> list[dict]:
    """Trains a task on raw examples, scores each epoch on a dev set, keeps the best.

    The model is compiled with its default loss and metrics, or a given `loss`, and `AdamW`, whose
    rate warms up and then falls linearly to 0 over the run. Examples are tokenized once.

    The output folder holds the preset `best`, whose model card has the settings and the scores, its
    answers to the dev set, each epoch's scores in `scores.json`, `settings.json` and checkpoints;
    with `test`, also the answers to the test set and `test_scores.json`.

    Rerun the same call to resume after the last finished epoch, with the same numbers as without
    the interruption (on PyTorch, with other dropout). If several processes train together, each
    calls it, and the first writes.

    Source: Devlin et al. 2019, section 4 and appendix A.3; for a teacher, Hinton et al. 2015.

    Args:
        model: a task with a preprocessor. It is compiled here.
        train: training examples `(x, y)` or `(x, y, sample_weight)` as for `fit`, in memory or a
            stream, which is read into memory; only `x` if the examples contain their labels, as
            questions do. A tuple is always read as `(x, y, ...)`.
        dev: the same, to select the best epoch; or a float, the share of the training examples, the
            last, that become the dev set.
        output: a folder, used only for this run.
        settings: a `FineTuning`; by default, 3 epochs at the task's own learning rate.
        test: the same, to answer at the end, or `(x,)` without labels; or None.
        batching: a `Batching`; examples are always shuffled, by the seed and the epoch.
        teacher: a trained task of the same class, labels and vocabulary, or a preset of one. The
            model learns from both its outputs and the labels; see
            `keras_bert.losses.Distillation`. A `BertEmbedder` learns the teacher's vectors of its
            texts instead, which need no labels or pairs, by the squared error or the given `loss`.
            The teacher answers all examples once, before the first epoch of each call.
        scores: function of `(answers, x, y)` that returns a dict of floats, in place of the task's
            official scores; requires a `select`. Pairs in `x` are always tuples.
        answer_options: options of `answer`, such as `{"n_best": 20}`; by default, those that its
            output files need.
        strategy: the result of `get_strategy`; the model must have been created in its scope.
        callbacks: Keras callbacks.

    Returns:
        A list of dicts, the scores of each trained epoch.

    Raises:
        ValueError: if a setting is invalid, the task can't take the examples or labels, the teacher
            has other classes or tokens, the folder is not on this machine or holds a run with other
            settings, or the loss or the weights become NaN or infinite.

    Example:
    ```python
    model = BertClassifier.from_preset("bert", num_classes=2)
    dev = (dev_texts, dev_labels)
    history = finetune(model, (texts, labels), dev, "reviews", FineTuning(epochs=3))
    model = BertClassifier.from_preset("reviews/best")
    ```
    """
    check_trainable(model)
    check_saves(type(model), model.get_config())
    settings = FineTuning() if settings is None else settings
    if not isinstance(settings, FineTuning):
        raise ValueError(f"settings must be a FineTuning(...); got {shown(settings)}.")
    batching = dataclasses.replace(batching or Batching(), shuffle=True)
    strategy = strategy or getattr(model, "distribute_strategy", None)
    output = local_path(output)
    train, dev = _train_and_dev(model, train, dev)
    if test is not None:
        test = _examples(model, test, "test")
    if settings.loss is not None:  # labels are checked for it
        with scope_of(strategy):
            model.compile(loss=settings.loss)
    teaching = start_teaching(model, teacher, settings, strategy, train.sample_weight)
    if answer_options is None:
        answer_options = model.scorer.answer_options
    run = _Run(
        model, train, dev, output, settings, batching, teaching, scores, answer_options, strategy
    )
    _check_examples(run, test)
    print(f"{train.count:,} training examples; {dev.count:,} select the best epoch.")
    print(shown_classes(model.class_counts(train.y)), end="")

    run = run._replace(settings=_with_defaults(run))
    rows = _training_rows(run)
    _compile(run, settings.epochs * len(_batches(run, rows, 0)))
    if strategy is not None:
        parts = settings.accumulation_steps
        setup = describe_training(strategy, _batch_size(batching), model, parts)
        print(f"{setup}.", flush=True)
    is_begun = TrainingCheckpoint(output / "checkpoints").latest_step() is not None
    write_settings(output, resumed_settings(run), resume=is_begun, strategy=strategy)

    history = train_epochs(
        model,
        output,
        run.settings,
        batches=partial(_batches, run, rows),
        predict=partial(_answers, run, model, dev),
        score=partial(_score_dev, run),
        save=partial(_save_best, run),
        callbacks=callbacks,
    )
    if teacher is not None:  # `evaluate` and `fit` take labels only
        with scope_of(strategy):
            model.compile(loss=settings.loss if teaching.needs_labels else None)
    if test is not None:
        _answer_test(run, test, history)
    print(f"The best model is the preset {run.best}; its answers and scores are in {output}.")
    return history


class _Run(NamedTuple):
    """What the steps of `finetune` share."""

    model: BertTask
    train: RawExamples
    dev: RawExamples
    output: Path
    settings: FineTuning  # whose `select` and `learning_rate` aren't None
    batching: Batching
    teaching: Teaching
    scores: Callable | None
    answer_options: dict
    strategy: Any

    @property
    def best(self):
        return self.output / "best"


def _train_and_dev(model, train, dev):
    train = _examples(model, train, "train")
    if not isinstance(dev, float):
        return train, _examples(model, dev, "dev")
    check_number("dev, the share of train,", dev, above=0, below=1)
    return train.split(dev)


def _examples(model, part, name):
    part = part if isinstance(part, tuple) and 0 < len(part) < 4 else (part,)
    data = data_of(model, *part)
    examples = data.in_memory() if data.is_raw else data
    if not isinstance(examples, RawExamples):
        raise ValueError(
            f"finetune takes raw examples, (x, y) or a stream; {name} is {shown(data.x)}. Pass "
            "texts, or call fit, which takes any batches."
        )
    return examples


def _with_defaults(run):
    """Returns the settings with the teacher's loss, and None replaced by the task's defaults."""
    learning_rate = run.settings.learning_rate
    if learning_rate is None:
        optimizer = keras.optimizers.get(run.model.default_compile_args()["optimizer"])
        learning_rate = optimizer.get_config()["learning_rate"]
    return dataclasses.replace(
        run.settings,
        select=_selecting_score(run),
        learning_rate=learning_rate,
        loss=run.teaching.loss,
    )


def _selecting_score(run):
    select = run.settings.select
    if run.scores is None:  # the names of a user's function aren't known yet
        names = run.model.scorer.names_for(run.dev.x, run.dev.y)
        if names and select is None:
            return names[0]
        if names:
            check_one_of("select", select, names)
    if select is None:
        raise ValueError("Pass select, the name of the score that selects the best epoch.")
    return select


def _check_examples(run, test):
    """Raises a ValueError, before a long run, if examples can't be trained on, read or scored."""
    parts = {}
    if run.teaching.needs_labels:
        parts["train"] = run.train
    parts["dev"] = run.dev
    if test is not None:
        parts["test"] = test
    scorer = run.model.scorer
    for name, part in parts.items():
        has_labels = scorer.has_labels(part.x, part.y)
        if not has_labels and name != "test":
            raise ValueError(f"{name} has no labels: pass (x, y), or examples with their labels.")
        run.model.check_labels(part.y)
        if name != "train":  # training examples are read later
            run.model.preprocessor.read(part.x, part.y, with_labels=has_labels)
            if run.scores is None and has_labels:
                scorer.check(part.x, part.y)


def shown_classes(counts: dict[str, int]) -> str:
    """Returns a line with the number of training examples of each class; "" without classes."""
    if not counts:
        return ""
    classes = [f"{name} {count:,}" for name, count in counts.items()]
    shown = ", ".join(classes[:10])
    if len(classes) > 10:
        shown += f" and {len(classes) - 10:,} more"
    return f"{len(classes):,} classes: {shown}.\n"


def _training_rows(run):
    """Tokenizes the training examples; a teacher answers them."""
    model = run.model
    teacher = run.teaching.teacher
    if run.teaching.needs_labels:
        rows = model.data_to_fit(run.train, {"class_weight": run.settings.class_weight}).rows()
    else:
        rows = rows_of_texts(model.preprocessor, run.train.x)
    if teacher is None:
        return rows
    return rows_with_teacher(model, teacher, rows, run.batching.batch_size)


def _batches(run, rows, epoch):
    """Batches rows, in a different order for each seed and epoch."""
    batching = dataclasses.replace(run.batching, seed=1000 * run.settings.seed + epoch)
    return rows.batches(batching)


def _compile(run, steps):
    """Compiles the model with its teacher's losses, and `AdamW` over a number of steps."""
    settings = run.settings
    with scope_of(run.strategy):
        warmup = int(settings.warmup * steps)
        rate = WarmupLinearDecay(settings.learning_rate, warmup, steps, continuous=True)
        arguments = run.teaching.compile_args(run.model.default_compile_args())
        arguments["optimizer"] = AdamW(rate, layer_decay=settings.layer_decay)
        run.model.compile(**arguments)


def card_settings(run: _Run) -> dict[str, Any]:
    """Returns the settings that the model card shows; None values are omitted."""
    settings = run.settings
    teaching = run.teaching
    loss = settings.loss
    parts = settings.accumulation_steps
    if loss is not None and not isinstance(loss, str):
        loss = getattr(loss, "__name__", type(loss).__name__)  # of a function
    return {
        "training examples": run.train.count,
        "development examples": run.dev.count,
        "epochs": settings.epochs,
        "learning rate": settings.learning_rate,
        "warm-up": settings.warmup,
        "layer decay": settings.layer_decay,
        "loss": loss,
        "class weights": settings.class_weight,
        "best epoch by": settings.select,
        "seed": settings.seed,
        "batch size": _batch_size(run.batching),
        "tokens per batch": run.batching.tokens_per_batch,
        "parts per batch": None if parts == 1 else parts,
        "teacher": teaching.teacher and repr(teaching.teacher),
        "temperature": teaching.weights.get("temperature"),
        "weight of the teacher": teaching.weights.get("alpha"),
    }


def resumed_settings(run: _Run) -> dict[str, Any]:
    """Returns the settings that a run must share with the one it resumes."""
    model = run.model
    settings = card_settings(run)
    settings["class weights"] = str(run.settings.class_weight)  # JSON may not accept its keys
    settings |= model.preprocessor.get_config()
    settings |= model.own_arguments()
    if isinstance(run.settings.loss, keras.losses.Loss):
        arguments = {**run.settings.loss.get_config(), "name": None}  # Keras numbers the names
        settings["arguments of the loss"] = arguments
    settings["precision"] = model.dtype_policy.name
    settings["bucket lengths"] = run.batching.bucket_lengths
    report = model.load_report
    settings["started from"] = None if report is None else report.source
    for name in ("epochs", "tokenizer", "null_threshold"):
        settings.pop(name, None)  # more epochs extend a run, and each tunes the threshold
    return settings


def _batch_size(batching):
    return None if batching.tokens_per_batch else batching.batch_size


def _answers(run, model, part):
    batch_size = run.batching.batch_size
    return model.answers_to_score(part.x, batch_size, y=part.y, **run.answer_options)


def _score_dev(run, answers):
    """Scores the answers to the dev set, on which a threshold is tuned."""
    dev = run.dev
    if run.scores is None:
        run.model.preprocessor, scores = run.model.scorer.tuned(answers, dev.x, dev.y)
    else:
        scores = _user_scores(run, answers, dev)
    return scores


def _user_scores(run, answers, part):
    """Returns the scores of a user's function as floats: JSON has no NumPy numbers."""
    scores = run.scores(answers, part.x, part.y)
    return {name: float(value) for name, value in scores.items()}


def _save_best(run, answers, scores):
    """Saves the model as the best one, with its answers to the dev set and their scores."""
    run.model.save_to_preset(run.best, card_settings(run), {"dev": scores})
    if is_chief(run.model):
        run.model.scorer.write(run.output, "dev", answers, run.dev.x, run.dev.y)


def _answer_test(run, test, history):
    """Writes the best model's answers to the test set, and their scores if it has labels."""
    with scope_of(run.strategy):
        model = type(run.model).from_preset(run.best)
    answers = _answers(run, model, test)
    scorer = model.scorer
    if is_chief(model):
        scorer.write(run.output, "test", answers, test.x, test.y)
    if not scorer.has_labels(test.x, test.y):
        return
    if run.scores is None:
        scores = scorer.score(answers, test.x, test.y)
    else:
        scores = _user_scores(run, answers, test)
    print("test:", shown_scores(scores))
    if is_chief(model):
        write_json(run.output / "test_scores.json", scores)
    wait_for_all("the test scores", model)  # every process has loaded the preset
    of_dev = history[best_epoch(history, run.settings.select)]
    model.save_to_preset(run.best, card_settings(run), {"dev": of_dev, "test": scores})
