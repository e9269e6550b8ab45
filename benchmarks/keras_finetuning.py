"""Fine-tuning with this library, as in the recipes, for `against_transformers.py`."""

import time

import keras
import numpy as np
from finetuning_tasks import head_kernel

import keras_bert


def finetune(task, train, test, names, args, progress):
    """Trains and predicts.

    Args:
        task: name of the task.
        train: training examples from `finetuning_tasks.read_task`.
        test: examples to predict, from the same function.
        names: the names of the labels or tags, or None.
        args: the arguments of `against_transformers.py`.
        progress: a function that takes the number of steps per epoch and returns a `Progress`.

    Returns:
        `(predictions, numbers)`: predictions for `finetuning_tasks.score`, and a dict of the number
        of rows, the seconds of preparation, training epochs and evaluation, and the last loss.
    """
    keras.utils.set_random_seed(args.seed)
    keras.config.set_dtype_policy("mixed_bfloat16" if args.precision == "bf16" else "float32")
    architecture, columns, predict = _TASKS[task]
    arguments = {"sequence_length": args.sequence_length}
    if names:
        arguments |= {"num_classes": len(names), "label_names": names}
    if architecture is keras_bert.BertSpanLabeler:
        arguments |= {
            name: getattr(args, name) for name in ("document_stride", "max_answer_length")
        }
    model = architecture.from_preset(args.model, **arguments)
    model.head.kernel.assign(head_kernel(args.seed, *model.head.kernel.shape))
    started = time.perf_counter()
    batching = keras_bert.Batching(args.batch_size, shuffle=True, seed=args.seed, pad_to="longest")
    data = model.batches(*columns(train), batching=batching)
    steps = len(data) * args.epochs
    rate = keras_bert.WarmupLinearDecay(
        args.learning_rate, int(args.warmup_proportion * steps), steps, continuous=True
    )
    model.compile(**{**model.default_compile_args(), "optimizer": keras_bert.AdamW(rate)})
    prepared = time.perf_counter()
    done = progress(len(data))
    model.fit(data, epochs=args.epochs, verbose=0, callbacks=[_Reporter(done)])
    began = time.perf_counter()
    predicted = predict(model, test, args)
    ended = time.perf_counter()
    return predicted, {
        "rows": sum(len(inputs["token_ids"]) for inputs, *_ in data),
        "prepare_seconds": prepared - started,
        "epoch_seconds": done.seconds,
        "evaluate_seconds": ended - began,
        "loss": done.loss,
    }


class _Reporter(keras.callbacks.Callback):
    """Callback that reports to a `Progress`."""

    def __init__(self, progress):
        super().__init__()
        self.progress = progress

    def on_train_batch_end(self, batch, logs=None):
        self.progress.step(batch, lambda: logs["loss"])

    def on_epoch_end(self, epoch, logs=None):
        self.progress.epoch(logs["loss"])


def _texts(examples):
    return tuple(list(column) for column in zip(*(e["texts"] for e in examples), strict=True))


def _texts_and_labels(examples):
    return _texts(examples), [example["label"] for example in examples]


def _classes(model, examples, args):
    # In file order and padded to each batch's longest row, as the other library predicts.
    batching = keras_bert.Batching(args.batch_size, pad_to="longest")
    data = model.batches(_texts(examples), batching=batching)
    return np.argmax(model.predict(data, verbose=0), axis=-1)


def _words(examples):
    return [example["words"] for example in examples]


def _words_and_tags(examples):
    return _words(examples), [example["tags"] for example in examples]


def _tags(model, examples, args):
    return [answer["label"] for answer in model.answer(_words(examples), args.batch_size)]


def _questions(examples):
    return (examples,)


def _choices(model, examples, args):
    return [answer["label"] for answer in model.answer(examples, args.batch_size)]


def _answers(model, examples, args):
    """Returns `(texts, null odds)` by id; the texts are the best answers other than "no answer"."""
    answers = model.answer(examples, args.batch_size, n_best=args.n_best)
    texts, odds = {}, {}
    for example, answer in zip(examples, answers, strict=True):
        found = [text for text in answer["n_best_answer"] if text]
        texts[example["id"]] = found[0] if found else ""
        odds[example["id"]] = answer["null_odds"]
    return texts, odds


_CLASSES = keras_bert.BertClassifier, _texts_and_labels, _classes
_QUESTIONS = keras_bert.BertSpanLabeler, _questions, _answers
_TASKS = {
    "sentiment": _CLASSES,
    "nli": _CLASSES,
    "mrpc": _CLASSES,
    "ner": (keras_bert.BertTokenClassifier, _words_and_tags, _tags),
    "choice": (keras_bert.BertMultipleChoice, _questions, _choices),
    "squad1": _QUESTIONS,
    "squad2": _QUESTIONS,
}
