r"""Fine-tunes BERT to sort sentences, or pairs of them, from TSV or CSV files.

    python recipes/finetune_classifier.py --init bert/preset --train train.tsv --dev dev.tsv \
        --text_column sentence1 --pair_column sentence2 --label_column label --output mrpc

The paper tries batches of 16 and 32, learning rates of 5e-5, 3e-5 and 2e-5, and 2 to 4 epochs, and
keeps what is best on the development set. The rate warms up over a tenth of the steps and falls
linearly to 0. 1,700 reviews of 128 tokens take a small BERT (4 layers, hidden 256) about a minute
an epoch on two CPU cores.

After each epoch the model is scored on the development set; the best epoch's is kept in
`OUTPUT/best`, its predictions beside it. Started again, it goes on behind the last epoch that was
finished. Watch it with `tensorboard --logdir OUTPUT/logs`.
"""

import argparse
import json
from pathlib import Path

import keras

import keras_bert


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--init", required=True, help="preset or published weights to start from")
    add("--from_scratch", action="store_true", help="random weights in the preset's shape instead")
    add("--train", required=True, help="TSV or CSV file with a header")
    add("--dev", required=True, help="the same, to choose the best epoch by")
    add("--test", help="the same, to predict when all is done")
    add("--text_column", default="text", help="name of the column of texts")
    add("--pair_column", help="name of the column of second texts")
    add("--label_column", default="label", help="name of the column of labels")
    add("--regression", action="store_true", help="labels are numbers to predict, not classes")
    add("--output", required=True, help="folder for checkpoints, the best model and predictions")
    add("--sequence_length", type=int, default=128)
    add("--batch_size", type=int, default=32, help="16 or 32")
    add("--learning_rate", type=float, default=2e-5, help="its peak: 5e-5, 3e-5 or 2e-5")
    add("--epochs", type=int, default=3, help="2 to 4")
    add("--warmup_proportion", type=float, default=0.1)
    add("--patience", type=int, help="stop after so many epochs without a better score")
    add("--bucket_lengths", type=int, nargs="+", help="pad to these, batch like lengths")
    add("--tokens_per_batch", type=int, help="with --bucket_lengths, in place of --batch_size")
    add("--select", default="accuracy", help="score by which an epoch is best")
    add("--strategy", default="auto", choices=["auto", "tpu", "mirrored", "cpu"])
    add("--precision", default="float32", choices=["float32", "mixed_bfloat16"])
    add("--seed", type=int, default=0)
    args = parser.parse_args(argv)
    choices = ["accuracy", "f1", "mcc"]
    if args.regression:
        choices = ["spearman", "pearson"]
        args.select = "spearman" if args.select == "accuracy" else args.select
    if args.select not in choices:
        parser.error(f"--select must be one of {', '.join(choices)}; got {args.select!r}")
    return args


def read_examples(path, args, label_names=None):
    """`(texts, labels, label_names)` of a file, where texts are one or two lists of strings."""
    table = keras_bert.read_table(path)
    texts = (table[args.text_column],)
    if args.pair_column:
        texts += (table[args.pair_column],)
    if args.regression:
        return texts, table.scores(args.label_column), None
    label_names = label_names or table.class_names(args.label_column)
    if len(label_names) < 2:
        raise ValueError(
            f"{path} has one class only in column {args.label_column!r}, {label_names[0]!r}: "
            "there is nothing to tell apart. Give examples of each class, or --regression."
        )
    return texts, table.class_numbers(args.label_column, label_names), label_names


def make_model(args, label_names):
    """The classifier."""
    return keras_bert.BertClassifier.from_preset(
        args.init,
        load_weights=not args.from_scratch,
        sequence_length=args.sequence_length,
        num_classes=1 if args.regression else len(label_names),
        label_names=label_names,
    )


def compile_model(model, args, steps):
    """Compiles the model for so many steps."""
    rate = keras_bert.WarmupLinearDecay(
        args.learning_rate, int(args.warmup_proportion * steps), steps, continuous=True
    )
    model.compile(**{**model.default_compile_args(), "optimizer": keras_bert.AdamW(rate)})


def predict(model, texts, args):
    """Outputs `[n, C]`: probabilities of the classes, or numbers."""
    data = keras_bert.text_dataset(
        texts,
        preprocessor=model.preprocessor,
        batch_size=args.batch_size,
        trim=args.strategy != "tpu",
    )
    logits = model.predict(data, verbose=0)
    return logits if args.regression else keras.ops.convert_to_numpy(keras.ops.softmax(logits))


def score(labels, outputs, args):
    """The scores of the outputs that `predict` gave."""
    if args.regression:
        return keras_bert.regression_scores(labels, outputs[:, 0])
    predictions = outputs.argmax(axis=1)
    return keras_bert.classification_scores(labels, predictions, num_classes=outputs.shape[1])


def batches(model, texts, labels, args, seed):
    """Shuffled batches to learn from."""
    return keras_bert.text_dataset(
        texts,
        labels,
        preprocessor=model.preprocessor,
        batch_size=args.batch_size,
        shuffle=True,
        seed=seed,
        trim=args.strategy != "tpu",
        bucket_lengths=args.bucket_lengths,
        tokens_per_batch=args.tokens_per_batch,
    )


def write_predictions(path, outputs, label_names):
    """A TSV file of a row for each example: its number, the answer, and the probabilities."""
    with open(path, "w", encoding="utf-8") as file:
        header = ["score"] if label_names is None else ["label", *label_names]
        print("index", *header, sep="\t", file=file)
        for index, row in enumerate(outputs):
            answer = [] if label_names is None else [label_names[row.argmax()]]
            print(index, *answer, *(f"{value:.6g}" for value in row), sep="\t", file=file)


def main(argv=None):
    args = parse_args(argv)
    keras.utils.set_random_seed(args.seed)
    keras.config.set_dtype_policy(args.precision)
    output = Path(args.output)
    output.mkdir(parents=True, exist_ok=True)
    texts, labels, label_names = read_examples(args.train, args)
    dev_texts, dev_labels, _ = read_examples(args.dev, args, label_names)
    if args.test:
        test_texts, test_labels, _ = read_examples(args.test, args, label_names)
    with keras_bert.get_strategy(args.strategy).scope():
        model = make_model(args, label_names)
        steps_per_epoch = len(batches(model, texts, labels, args, seed=0))
        compile_model(model, args, steps_per_epoch * args.epochs)
    print(f"{len(labels):,} examples, {len(dev_labels):,} to choose by.")

    keras_bert.finetune(
        model,
        output,
        epochs=args.epochs,
        batches=lambda epoch: batches(model, texts, labels, args, seed=args.seed + epoch),
        predict=lambda: predict(model, dev_texts, args),
        score=lambda outputs: score(dev_labels, outputs, args),
        select=args.select,
        keep=lambda outputs: write_predictions(
            output / "dev_predictions.tsv", outputs, label_names
        ),
        patience=args.patience,
    )
    if args.test:
        model = keras_bert.BertClassifier.from_preset(output / "best")
        outputs = predict(model, test_texts, args)
        write_predictions(output / "test_predictions.tsv", outputs, label_names)
        scores = score(test_labels, outputs, args)
        (output / "test_scores.json").write_text(json.dumps(scores, indent=1) + "\n")
        print("test:", ", ".join(f"{name} {value:.4f}" for name, value in scores.items()))
    print(f"The best model is the preset {output / 'best'}; predictions and scores are beside it.")


if __name__ == "__main__":
    main()
