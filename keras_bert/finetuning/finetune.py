"""Fine-tuning of a task on raw examples."""

import dataclasses
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import keras

from keras_bert.files.json_files import write_json
from keras_bert.files.remote import local_path
from keras_bert.finetuning.run_settings import keep_settings
from keras_bert.finetuning.settings import FineTuning, Teacher
from keras_bert.finetuning.teaching import (
    learns_vectors,
    load_teacher,
    loss_arguments,
    rows_of_texts,
    rows_with_teacher,
)
from keras_bert.finetuning.train_epochs import shown_scores, train_epochs
from keras_bert.messages import check_number, check_one_of, shown
from keras_bert.models.bert_task import BertTask
from keras_bert.models.compiling import check_trainable
from keras_bert.models.task_data import in_memory
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.raw import count, is_dataset, is_raw, split_examples
from keras_bert.training.adamw import AdamW
from keras_bert.training.checkpointing import TrainingCheckpoint
from keras_bert.training.describe_training import describe_training
from keras_bert.training.processes import is_chief, trains_alone, wait_for_all
from keras_bert.training.strategy import Strategy, scope_of
from keras_bert.training.training_record import record_scores, record_training
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
    teacher: "Teacher | BertTask | str | os.PathLike | None" = None,
    scores: Callable | None = None,
    answer_options: dict | None = None,
    strategy: "Strategy | None" = None,
    callbacks: Sequence[keras.callbacks.Callback] = (),
) -> list[dict]:
    """Trains a task on raw examples, scores each epoch on a dev set, keeps the best.

    The model is compiled with its default loss and metrics, or a given `loss`, and `AdamW`, whose
    rate warms up and then falls linearly to 0 over the run. Examples are tokenized once.

    The output folder holds the preset `best`, whose model card has the settings and the scores, its
    answers to the dev set, each epoch's scores in `scores.json`, `settings.json`, checkpoints, and
    `logs` for TensorBoard; with `test`, also the answers to the test set and `test_scores.json`.

    Rerun the same call to resume after the last finished epoch, with the same numbers as without
    the interruption (on PyTorch, with other dropout). If several processes train together, each
    calls it, and the first writes.

    Source: Devlin et al. 2019, section 4 and appendix A.3.

    Args:
        model: a task with a preprocessor. It is compiled here.
        train: training examples `(x, y)` or `(x, y, sample_weight)` in memory, as for `fit`; only
            `x` if the examples contain their labels, as questions do. A tuple is always read as
            `(x, y, ...)`.
        dev: the same, to select the best epoch; or a float, the share of the training examples, the
            last, that become the dev set.
        output: a folder, used only for this run.
        settings: a `FineTuning`; by default, 3 epochs at the task's learning rate.
        test: the same as `dev`, to answer at the end, or `(x,)` without labels; or None.
        batching: a `Batching`; examples are always shuffled, by the seed and the epoch.
        teacher: a `Teacher`, whose outputs the model learns as well as the labels; or a model or
            preset, for a `Teacher` with its defaults. The teacher answers all examples once, into
            files in the output folder.
        scores: function of `(answers, x, y)` that returns a dict of floats, in place of the task's
            official scores; requires `select` in the settings.
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
    settings = settings or FineTuning()
    batching = dataclasses.replace(batching or Batching(), shuffle=True)
    batching.check_model(model)
    strategy = strategy or getattr(model, "distribute_strategy", None)
    with scope_of(strategy):
        if settings.loss is not None:  # labels are checked for it
            model.compile(loss=settings.loss)
        train, dev = _read_train_and_dev(model, train, dev, learns_vectors(model, teacher))
        teacher = load_teacher(model, teacher, settings.loss, train.sample_weight, batching)
        settings = _with_defaults(model, settings, teacher, scores, dev)
    options = model.scorer.answer_options if answer_options is None else answer_options
    output = local_path(output)
    run = _Run(model, train, dev, output, settings, batching, teacher, scores, strategy)
    _check_scored(run, dev)
    if test is not None:
        test = _read_examples(model, test, "test", needs_labels=False)
        _check_scored(run, test)
    print(f"{count(train.x):,} training examples; {count(dev.x):,} select the best epoch.")
    print(shown_classes(model.class_counts(train.y)), end="")

    rows = _training_rows(run)
    _compile(run, settings.epochs * len(_batches(run, rows, 0)))
    record_training(model, card_settings(run))
    if strategy is not None:
        size, parts = _batch_size(run), settings.accumulation_steps
        print(f"{describe_training(strategy, size, model, parts)}.", flush=True)
    is_begun = TrainingCheckpoint(output / "checkpoints").latest_step() is not None
    keep_settings(output, resume_settings(run), resume=is_begun, strategy=strategy)
    history = train_epochs(
        model,
        output,
        settings,
        batches=lambda epoch: _batches(run, rows, epoch),
        predict=lambda: _answers(run, model, dev, options),
        score=lambda answers: _score_dev(run, answers),
        keep=lambda answers: _keep_best(run, answers),
        callbacks=callbacks,
    )
    if teacher is not None:  # `evaluate` and `fit` take labels without a teacher's outputs
        with scope_of(strategy):
            model.compile(loss=None if learns_vectors(model, teacher) else settings.loss)
    if test is not None:
        _answer_test(run, test, options)
    print(f"The best model is the preset {run.best}; its answers and scores are in {output}.")
    return history


class _Examples(NamedTuple):
    x: Any
    y: Any = None
    sample_weight: Any = None


class _Run(NamedTuple):
    """The checked arguments of `finetune`, which its steps share."""

    model: BertTask
    train: _Examples
    dev: _Examples
    output: Path
    settings: FineTuning  # whose `select` and `learning_rate` aren't None
    batching: Batching
    teacher: Teacher | None  # whose source is a model
    scores: Callable | None
    strategy: Any

    @property
    def best(self):
        return self.output / "best"


def _read_train_and_dev(model, train, dev, learns_vectors):
    train = _read_examples(model, train, "train", needs_labels=not learns_vectors)
    if not isinstance(dev, float):
        return train, _read_examples(model, dev, "dev")
    check_number("dev, the share of train,", dev, at_least=0, exclusive=True, below=1)
    train, dev = split_examples(train, dev)
    return _Examples(*train), _Examples(*dev)


def _read_examples(model, examples, name, needs_labels=True):
    if not isinstance(examples, tuple) or not 0 < len(examples) < 4:
        examples = (examples,)
    examples = _Examples(*in_memory(model, *examples))
    if is_dataset(examples.x) or not is_raw(examples.x):
        raise ValueError(
            f"finetune takes raw examples in memory, (x, y); {name} is {shown(examples.x)}. Pass "
            "texts, or call fit, which takes any batches."
        )
    if needs_labels and not model.scorer.has_labels(examples.x, examples.y):
        raise ValueError(f"{name} has no labels: pass (x, y), or examples with their labels.")
    model.check_labels(examples.y)
    return examples


def _check_scored(run, examples):
    """Raises a ValueError if the task can't read or score examples: before a long run."""
    x, y, _ = examples
    scorer = run.model.scorer
    has_labels = scorer.has_labels(x, y)
    run.model.preprocessor.read(x, y, with_labels=has_labels)
    if has_labels and run.scores is None:
        scorer.check(x, y)


