"""Learns a WordPiece vocabulary from texts.

    python recipes/learn_vocabulary.py books/*.txt --output_file vocab.txt --vocabulary_size 30522

Takes what prepare_corpus.py takes, and reads it in the same way. All cores are used: each counts
about 2 million words (10 MB) of text per second before the pieces are chosen. 25 MB of novels take
about 10 seconds on 2 cores.
Memory grows with the number of distinct words, by about 150 bytes each. Results are reproducible.
"""

import os

import _shared
import keras_bert


def parse_args(argv=None):
    parser = _shared.recipe_parser(__doc__)
    add = parser.add_argument
    add("inputs", nargs="+", help="files, folders, patterns or hf://datasets/user/name")
    add("--output_file", required=True, help="file to write")
    add("--vocabulary_size", type=int, default=30522, help="tokens in the vocabulary")
    add("--text_column", help="column of texts; 'text' if not given")
    add("--cased", action="store_true", help="keep capital letters and accents")
    add("--max_characters", type=int, default=1000, help="most frequent characters to keep")
    add("--min_frequency", type=int, default=2, help="drop pieces that occur less often")
    add("--num_workers", type=int, help="by default one process per core, fewer for small inputs")
    return parser.parse_args(argv)


def main(argv=None):
    args = parse_args(argv)
    if os.path.isdir(args.output_file):
        raise ValueError(f"--output_file={args.output_file} is a folder. Give a file in it.")
    vocabulary = keras_bert.learn_vocabulary(
        args.inputs,
        args.vocabulary_size,
        text_column=args.text_column or "text",
        lowercase=not args.cased,
        max_characters=args.max_characters,
        min_frequency=args.min_frequency,
        num_workers=args.num_workers,
    )
    tokenizer = keras_bert.BertTokenizer(vocabulary, lowercase=not args.cased)
    tokenizer.save_vocabulary(args.output_file)
    print(f"{len(vocabulary)} tokens in {args.output_file}; the last: {' '.join(vocabulary[-8:])}")


if __name__ == "__main__":
    _shared.run_recipe(main)
