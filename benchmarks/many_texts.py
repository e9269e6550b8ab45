"""Measures what `fit` and `answer` take before and beyond the model, for 1,000 to 1,000,000 texts.

    python benchmarks/many_texts.py

Texts of 3 to 9 words of a vocabulary of 3,000; a model of one layer of 16 units. The set-up of
`fit` is `batches`, which reads and checks all texts and labels; batches are made as training asks
for them. Memory is what the process's peak grows by.
"""

import argparse
import os
import resource
import time

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

import keras_bert

WORDS = [f"w{number}" for number in range(3000)]


def parse_args(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--texts", type=int, nargs="+", default=[10**n for n in (3, 4, 5, 6)])
    parser.add_argument("--answered", type=int, default=10**5, help="the most texts to answer")
    return parser.parse_args(argv)


def measured(name, number, call):
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    call()
    seconds = time.process_time() - started
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024
    print(f"{number:>9,} texts, {name}: {seconds:.2f} CPU s, {grown:.0f} MB", flush=True)


def main():
    args = parse_args()
    tokenizer = keras_bert.BertTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS])
    preprocessor = keras_bert.BertClassifierPreprocessor(
        tokenizer, sequence_length=64, label_names=["bad", "good"]
    )
    backbone = keras_bert.BertBackbone(tokenizer.vocabulary_size(), 1, 2, 16, 32)
    model = keras_bert.BertClassifier(backbone, preprocessor=preprocessor)
    model.answer(WORDS[:2])
    generator = np.random.default_rng(1)
    for number in args.texts:
        words = generator.choice(WORDS, (number, 9))
        texts = [
            " ".join(row[:length])
            for row, length in zip(words, generator.integers(3, 10, number), strict=True)
        ]
        labels = ["good", "bad"] * (number // 2)
        measured("set-up of fit", number, lambda: model.batches(texts, labels))  # noqa: B023
        if number <= args.answered:
            measured("answer", number, lambda: model.answer(texts))  # noqa: B023


if __name__ == "__main__":
    main()
