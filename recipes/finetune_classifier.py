r"""Fine-tunes BERT to classify texts, pairs of texts or rows of a table.

    python recipes/finetune_classifier.py --init bert/preset --train train.tsv --dev dev.tsv \
        --text_column sentence1 --pair_column sentence2 --label_column label --output mrpc

    python recipes/finetune_classifier.py --init bert/preset --train train.csv --dev dev.csv \
        --text_template "{Name}. {Description}. I'm {Age} years old." \
        --number_columns Age Fee Photos --label_column AdoptionSpeed \
        --class_weight balanced --output pets

Files are TSV or CSV with a header, JSONL or Parquet, here or on the Hugging Face Hub:
hf://datasets/user/name/data/train.parquet. pandas reads them (the extra `recipes`). A template
joins several columns into one text. Numbers are scaled to mean 0 and variance 1 over the training
file, and appended to BERT's vector before the output layer. A missing number is an error: fill it
first, for example with the mean of its column. Shuffle the rows before you use
`--validation_split`, if they are sorted.

The paper tries batches of 16 and 32, learning rates of 5e-5, 3e-5 and 2e-5, and 2 to 4 epochs, and
keeps the best on the development set. A small BERT (4 layers, hidden 256) takes about a minute per
epoch for 1,700 reviews of 128 tokens on two CPU cores.

OUTPUT/best is the preset of the best epoch, next to its answers and the scores of all epochs. Rerun
the same command to resume.
"""

import numpy as np

import _shared
import _tables
import keras_bert


def parse_args(argv=None):
    parser = _shared.recipe_parser(__doc__)
    _shared.add_file_arguments(parser)
    add = parser.add_argument
    texts = parser.add_mutually_exclusive_group()
    texts.add_argument("--text_column", help="column of texts; 'text' if not given")
    texts.add_argument("--text_template", help="text with columns in braces: '{Name}. {Age}.'")
    add("--pair_column", help="column of second texts")
    add("--number_columns", nargs="+", default=[], help="columns of numbers")
    add("--label_column", default="label", help="column of labels")
    add("--label_names", nargs="+", help="classes in the order of --init; sorted by default")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--regression", action="store_true", help="predict numbers, not classes")
    kind.add_argument("--multi_label", action="store_true", help="any number of labels: a|b")
    kind.add_argument("--class_weight", choices=["balanced"], help="weight classes by rarity")
    add("--truncation", choices=["head", "tail", "head_tail"], help="part of a long text to keep")
    add("--window_stride", type=int, help="read long texts in windows this many tokens apart")
    _shared.add_finetuning_arguments(parser)
    return parser.parse_args(argv)


def read_examples(path, args, label_names=None):
    """Reads `(x, labels)` from a file, as the model takes them, and the names of the labels."""
    table = _tables.read_table(path)
    if args.text_template:
        texts = _tables.filled(table, args.text_template)
    else:
        texts = _tables.column(table, args.text_column or "text")
    x = {"text": texts}
    if args.pair_column:
        x["text"] = texts, _tables.column(table, args.pair_column)
    if args.number_columns:
        columns = [_tables.numbers(table, name) for name in args.number_columns]
        x["features"] = np.stack(columns, axis=1)
    if args.regression:
        return (x, _tables.numbers(table, args.label_column)), None
    if args.multi_label:
        labels = _tables.label_lists(table, args.label_column)
        names = label_names or sorted({name for names in labels for name in names})
        return (x, labels), names
    labels, label_names = _tables.classes(table, args.label_column, label_names)
    if len(label_names) < 2:
        raise ValueError(
            f"{path} has only one class in column {args.label_column!r}, {label_names[0]!r}. Give "
            "examples of each class, or use --regression."
        )
    return (x, labels), label_names


def make_model(args, label_names):
    """Makes the classifier."""
    return keras_bert.BertClassifier.from_preset(
        args.init,
        **_shared.loading_settings(args),
        truncation=args.truncation,
        num_classes=1 if args.regression else len(label_names),
        label_names=label_names,
        multi_label=args.multi_label,
        num_features=len(args.number_columns),
        **({} if args.window_stride is None else {"window_stride": args.window_stride}),
    )


def main(argv=None):
    args = parse_args(argv)
    from _runs import start_training  # slow: after parse_args

    strategy = start_training(args)
    train, label_names = read_examples(args.train, args, args.label_names)
    dev, test = _shared.read_dev_and_test(
        args, lambda path: read_examples(path, args, label_names)[0]
    )
    with strategy.scope():
        model = make_model(args, label_names)
    keras_bert.finetune(
        model,
        train,
        dev,
        args.output,
        test=test,
        strategy=strategy,
        **_shared.finetuning_arguments(args, class_weight=args.class_weight),
    )


if __name__ == "__main__":
    _shared.run_recipe(main)
