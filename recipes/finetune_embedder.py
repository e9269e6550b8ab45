r"""Fine-tunes BERT to embed sentences: similar texts get similar vectors.

    python recipes/finetune_embedder.py --init bert/preset --train pairs.tsv --dev dev.tsv \
        --text_columns question answer --output embedder

    python recipes/finetune_embedder.py --init bert/preset --train sts.tsv --dev sts_dev.tsv \
        --text_columns sentence1 sentence2 --score_column score --output embedder

Files are TSV or CSV with a header, JSONL or Parquet. Their columns decide on the training:

| columns | the model learns | the score that selects the best epoch |
|---|---|---|
| two texts that belong together | to find the second among those of its batch | MRR@10 |
| also texts that don't belong to the first | the same, with hard negatives | accuracy |
| two texts and `--score_column` | to order pairs by their score | Spearman |
| one text and `--label_column` | to bring texts of a class together | accuracy of nearest |

With `--teacher`, the model learns its vectors instead: `--alpha`, `--temperature` and
`--matryoshka_dims` have no effect.

Without scores, every text of a batch is compared with all others: large batches are better, and
`--accumulation_steps` makes them fit into memory. A MiniLM encoder (6 layers, hidden 384) takes
half a minute per epoch for 550 pairs of sentences on two CPU cores.

OUTPUT/best is the preset of the best epoch, next to its answers and the scores of all epochs. Rerun
the same command to resume.
"""

import _shared
import _tables
import keras_bert


def parse_args(argv=None):
    parser = _shared.recipe_parser(__doc__)
    _shared.add_file_arguments(parser)
    add = parser.add_argument
    names = ["anchor", "positive"]
    add("--text_columns", nargs="+", default=names, help="columns of texts, the first the anchor")
    labels = parser.add_mutually_exclusive_group()
    labels.add_argument("--score_column", help="column of scores of pairs, the higher the closer")
    labels.add_argument("--label_column", help="column of labels")
    add("--pooling", choices=["mean", "max", "cls"], help="vector of a text; by default, --init's")
    add("--matryoshka_dims", type=int, nargs="+", help="train these first values too: 384 128 64")
    _shared.add_finetuning_arguments(parser)
    parser.set_defaults(learning_rate=2e-5)  # as sentence-transformers'
    return parser.parse_args(argv)


def read_examples(path, args):
    """Reads `(texts, scores or classes)` from a file; without either, `(texts, None)`."""
    table = _tables.read_table(path)
    texts = tuple(_tables.column(table, name) for name in args.text_columns)
    if len(texts) == 1:
        [texts] = texts
    if args.label_column:
        return texts, _tables.classes(table, args.label_column)[0]
    if args.score_column:
        return texts, _tables.numbers(table, args.score_column)
    return texts, None


def main(argv=None):
    args = parse_args(argv)
    from _runs import start_training  # slow: after parse_args

    strategy = start_training(args)
    train = read_examples(args.train, args)
    dev, test = _shared.read_dev_and_test(args, lambda path: read_examples(path, args))
    own = {"pooling": args.pooling, "matryoshka_dims": args.matryoshka_dims}
    with strategy.scope():
        model = keras_bert.BertEmbedder.from_preset(
            args.init,
            **_shared.loading_settings(args),
            **{name: value for name, value in own.items() if value},
        )
    keras_bert.finetune(
        model,
        train,
        dev,
        args.output,
        test=test,
        strategy=strategy,
        **_shared.finetuning_arguments(args),
    )


if __name__ == "__main__":
    _shared.run_recipe(main)