def _with_defaults(model, settings, teacher, scores, dev):
    """Returns the settings with the task's values for those that are None."""
    select, loss, learning_rate = settings.select, settings.loss, settings.learning_rate
    names = model.scorer.names_for(dev.x, dev.y) if scores is None else ()
    if select is None and not names:
        raise ValueError("Pass select, the name of the score that selects the best epoch.")
    if select is None:
        select = names[0]
    elif names:
        check_one_of("select", select, names)
    if learning_rate is None:
        optimizer = model.default_compile_args()["optimizer"]
        learning_rate = optimizer.get_config()["learning_rate"]
    if loss is None and learns_vectors(model, teacher):
        loss = "mean_squared_error"
    return dataclasses.replace(settings, select=select, loss=loss, learning_rate=learning_rate)


def shown_classes(counts: dict[str, int], most: int = 10) -> str:
    """Returns a line with the number of training examples of each class; "" without classes."""
    if not counts:
        return ""
    shown = [f"{name} {count:,}" for name, count in counts.items()]
    line = ", ".join(shown[:most])
    if len(shown) > most:
        line += f" and {len(shown) - most:,} more"
    return f"{len(shown):,} classes: {line}.\n"


def _training_rows(run):
    """Tokenizes the training examples; a teacher answers them."""
    model = run.model
    if learns_vectors(model, run.teacher):
        rows = rows_of_texts(model.preprocessor, run.train.x)
    else:
        class_weight = {"class_weight": run.settings.class_weight}
        x, y, weight = model.examples_to_fit(*run.train, class_weight)
        rows = model.preprocessor.read(x, y, weight, with_labels=True)
    if run.teacher is None:
        return rows
    folder = run.output / "teacher" if trains_alone(model) else None
    return rows_with_teacher(model, run.teacher.source, rows, folder, run.batching.batch_size)


