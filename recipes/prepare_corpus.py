r"""Turns text files or Wikipedia dumps into a corpus of tokenized documents.

    python recipes/prepare_corpus.py books --vocabulary vocab.txt --output corpus
    python recipes/prepare_corpus.py enwiki-pages-articles.xml.bz2 --vocabulary vocab.txt \
        --output corpus --runner FlinkRunner --flink_master localhost:8081

Inputs are .txt files, MediaWiki `pages-articles` dumps (.xml, .xml.bz2), or folders of those. Text
is cut into slices, one for each shard; by default each core takes one at a time, and memory does
not grow with the corpus. With `--runner` Apache Beam spreads the same slices over its workers;
options that are not named below are passed on to it.

Started again, it keeps the shards that are whole. What was strange in the input, broken UTF-8 say,
is counted and told at the end.
"""

import argparse

import keras_bert


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("inputs", nargs="+", help="text files, dumps, or folders of them")
    add("--vocabulary", required=True, help="vocab.txt")
    add("--cased", action="store_true", help="keep capital letters and accents")
    add("--output", required=True, help="folder for the corpus")
    add("--text_format", default="prose", choices=["prose", "sentences"], help="of .txt files")
    add("--document_separator", help="regular expression of the lines between documents")
    add("--language", default="en", help="for the rules by which sentences end")
    add("--seed", type=int, default=0, help="of the order of documents")
    add("--num_workers", type=int, help="processes; one for each core by default")
    add("--runner", help="Apache Beam runner, such as DirectRunner or DataflowRunner")
    args, args.beam_options = parser.parse_known_args(argv)
    if args.beam_options and not args.runner:
        parser.error(f"unknown options, without --runner: {' '.join(args.beam_options)}")
    return args


def main(argv=None):
    args = parse_args(argv)
    keras_bert.prepare_corpus(
        args.inputs,
        args.output,
        keras_bert.BertTokenizer(args.vocabulary, lowercase=not args.cased),
        text_format=args.text_format,
        document_separator=args.document_separator,
        language=args.language,
        seed=args.seed,
        num_workers=args.num_workers,
        beam_options=[f"--runner={args.runner}", *args.beam_options] if args.runner else None,
    )


if __name__ == "__main__":
    main()
