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
    add("--multi_label", action="store_true", help="a text has any number of labels: a|b")
    add("--class_weight", choices=["balanced"], help="weigh classes by how rare they are")
    add("--output", required=True, help="folder for checkpoints, the best model and predictions")
    add("--sequence_length", type=int, default=128)
    add("--truncation", choices=["head", "tail", "head_tail"], help="what is kept of a long text")
    add("--window_stride", type=int, help="read long texts whole, in windows so many tokens apart")
    add("--batch_size", type=int, default=32, help="16 or 32")
    add("--learning_rate", type=float, default=2e-5, help="its peak: 5e-5, 3e-5 or 2e-5")
    add("--epochs", type=int, default=3, help="2 to 4")
    add("--warmup_proportion", type=float, default=0.1)
    add("--patience", type=int, help="stop after so many epochs without a better score")
    add("--bucket_lengths", type=int, nargs="+", help="pad to these, batch like lengths")
    add("--tokens_per_batch", type=int, help="with --bucket_lengths, in place of --batch_size")
    add("--select", help="score by which an epoch is best: accuracy, f1, mcc, ...")
    add("--layer_decay", type=float, help="rate of a layer beside the one above, such as 0.9")
    add("--accumulation_steps", type=int, default=1, help="parts of a batch, one after the other")
    keras_bert.add_device_arguments(parser)
    add("--precision", default="float32", choices=["float32", "mixed_bfloat16"])
    add("--seed", type=int, default=0)
    args = parser.parse_args(argv)
    scores = ["accuracy", "f1", "mcc"]
    if args.multi_label:
        scores = ["micro_f1", "macro_f1", "accuracy", "exact_match"]
    if args.regression:
        scores = ["spearman", "pearson"]
    args.select = args.select or scores[0]
    if args.select not in scores:
        parser.error(f"--select must be one of {', '.join(scores)}; got {args.select!r}")
    if args.regression + args.multi_label + bool(args.class_weight) > 1:
        parser.error("--regression, --multi_label and --class_weight exclude each other")
    return args


def read_examples(path, args, label_names=None):
    """`(texts, labels, label_names)` of a file, where texts are one or two lists of strings."""
    table = keras_bert.read_table(path)
    texts = (table[args.text_column],)
    if args.pair_column:
        texts += (table[args.pair_column],)
    if args.regression:
        return texts, table.scores(args.label_column), None
    if args.multi_label:
        labels = table.label_lists(args.label_column)
        return texts, labels, label_names or sorted({name for names in labels for name in names})
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
        truncation=args.truncation,
        num_classes=1 if args.regression else len(label_names),
        label_names=label_names,
        multi_label=args.multi_label,
        window_stride=args.window_stride,
    )


def compile_model(model, args, steps):
    """Compiles the model for so many steps."""
    rate = keras_bert.WarmupLinearDecay(
        args.learning_rate, int(args.warmup_proportion * steps), steps, continuous=True
    )
    optimizer = keras_bert.AdamW(rate, layer_decay=args.layer_decay)
    model.compile(**{**model.default_compile_args(), "optimizer": optimizer})


def batches(model, texts, labels, args, seed):
    """Shuffled batches to learn from."""
    weights = args.class_weight and model.class_sample_weight(labels, args.class_weight)
    return model.text_batches(
        texts,
        labels,
        weights,
        batch_size=args.batch_size,
        shuffle=True,
        seed=seed,
        bucket_lengths=args.bucket_lengths,
        tokens_per_batch=args.tokens_per_batch,
        **keras_bert.batch_shapes(args.sequence_length),
    )


def predict(model, texts, args):
    """Outputs `[n, C]`: probabilities of the classes, or numbers."""
    logits = model.predict(texts, batch_size=args.batch_size, verbose=0)
    if args.regression:
        return logits
    activation = keras.ops.sigmoid if args.multi_label else keras.ops.softmax
    return keras.ops.convert_to_numpy(activation(logits))


def score(labels, outputs, args):
    """The scores of the outputs that `predict` gave."""
    if args.regression:
        return keras_bert.regression_scores(labels, outputs[:, 0])
    if args.multi_label:
        return keras_bert.multi_label_scores(labels, outputs >= 0.5)
    predictions = outputs.argmax(axis=1)
    return keras_bert.classification_scores(labels, predictions, num_classes=outputs.shape[1])


def write_predictions(folder, split, outputs, label_names, args):
    """A TSV file of a row for each example: its number, the answer, and the probabilities."""
    with open(folder / f"{split}_predictions.tsv", "w", encoding="utf-8") as file:
        header = ["score"] if label_names is None else ["label", *label_names]
        print("index", *header, sep="\t", file=file)
        for index, row in enumerate(outputs):
            answer = [] if args.regression else [label_names[row.argmax()]]
            if args.multi_label:
                names = zip(label_names, row, strict=True)
                answer = ["|".join(name for name, value in names if value >= 0.5)]
            print(index, *answer, *(f"{value:.6g}" for value in row), sep="\t", file=file)


def main(argv=None):
    args = parse_args(argv)
    strategy = keras_bert.get_strategy(args.strategy, args.tpu, args.devices)
    keras.utils.set_random_seed(args.seed)
    keras.config.set_dtype_policy(args.precision)
    output = Path(args.output)
    texts, labels, label_names = read_examples(args.train, args)
    dev_texts, dev_labels, _ = read_examples(args.dev, args, label_names)
    if args.test:
        test_texts, test_labels, _ = read_examples(args.test, args, label_names)
    with strategy.scope():
        model = make_model(args, label_names)
        labels, dev_labels = map(model.numbered_labels, (labels, dev_labels))
        steps_per_epoch = len(batches(model, texts, labels, args, seed=0))
        compile_model(model, args, steps_per_epoch * args.epochs)
    parts = args.accumulation_steps
    print(keras_bert.describe_training(strategy, args.batch_size, model, parts) + ".")
    print(f"{len(labels):,} examples, {len(dev_labels):,} to choose by.")

    keras_bert.finetune(
        model,
        output,
        epochs=args.epochs,
        batches=lambda epoch: batches(model, texts, labels, args, seed=args.seed + epoch),
        predict=lambda: predict(model, dev_texts, args),
        score=lambda outputs: score(dev_labels, outputs, args),
        select=args.select,
        keep=lambda outputs: write_predictions(output, "dev", outputs, label_names, args),
        patience=args.patience,
        accumulation_steps=parts,
    )
    if args.test:
        with strategy.scope():
            model = keras_bert.BertClassifier.from_preset(output / "best")
        outputs = predict(model, test_texts, args)
        scores = score(model.numbered_labels(test_labels), outputs, args)
        if keras_bert.is_chief(model):
            write_predictions(output, "test", outputs, label_names, args)
            (output / "test_scores.json").write_text(json.dumps(scores, indent=1) + "\n")
        print("test:", ", ".join(f"{name} {value:.4f}" for name, value in scores.items()))
    print(f"The best model is the preset {output / 'best'}; predictions and scores are beside it.")


if __name__ == "__main__":
    main()
