"""Learns a WordPiece vocabulary from text files.

    python recipes/learn_vocabulary.py books/*.txt --output vocab.txt --vocabulary_size 30522

Takes plain UTF-8 text of any layout and size. About 2 million words (10 MB) a second and core are
counted, then the pieces are found, on all cores: 25 MB of novels take about 10 seconds on 2 cores.
Memory grows with the distinct words: about 150 bytes each. The result is the same in every run.
"""

import argparse
import os

import keras_bert


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("files", nargs="+", help="text files, UTF-8")
    add("--output", required=True, help="the vocab.txt to write")
    add("--vocabulary_size", type=int, default=30522, help="tokens to learn")
    add("--cased", action="store_true", help="keep capital letters and accents")
    add("--max_characters", type=int, default=1000, help="how many characters to know")
    add("--min_frequency", type=int, default=2, help="learn no rarer pieces")
    return parser.parse_args(argv)


def main(argv=None):
    args = parse_args(argv)
    folder = os.path.dirname(os.path.abspath(args.output))
    if not os.path.isdir(folder):
        raise ValueError(f"--output {args.output}: there is no folder {folder}; make it first")
    vocabulary = keras_bert.learn_vocabulary(
        args.files,
        args.vocabulary_size,
        lowercase=not args.cased,
        max_characters=args.max_characters,
        min_frequency=args.min_frequency,
    )
    tokenizer = keras_bert.BertTokenizer(vocabulary, lowercase=not args.cased)
    tokenizer.save_vocabulary(args.output)
    print(f"{len(vocabulary)} tokens in {args.output}; the last: {' '.join(vocabulary[-8:])}")


if __name__ == "__main__":
    main()
