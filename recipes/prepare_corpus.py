r"""Converts raw text to a folder of tokenized documents for pre-training.

    python recipes/prepare_corpus.py books/*.txt --vocabulary vocab.txt --output corpus

Takes text files (.txt), files with a text in each row (.jsonl, .parquet), folders and patterns of
them, and data sets of the Hugging Face Hub, such as wikimedia/wikipedia. A server core prepares
about 2 million tokens (9 MB) of prose per second. All cores are used, each with about 0.5 GB of
memory for a corpus of any size. After an interruption, rerun the same command to resume.

    python recipes/prepare_corpus.py "hf://datasets/user/name@main/data/train-*.parquet" \
        --text_column body --drop_repeated --vocabulary vocab.txt --output corpus

A .txt file is prose: one document, or several separated by lines that match
`--document_separator`, such as '^CHAPTER '. With `--text_format sentences`, it has one sentence per
line and blank lines between documents.

Apache Beam runs the same work on a cluster: pass a runner and its own options.

    python recipes/prepare_corpus.py gs://bucket/books --vocabulary vocab.txt \
        --output gs://bucket/corpus --runner DataflowRunner --project my-project
"""

import _shared
import keras_bert


def parse_args(argv=None):
    parser = _shared.recipe_parser(__doc__)
    add = parser.add_argument
    add("inputs", nargs="+", help="files, folders, patterns or hf://datasets/user/name")
    add("--vocabulary", required=True, help="vocab.txt, preset, Hugging Face folder or hf://name")
    add("--output", required=True, help="output folder")
    add("--cased", action="store_true", help="keep capital letters and accents")
    layouts = ("prose", "sentences")
    add("--text_format", choices=layouts, default="prose", help="layout of .txt files and rows")
    add("--document_separator", help="regular expression for lines between documents")
    add("--text_column", help="column of texts; 'text' if not given")
    add("--language_column", help="column of language codes in .jsonl and .parquet files")
    add("--min_tokens", type=int, default=1, help="leave out shorter documents")
    add("--drop_repeated", action="store_true", help="leave out documents that occur earlier")
    add("--language", default="en", help="language code, for splitting sentences")
    add("--seed", type=int, default=0, help="random seed")
    add("--num_workers", type=int, help="by default one process per core, fewer for small inputs")
    add("--runner", help="Apache Beam runner to use instead, such as DirectRunner")
    args, beam_options = parser.parse_known_args(argv)
    if args.runner:
        workers = [f"--num_workers={args.num_workers}"] if args.num_workers else []
        args.beam_options = [f"--runner={args.runner}", *workers, *beam_options]
    elif beam_options:
        parser.error(f"unknown arguments: {' '.join(beam_options)}")
    else:
        args.beam_options = None
    return args


def main(argv=None):
    args = parse_args(argv)
    lowercase = False if args.cased else None
    tokenizer = keras_bert.BertTokenizer.from_preset(args.vocabulary, lowercase)
    keras_bert.prepare_corpus(
        args.inputs,
        args.output,
        tokenizer,
        text_format=args.text_format,
        document_separator=args.document_separator,
        text_column=args.text_column or "text",
        language=args.language,
        language_column=args.language_column,
        min_tokens=args.min_tokens,
        drop_repeated=args.drop_repeated,
        seed=args.seed,
        num_workers=args.num_workers,
        beam_options=args.beam_options,
    )


if __name__ == "__main__":
    _shared.run_recipe(main)
