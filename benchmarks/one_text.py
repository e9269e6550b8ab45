"""Measures how long a call on one raw text takes beyond the time in the model, for every task.

    python benchmarks/one_text.py

"Model" is the time in the compiled model; "beyond" is the rest of the call: reading and checking
the text, cutting it into tokens and windows, and making the answer. Both are medians over calls.
"""

import argparse
import os
import statistics
import time

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

import keras_bert

MODEL = "hf://sentence-transformers/all-MiniLM-L6-v2"
SHORT = "The weather in Paris is lovely today."
LONG = " ".join(["The house stands on a hill above the river, where nobody lives."] * 40)
QUESTION = "What stands on the hill?"
TAGS = ["O", "B-LOC", "I-LOC"]


def calls(model):
    """Yields `(name, task, method, argument)`."""

    def make(task, **arguments):
        return task.from_preset(model, sequence_length=128, **arguments)

    classifier = make(keras_bert.BertClassifier, label_names=["no", "yes"])
    windows = make(keras_bert.BertClassifier, label_names=["no", "yes"], window_stride=64)
    tagger = make(keras_bert.BertTokenClassifier, label_names=TAGS)
    labeler = make(keras_bert.BertSpanLabeler)
    choice = make(keras_bert.BertMultipleChoice)
    yield "class of a sentence, outputs", classifier, "predict", [SHORT]
    yield "class of a sentence", classifier, "answer", [SHORT]
    yield "class of a document in windows", windows, "answer", [LONG]
    yield "vector of a sentence", make(keras_bert.BertEmbedder), "predict", [SHORT]
    yield "score of a pair", make(keras_bert.BertReranker), "predict", ([QUESTION], [SHORT])
    yield "entities of a sentence", tagger, "answer", [SHORT]
    yield "entities of a document", tagger, "answer", [LONG]
    yield "answer in a sentence", labeler, "answer", [{"question": QUESTION, "context": SHORT}]
    yield "answer in a document", labeler, "answer", [{"question": QUESTION, "context": LONG}]
    yield "choice of two", choice, "answer", [{"context": QUESTION, "choices": [SHORT, QUESTION]}]


def seconds(task, method, argument, times):
    """Returns the medians of the model's seconds and of those beyond, and the rows' shape."""
    in_model, beyond, shapes = [], [], set()
    run = task.predict_on_batch

    def timed(inputs):
        shapes.add(tuple(np.shape(inputs["token_ids"])))
        started = time.perf_counter()
        outputs = run(inputs)
        in_model[-1] += time.perf_counter() - started
        return outputs

    task.predict_on_batch = timed
    for _ in range(times + 5):  # the first trace graphs
        in_model.append(0.0)
        started = time.perf_counter()
        getattr(task, method)(argument, verbose=0)
        beyond.append(time.perf_counter() - started - in_model[-1])
    del task.predict_on_batch
    [shape] = shapes
    return statistics.median(in_model[5:]), statistics.median(beyond[5:]), shape


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--model", default=MODEL, help="a preset or a folder")
    parser.add_argument("--times", type=int, default=50, help="calls, after 5 that don't count")
    return parser.parse_args(argv)


def main(argv=None):
    args = parse_args(argv)
    for name, task, method, argument in calls(args.model):
        model, beyond, shape = seconds(task, method, argument, args.times)
        rows = " x ".join(map(str, shape))
        print(f"{name}: model {1e3 * model:.1f} ms, beyond {1e3 * beyond:.1f} ms ({rows} tokens)")


if __name__ == "__main__":
    main()
