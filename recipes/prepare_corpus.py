r"""Turns raw text into the folder of tokenized documents that pre-training reads.

    python recipes/prepare_corpus.py books/*.txt --vocabulary vocab.txt --output corpus
    python recipes/prepare_corpus.py enwiki-latest-pages-articles.xml.bz2 \
        --vocabulary vocab.txt --output corpus

Takes text files (.txt), MediaWiki dumps (.xml, .xml.bz2), and folders of them. On one core of a
server about 2 million tokens (9 MB) of prose a second, or 400,000 tokens of a packed Wikipedia
dump; all cores are used, and about 0.5 GB of memory each, however large the corpus. Started again
after it was cut off, it goes on where it was.

Apache Beam runs the same work on a cluster (`pip install keras3-bert[beam]`): name a runner, and
add that runner's own options.

    python recipes/prepare_corpus.py gs://bucket/books --vocabulary vocab.txt \
        --output gs://bucket/corpus --runner DataflowRunner --project my-project
"""

import argparse

import keras_bert


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("inputs", nargs="+", help=".txt, .xml or .xml.bz2 files, or folders of them")
    add("--vocabulary", required=True, help="vocab.txt")
    add("--output", required=True, help="folder for the corpus")
    add("--cased", action="store_true", help="the vocabulary is cased")
    add(
        "--text_format",
        choices=("prose", "sentences"),
        default="prose",
        help="of .txt files: prose, or a sentence a line with a blank line between documents",
    )
    add(
        "--document_separator",
        help="regular expression of the lines between the documents of a file of prose, for "
        "example '^CHAPTER '; without it a file is a document",
    )
    add("--language", default="en", help="code of the language whose sentences are to be found")
    add("--seed", type=int, default=0, help="of the order of documents within a shard")
    add("--num_workers", type=int, help="processes; by default one a core, fewer for small inputs")
    add("--runner", help="Apache Beam runner to use instead, for example DirectRunner")
    args, beam_options = parser.parse_known_args(argv)
    if args.runner:
        args.beam_options = [f"--runner={args.runner}", *beam_options]
    elif beam_options:
        parser.error(f"unknown arguments: {' '.join(beam_options)}")
    else:
        args.beam_options = None
    return args


def main(argv=None):
    args = parse_args(argv)
    tokenizer = keras_bert.BertTokenizer(args.vocabulary, lowercase=not args.cased)
    keras_bert.prepare_corpus(
        args.inputs,
        args.output,
        tokenizer,
        text_format=args.text_format,
        document_separator=args.document_separator,
        language=args.language,
        seed=args.seed,
        num_workers=args.num_workers,
        beam_options=args.beam_options,
    )


if __name__ == "__main__":
    main()
