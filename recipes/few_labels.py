r"""Classifies texts from a few labelled examples: an embedder and logistic regression.

    python recipes/few_labels.py --init all-MiniLM-L6-v2 --train train.tsv --dev dev.tsv \
        --examples_per_class 8 --output few

The texts of each class are paired and trained to be close, apart from those of other classes
(SetFit, Tunstall et al. 2022). scikit-learn then fits a logistic regression to their vectors. Start
from an embedder of sentences; with 8 or 16 examples per class this beats `finetune_classifier.py`.

Files are TSV or CSV with a header, JSONL or Parquet. OUTPUT/embedder is the preset of the trained
embedder, OUTPUT/head.npz has `coefficients`, `intercepts` and `classes` of the regression, and
OUTPUT/dev_answers.tsv the classes of the dev file and their probabilities.
"""

import json
from pathlib import Path

import numpy as np

import _shared
import _tables
import keras_bert


def parse_args(argv=None):
    parser = _shared.recipe_parser(__doc__)
    add = parser.add_argument
    add("--init", required=True, help="preset or published weights to start from")
    add("--train", required=True, help="file of training examples")
    add("--dev", required=True, help="file of examples to score at the end")
    add("--output", required=True, help="output folder")
    add("--text_column", help="column of texts; 'text' if not given")
    add("--label_column", default="label", help="column of labels")
    add("--examples_per_class", type=int, help="draw at most this many of each class")
    add("--epochs", type=int, default=20, help="passes over the training examples")
    add("--batch_size", type=int, default=16, help="examples per step, over all devices")
    add("--sequence_length", type=int, default=128, help="tokens per sequence")
    add("--learning_rate", type=float, default=2e-5, help="peak learning rate")
    add("--precision", default="float32", choices=["float32", "mixed_bfloat16"], help="Keras dtype")
    add("--seed", type=int, default=0, help="random seed")
    args = parser.parse_args(argv)
    if args.examples_per_class is not None and args.examples_per_class < 1:
        parser.error(f"--examples_per_class must be at least 1; got {args.examples_per_class}")
    return args


def read_examples(path, args, names=None):
    """Reads `(texts, classes)` from a file, and the names of the classes."""
    table = _tables.read_table(path)
    texts = _tables.column(table, args.text_column or "text")
    labels, names = _tables.classes(table, args.label_column, names)
    return np.array(texts, dtype=object), np.array(labels), names


def sample_per_class(texts, labels, count, seed):
    """Draws `count` examples of each class, or all if there are fewer."""
    rng = np.random.default_rng(seed)
    rows = []
    for name in np.unique(labels):
        rows += rng.permutation(np.flatnonzero(labels == name))[:count].tolist()
    return texts[rows], labels[rows]


def main(argv=None):
    args = parse_args(argv)
    import keras  # slow: after the command line is checked
    from sklearn.linear_model import LogisticRegression

    keras.utils.set_random_seed(args.seed)
    keras.config.set_dtype_policy(args.precision)
    texts, labels, names = read_examples(args.train, args)
    dev_texts, dev_labels, _ = read_examples(args.dev, args, names)
    if args.examples_per_class:
        texts, labels = sample_per_class(texts, labels, args.examples_per_class, args.seed)
    output = Path(args.output)
    output.mkdir(parents=True, exist_ok=True)
    print(f"{len(texts):,} training examples; {len(dev_texts):,} are scored.")
    model = keras_bert.BertEmbedder.from_preset(args.init, sequence_length=args.sequence_length)
    optimizer = model.default_compile_args()["optimizer"]
    steps = args.epochs * -(-len(texts) // args.batch_size)
    optimizer.learning_rate = keras_bert.WarmupLinearDecay(
        args.learning_rate, steps // 10, steps, continuous=True
    )
    model.compile(optimizer=optimizer)
    batching = keras_bert.Batching(args.batch_size, seed=args.seed)
    model.fit(texts, labels, epochs=args.epochs, batching=batching, verbose=2)
    head = LogisticRegression(max_iter=1000).fit(model.predict(texts, verbose=0), labels)
    probabilities = head.predict_proba(model.predict(dev_texts, verbose=0))
    answers = head.classes_[probabilities.argmax(axis=1)]
    accuracy = float(np.mean(answers == dev_labels))
    write_results(output, model, head, answers, probabilities, accuracy)
    print(f"Accuracy {accuracy:.4f}. The embedder, the head and the answers are in {args.output}.")


def write_results(output, model, head, answers, probabilities, accuracy):
    """Writes the embedder, the regression, the answers and the score."""
    model.save_to_preset(output / "embedder")
    np.savez(
        output / "head.npz",
        coefficients=head.coef_,
        intercepts=head.intercept_,
        classes=head.classes_,
    )
    rows = [["label", *head.classes_]]
    for answer, row in zip(answers, probabilities, strict=True):
        rows.append([answer, *(f"{probability:.6g}" for probability in row)])
    _tables.write_table(output / "dev_answers.tsv", rows)
    (output / "scores.json").write_text(json.dumps({"accuracy": accuracy}))


if __name__ == "__main__":
    _shared.run_recipe(main)