def _batches(run, rows, epoch):
    """Batches rows in an order of their own for each seed and epoch."""
    batching = dataclasses.replace(run.batching, seed=1000 * run.settings.seed + epoch)
    return run.model.preprocessor.batched(rows, batching)


def _compile(run, steps):
    """Compiles the model with the loss of its targets, and `AdamW` for a number of steps."""
    settings, model = run.settings, run.model
    warmup_steps = int(settings.warmup * steps)
    with scope_of(run.strategy):
        rate = WarmupLinearDecay(settings.learning_rate, warmup_steps, steps, continuous=True)
        arguments = loss_arguments(model, run.teacher, settings.loss)
        arguments["optimizer"] = AdamW(rate, layer_decay=settings.layer_decay)
        model.compile(**arguments)


def card_settings(run: _Run) -> dict[str, Any]:
    """Returns the settings that the model card shows; it leaves out those of None."""
    loss, teacher = run.settings.loss, run.teacher
    settings = {"training examples": count(run.train.x), "development examples": count(run.dev.x)}
    settings |= vars(run.settings)
    if loss is not None and not isinstance(loss, str):
        settings["loss"] = type(loss).__name__
    settings["batch_size"] = _batch_size(run)
    settings["tokens_per_batch"] = run.batching.tokens_per_batch
    settings["packed"] = run.batching.packed or None
    if teacher is not None:
        settings["teacher"] = repr(teacher.source)
    if teacher is not None and not learns_vectors(run.model, teacher):
        settings |= {"temperature": teacher.temperature, "alpha": teacher.alpha}
    return settings


def resume_settings(run: _Run) -> dict[str, Any]:
    """Returns the settings that a run must share with the one it resumes."""
    model = run.model
    settings = card_settings(run)
    settings["class_weight"] = str(run.settings.class_weight)  # JSON has no ints as keys
    settings |= model.preprocessor.get_config()
    settings |= {name: getattr(model, name) for name in model.own_arguments}
    settings["precision"] = model.dtype_policy.name
    settings["bucket_lengths"] = run.batching.bucket_lengths
    if model.load_report is not None:
        settings["started from"] = model.load_report.source
    for name in ("epochs", "patience", "tokenizer", "null_threshold"):
        settings.pop(name, None)  # more epochs extend a run, and each tunes the threshold
    return settings


def _batch_size(run):
    return None if run.batching.tokens_per_batch else run.batching.batch_size


def _answers(run, model, examples, options):
    size = run.batching.batch_size
    return model.answers_to_score(examples.x, size, y=examples.y, **options)


def _score_dev(run, answers):
    """Scores the answers to the dev set, on which the task's threshold is tuned."""
    model, dev = run.model, run.dev
    if run.scores is None:
        model.preprocessor, scores = model.scorer.tuned(answers, dev.x, dev.y)
    else:
        scores = _own_scores(run, answers, dev)
    record_scores(model, {"dev": scores})
    return scores


def _own_scores(run, answers, examples):
    """Returns the scores of the user's function, as floats: JSON has no NumPy numbers."""
    scores = run.scores(answers, examples.x, examples.y)
    return {name: float(value) for name, value in scores.items()}


def _keep_best(run, answers):
    """Saves the model as the best one, with its answers to the dev set."""
    run.model.save_to_preset(run.best)
    if is_chief(run.model):
        run.model.scorer.write(run.output, "dev", answers, run.dev.x, run.dev.y)


def _answer_test(run, test, options):
    """Writes the best model's answers to the test set, and their scores if it has labels."""
    x, y, _ = test
    with scope_of(run.strategy):
        model = type(run.model).from_preset(run.best)
    answers = _answers(run, model, test, options)
    if is_chief(model):
        model.scorer.write(run.output, "test", answers, x, y)
    if not model.scorer.has_labels(x, y):
        return
    if run.scores is None:
        scores = model.scorer.score(answers, x, y)
    else:
        scores = _own_scores(run, answers, test)
    print("test:", shown_scores(scores))
    if is_chief(model):
        write_json(run.output / "test_scores.json", scores)
    record_scores(model, {"test": scores})
    wait_for_all("the test scores", model)  # every process has loaded the preset
    model.save_to_preset(run.best)
