"""Fine-tuning of a task on raw examples."""

import dataclasses
import os
from collections.abc import Callable, Sequence
from typing import Any

import keras

from keras_bert.files.json_files import write_json
from keras_bert.files.remote import local_path
from keras_bert.finetuning.run_settings import keep_settings
from keras_bert.finetuning.teaching import Teaching, rows_of_texts, start_teaching, taught
from keras_bert.finetuning.train_epochs import shown_scores, train_epochs
from keras_bert.messages import check_int, check_number, check_one_of, shown
from keras_bert.models.bert_task import BertTask
from keras_bert.models.compiling import check_trainable
from keras_bert.preprocessing.batching import Batching
from keras_bert.preprocessing.data import RawExamples
from keras_bert.preprocessing.data_of import data_of
from keras_bert.preprocessing.task_checks import preprocessor_of
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
    *,
    validation_split: float = 0.0,
    test: Any = None,
    epochs: int = 3,
    loss: Any = None,
    learning_rate: float | None = None,
    warmup: float = 0.1,
    layer_decay: float | None = None,
    class_weight: dict | str | None = None,
    batching: Batching | None = None,
    accumulation_steps: int = 1,
    select: str | None = None,
    patience: int | None = None,
    seed: int = 0,
    scores: Callable | None = None,
    answer_options: dict | None = None,
    teacher: "BertTask | str | os.PathLike | None" = None,
    temperature: float = 2.0,
    alpha: float = 0.5,
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

    Source: Devlin et al. 2019, section 4 and appendix A.3; for a teacher, Hinton et al. 2015.

    Args:
        model: a task with a preprocessor. It is compiled here.
        train: training examples `(x, y)` or `(x, y, sample_weight)` in memory, as for `fit`; only
            `x` if the examples contain their labels, as questions do. A tuple is always read as
            `(x, y, ...)`.
        dev: the same, to select the best epoch; or None, with `validation_split`.
        output: a folder, used only for this run.
        validation_split: the share of the training examples, the last, that become the dev set.
        test: the same, to answer at the end, or `(x,)` without labels; or None.
        epochs: number of epochs.
        loss: a loss as in `compile`, in place of the task's default; no function with a teacher.
        learning_rate: the peak; None is that of the task's default optimizer.
        warmup: fraction of the steps in which the learning rate rises.
        layer_decay: see `AdamW`.
        class_weight: see `BertTask.fit`.
        batching: a `Batching`; examples are always shuffled, by `seed` and the epoch.
        accumulation_steps: see `BertTask.fit`.
        select: name of the score that selects the best epoch (higher is better); None is the task's
            main score.
        patience: epochs without a better score after which training stops; or None.
        seed: seed for the order of examples.
        scores: function of `(answers, x, y)` that returns a dict of floats, in place of the task's
            official scores; requires `select`.
        answer_options: options of `answer`, such as `{"n_best": 20}`; by default, those that its
            output files need.
        teacher: a trained task of the same class, labels and vocabulary, or a preset of one. The
            model learns what it says of the training examples as well as their labels; see
            `keras_bert.losses.Distillation`. A `BertEmbedder` learns the teacher's vectors of its
            texts instead, which need no labels or pairs, by the squared error or the given `loss`.
            The teacher answers all examples once, into files in the output folder.
        temperature: see `keras_bert.losses.Distillation`.
        alpha: the weight of the teacher, from 0 to 1; the labels have the rest.
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
    history = finetune(model, (texts, labels), (dev_texts, dev_labels), "reviews", epochs=3)
    model = BertClassifier.from_preset("reviews/best")
    ```
    """
    check_trainable(model)
    check_int("epochs", epochs)
    check_int("patience", 1 if patience is None else patience)
    scores = None if scores is None else _as_floats(scores)
    train, dev = _train_and_dev(model, train, dev, validation_split)
    test = None if test is None else _examples(model, test, "test")
    preprocessor = preprocessor_of(model)
    batching = dataclasses.replace(batching or Batching(), shuffle=True)
    batching.check_model(model)
    strategy = strategy or getattr(model, "distribute_strategy", None)
    if loss is not None:  # labels are checked for it
        with scope_of(strategy):
            model.compile(loss=loss)
    teaching = Teaching(loss)
    if teacher is not None:
        of_run = (batching, strategy, loss, train.sample_weight)
        weights = {"temperature": temperature, "alpha": alpha}
        teaching = start_teaching(model, teacher, *of_run, **weights)
    parts = {"train": train if teaching.needs_labels else None, "dev": dev, "test": test}
    _check_examples(model, parts, is_scored=scores is None)
    print(f"{train.count:,} training examples; {dev.count:,} select the best epoch.")
    if hasattr(model, "class_counts"):
        print(shown_classes(model.class_counts(train.y)), end="")
    select, output = _selected(model.scorer, select, scores, dev), local_path(output)
    best = output / "best"
    if teaching.needs_labels:
        rows = _training_rows(model, train, class_weight)
    else:
        rows = rows_of_texts(preprocessor, train.x)
    if teacher is not None:
        folder = output / "teacher" if trains_alone(model) else None
        rows = taught(model, teaching.teacher, rows, folder, batching.batch_size)
    options = model.scorer.answer_options if answer_options is None else answer_options

    def batches(epoch):  # in a different order for each seed and epoch
        return preprocessor.batched(rows, dataclasses.replace(batching, seed=1000 * seed + epoch))

    def score(answers):
        if scores is not None:
            dev_scores = scores(answers, dev.x, dev.y)
        else:
            model.preprocessor, dev_scores = model.scorer.tuned(answers, dev.x, dev.y)
        record_scores(model, {"dev": dev_scores})
        return dev_scores

    def keep(answers):
        model.save_to_preset(best)
        if is_chief(model):
            model.scorer.write(output, "dev", answers, dev.x, dev.y)

    with scope_of(strategy):
        steps = epochs * len(batches(0))
        learning_rate = _compile(model, steps, learning_rate, warmup, layer_decay, teaching)
    loss = teaching.loss
    settings = {
        "training examples": train.count,
        "development examples": dev.count,
        "epochs": epochs,
        "learning rate": learning_rate,
        "warm-up": warmup,
        "layer decay": layer_decay,
        "loss": loss if loss is None or isinstance(loss, str) else type(loss).__name__,
        "class weights": class_weight,
        "best epoch by": select,
        "seed": seed,
        "batch size": None if batching.tokens_per_batch else batching.batch_size,
        "tokens per batch": batching.tokens_per_batch,
        "packed": batching.packed or None,  # None is left out
        "parts per batch": accumulation_steps if accumulation_steps > 1 else None,
        "teacher": None if teacher is None else repr(teaching.teacher),
        "temperature": teaching.weights.get("temperature"),
        "weight of the teacher": teaching.weights.get("alpha"),
    }
    record_training(model, settings)
    if strategy is not None:
        size = settings["batch size"]
        print(describe_training(strategy, size, model, accumulation_steps) + ".", flush=True)
    is_begun = TrainingCheckpoint(output / "checkpoints").latest_step() is not None
    del settings["epochs"]  # more of them extend a run
    settings["class weights"] = str(class_weight)  # whose keys JSON may not take
    report, read = getattr(model, "load_report", None), preprocessor.get_config()
    settings |= {n: v for n, v in read.items() if n not in ("tokenizer", "null_threshold")}
    settings |= {name: getattr(model, name) for name in model.own_arguments}
    settings |= {"precision": model.dtype_policy.name, "bucket lengths": batching.bucket_lengths}
    settings["started from"] = None if report is None else report.source
    keep_settings(output, settings, resume=is_begun, strategy=strategy)
    history = train_epochs(
        model,
        output,
        epochs=epochs,
        batches=batches,
        predict=lambda: model.answers_to_score(dev.x, batching.batch_size, y=dev.y, **options),
        score=score,
        select=select,
        keep=keep,
        patience=patience,
        accumulation_steps=accumulation_steps,
        callbacks=callbacks,
    )
    if teacher is not None:  # labels alone are what `evaluate` and `fit` take
        with scope_of(strategy):
            model.compile(loss=loss if teaching.needs_labels else None)
    if test is not None:
        with scope_of(strategy):
            best_model = type(model).from_preset(best)
        answers = best_model.answers_to_score(test.x, batching.batch_size, y=test.y, **options)
        test_scores = _write_test(best_model, output, answers, test, scores)
        if test_scores:
            record_scores(best_model, {"test": test_scores})
            wait_for_all("the test scores", best_model)  # every process has loaded the preset
            best_model.save_to_preset(best)
    print(f"The best model is the preset {best}; its answers and scores are in {output}.")
    return history


def _examples(model, part, name):
    part = part if isinstance(part, tuple) and 0 < len(part) < 4 else (part,)
    data = data_of(model, *part)
    examples = data if data.is_streamed else data.in_memory()
    if not isinstance(examples, RawExamples):
        raise ValueError(
            f"finetune takes raw examples in memory, (x, y); {name} is {shown(data.x)}. Pass "
            "texts, or call fit, which takes any batches."
        )
    return examples


def _train_and_dev(model, train, dev, validation_split):
    check_number("validation_split", validation_split, at_least=0, below=1)
    if (dev is None) == (validation_split == 0):
        raise ValueError(
            "The best epoch is selected on dev, or on a validation_split of train: pass one of "
            f"them; got {'neither' if dev is None else 'both'}."
        )
    train = _examples(model, train, "train")
    if dev is not None:
        return train, _examples(model, dev, "dev")
    return train.split(validation_split)


def _check_examples(model, parts, is_scored):
    for name, part in parts.items():
        if part is None:
            continue
        has_labels = model.scorer.has_labels(part.x, part.y)
        if not has_labels and name != "test":
            raise ValueError(f"{name} has no labels: pass (x, y), or examples with their labels.")
        model.check_labels(part.y)
        if name != "train":  # training examples are read later
            model.preprocessor.read(part.x, part.y, with_labels=has_labels)
            if is_scored and has_labels:
                model.scorer.check(part.x, part.y)


def shown_classes(counts: dict[str, int], most: int = 10) -> str:
    """Returns a line with the number of training examples of each class; "" without classes."""
    if not counts:
        return ""
    shown = [f"{name} {count:,}" for name, count in counts.items()][:most]
    more = f" and {len(counts) - most:,} more" if len(counts) > most else ""
    return f"{len(counts):,} classes: {', '.join(shown)}{more}.\n"


def _selected(scorer, select, scores, dev):
    names = scorer.names_for(dev.x, dev.y) if scores is None else ()
    select = names[0] if select is None and names else select
    if select is None:
        raise ValueError("Pass select, the name of the score that selects the best epoch.")
    if names:
        check_one_of("select", select, names)
    return select


def _training_rows(model, train, class_weight):
    data = model.data_to_fit(train, {"class_weight": class_weight})
    return model.preprocessor.read(data.x, data.y, data.sample_weight, with_labels=True)


def _compile(model, steps, learning_rate, warmup, layer_decay, teaching):
    """Compiles the model with what its teacher wants; returns the peak learning rate."""
    settings = model.default_compile_args()
    if learning_rate is None:
        learning_rate = settings["optimizer"].get_config()["learning_rate"]
    rate = WarmupLinearDecay(learning_rate, int(warmup * steps), steps, continuous=True)
    optimizer = AdamW(rate, layer_decay=layer_decay)
    model.compile(**{**teaching.compile_args(settings), "optimizer": optimizer})
    return learning_rate


def _as_floats(scores):
    """Makes a user's function return floats in place of NumPy's numbers, for JSON."""
    return lambda *data: {name: float(value) for name, value in scores(*data).items()}


def _write_test(model, output, answers, test, scores):
    """Writes the answers to the test set; returns and writes their scores if it has labels."""
    scorer, x, y = model.scorer, test.x, test.y
    if is_chief(model):
        scorer.write(output, "test", answers, x, y)
    if not scorer.has_labels(x, y):
        return None
    test_scores = (scorer.score if scores is None else scores)(answers, x, y)
    print("test:", shown_scores(test_scores))
    if is_chief(model):
        write_json(output / "test_scores.json", test_scores)
    return test_scores
