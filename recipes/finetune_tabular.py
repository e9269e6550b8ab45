r"""Fine-tunes BERT to sort the rows of a table by their texts and their numbers.

    python recipes/finetune_tabular.py --init bert/preset --train train.csv --dev dev.csv \
        --text_template "{Name}. {Description}. I'm {Age} years old." \
        --number_columns Age Fee Photos --label_column AdoptionSpeed \
        --class_weight balanced --output pets

Texts are one column, or several written into a template; numbers are brought to mean 0 and
variance 1 as they have in the training file, and join BERT's vector before the classes. Texts
longer than `--sequence_length` are cut as `--truncation` says, or read in windows
(`--window_stride`). A number that is missing is an error: fill it first, for instance with the
mean of its column.

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
    add("--train", required=True, help="CSV or TSV file with a header")
    add("--dev", required=True, help="the same, to choose the best epoch by")
    add("--test", help="the same, to predict and score when all is done")
    add("--text_column", help="name of the column of texts")
    add("--text_template", help="columns written into a text, as '{Name}. {Description}.'")
    add("--number_columns", nargs="+", default=[], help="names of the columns of numbers")
    add("--label_column", default="label", help="name of the column of labels")
    add("--class_weight", choices=["balanced"], help="weigh classes by how rare they are")
    add("--output", required=True, help="folder for checkpoints, the best model and predictions")
    add("--sequence_length", type=int, default=128)
    add("--truncation", choices=["head", "tail", "head_tail"], help="what long texts keep")
    add("--window_stride", type=int, help="read long texts in windows, so many tokens apart")
    add("--batch_size", type=int, default=32, help="16 or 32")
    add("--learning_rate", type=float, default=2e-5, help="its peak: 5e-5, 3e-5 or 2e-5")
    add("--epochs", type=int, default=3, help="2 to 4")
    add("--warmup_proportion", type=float, default=0.1)
    add("--patience", type=int, help="stop after so many epochs without a better score")
    add("--select", default="accuracy", choices=["accuracy", "f1", "mcc"])
    add("--layer_decay", type=float, help="rate of a layer beside the one above, such as 0.9")
    add("--accumulation_steps", type=int, default=1, help="parts of a batch, one after the other")
    keras_bert.add_device_arguments(parser)
    add("--precision", default="float32", choices=["float32", "mixed_bfloat16"])
    add("--seed", type=int, default=0)
    args = parser.parse_args(argv)
    if (args.text_column is None) == (args.text_template is None):
        parser.error("give either --text_column or --text_template")
    return args


def read_examples(path, args, label_names=None):
    """`(x, labels, label_names)` of a file, where x is what the model takes."""
    table = keras_bert.read_table(path)
    template = args.text_template or f"{{{args.text_column}}}"
    x = {"text": keras_bert.texts_from_columns(table, template)}
    if args.number_columns:
        x["features"] = table.numbers(args.number_columns)
    label_names = label_names or table.class_names(args.label_column)
    return x, table.class_numbers(args.label_column, label_names), label_names


def make_model(args, label_names):
    """The classifier."""
    return keras_bert.BertClassifier.from_preset(
        args.init,
        sequence_length=args.sequence_length,
        truncation=args.truncation,
        num_classes=len(label_names),
        label_names=label_names,
        num_features=len(args.number_columns),
        window_stride=args.window_stride,
    )


def compile_model(model, args, steps):
    """Compiles the model for so many steps."""
    rate = keras_bert.WarmupLinearDecay(
        args.learning_rate, int(args.warmup_proportion * steps), steps, continuous=True
    )
    optimizer = keras_bert.AdamW(rate, layer_decay=args.layer_decay)
    model.compile(**{**model.default_compile_args(), "optimizer": optimizer})


def batches(model, x, labels, args, seed=0):
    """Shuffled batches to learn from, weighted by class where that is wished for."""
    weights = args.class_weight and model.class_sample_weight(labels, args.class_weight)
    return model.text_batches(
        x,
        labels,
        weights,
        batch_size=args.batch_size,
        shuffle=True,
        seed=seed,
        **keras_bert.batch_shapes(args.sequence_length),
    )


def predict(model, x, args):
    """Probabilities `[n, C]`."""
    logits = model.predict(x, batch_size=args.batch_size, verbose=0)
    return keras.ops.convert_to_numpy(keras.ops.softmax(logits))


def score(labels, probabilities):
    """The scores of the classes that are most probable."""
    predictions = probabilities.argmax(axis=1)
    return keras_bert.classification_scores(labels, predictions, probabilities.shape[1])


def write_predictions(path, probabilities, label_names):
    """A TSV file of a row for each example: its number, its class, and the probabilities."""
    with open(path, "w", encoding="utf-8") as file:
        print("index", "label", *label_names, sep="\t", file=file)
        for index, row in enumerate(probabilities):
            values = (f"{value:.6g}" for value in row)
            print(index, label_names[row.argmax()], *values, sep="\t", file=file)


def main(argv=None):
    args = parse_args(argv)
    strategy = keras_bert.get_strategy(args.strategy, args.tpu, args.devices)
    keras.utils.set_random_seed(args.seed)
    keras.config.set_dtype_policy(args.precision)
    output = Path(args.output)
    x, labels, label_names = read_examples(args.train, args)
    dev_x, dev_labels, _ = read_examples(args.dev, args, label_names)
    if args.test:
        test_x, test_labels, _ = read_examples(args.test, args, label_names)
    with strategy.scope():
        model = make_model(args, label_names)
        if args.number_columns:
            model.adapt_features(x["features"])
        steps_per_epoch = len(batches(model, x, labels, args))
        compile_model(model, args, steps_per_epoch * args.epochs)
    parts = args.accumulation_steps
    print(keras_bert.describe_training(strategy, args.batch_size, model, parts) + ".")
    print(f"{len(labels):,} rows, {len(dev_labels):,} to choose by.")

    keras_bert.finetune(
        model,
        output,
        epochs=args.epochs,
        batches=lambda epoch: batches(model, x, labels, args, seed=args.seed + epoch),
        predict=lambda: predict(model, dev_x, args),
        score=lambda found: score(dev_labels, found),
        select=args.select,
        keep=lambda found: write_predictions(output / "dev_predictions.tsv", found, label_names),
        patience=args.patience,
        accumulation_steps=parts,
    )
    if args.test:
        with strategy.scope():
            model = keras_bert.BertClassifier.from_preset(output / "best")
        probabilities = predict(model, test_x, args)
        scores = score(test_labels, probabilities)
        if keras_bert.is_chief(model):
            write_predictions(output / "test_predictions.tsv", probabilities, label_names)
            (output / "test_scores.json").write_text(json.dumps(scores, indent=1) + "\n")
        print("test:", ", ".join(f"{name} {value:.4f}" for name, value in scores.items()))
    print(f"The best model is the preset {output / 'best'}; predictions and scores are beside it.")


if __name__ == "__main__":
    main()
