r"""Fine-tunes BERT to rank documents for a query: a cross-encoder.

    python recipes/finetune_reranker.py --init bert/preset --train train.tsv --dev dev.tsv \
        --output reranker

    python recipes/finetune_reranker.py --init bert/preset --train margins.jsonl --dev dev.tsv \
        --negative_column negative --teacher_column margin --output reranker

Files are TSV or CSV with a header, JSONL or Parquet. A row is a query, a document and its
relevance, from 0 to 1. To learn from a teacher, `--teacher_column` names its scores (logits) for
the documents; with `--negative_column`, the teacher's score of the document minus that of the
negative. The dev file always has queries, documents and relevance. Give each query several
documents there, at least one of them with a relevance above 0: MRR@10 selects the best epoch.

Nogueira and Cho (2019) train on MS MARCO for 100,000 steps of 128 pairs at 3e-6. From MiniLM's
encoder (6 layers, hidden 384), two epochs of 3,900 pairs of SQuAD's questions and paragraphs at
5e-5 raise MRR@10 from 0.28 to 0.94, among ten paragraphs of one article; an epoch takes about six
minutes on two CPU cores. `benchmarks/retrieval.py` ranks all paragraphs.

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
    add("--query_column", default="query", help="column of queries")
    add("--document_column", default="document", help="column of documents")
    add("--relevance_column", default="relevance", help="column of numbers from 0 to 1")
    add("--negative_column", help="column of worse documents, to learn a teacher's margins")
    add("--teacher_column", help="column of a teacher's scores or margins, in place of relevance")
    _shared.add_finetuning_arguments(parser)
    parser.set_defaults(learning_rate=2e-5)  # as for GLUE's pairs
    args = parser.parse_args(argv)
    if args.negative_column and not args.teacher_column:
        parser.error("--negative_column needs --teacher_column, the teacher's margins")
    if args.teacher_column and not args.dev:
        parser.error("--teacher_column needs --dev, whose relevance selects the best epoch")
    return args


def read_examples(path, texts, numbers):
    """Reads `(texts, numbers)` from columns of a file."""
    table = _tables.read_table(path)
    return tuple(_tables.column(table, name) for name in texts), _tables.numbers(table, numbers)


def main(argv=None):
    args = parse_args(argv)
    from _runs import start_training  # slow: after parse_args

    strategy = start_training(args)
    pair = [args.query_column, args.document_column]
    texts = pair
    loss = "mean_squared_error" if args.teacher_column else None
    if args.negative_column:
        texts = [*pair, args.negative_column]
        loss = keras_bert.losses.MarginMeanSquaredError()
    train = read_examples(args.train, texts, args.teacher_column or args.relevance_column)
    dev, test = _shared.read_dev_and_test(
        args, lambda path: read_examples(path, pair, args.relevance_column)
    )
    with strategy.scope():
        model = keras_bert.BertReranker.from_preset(
            args.init,
            **_shared.loading_settings(args),
            activation="linear" if args.teacher_column else None,
        )
    keras_bert.finetune(
        model,
        train,
        dev,
        args.output,
        test=test,
        strategy=strategy,
        **_shared.finetuning_arguments(args, loss=loss),
    )


if __name__ == "__main__":
    _shared.run_recipe(main)
