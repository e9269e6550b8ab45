r"""Writes the token vectors of texts, as features for another model.

    python recipes/extract_features.py texts.txt --init bert/preset --output_file features.jsonl \
        --layers -1 -2 -3 -4

Each line of the input is a text, or a pair of texts, `A ||| B`. The suffix of the output sets its
format:

`.jsonl` is the format of google-research/bert's extract_features.py. A line holds `linex_index`,
    the number of the input line from 0, and `features`: for each token its `token` and its
    `layers`, each with its `index` and its `values`, rounded to six digits.
`.npz` is smaller and faster. With `data = numpy.load("features.npz")`, the tokens of line i are
    rows `data["starts"][i]` to `data["starts"][i + 1] - 1` of `values`, float32
    `[tokens, layers, hidden]`, and of `tokens`, strings. `layers` are int32, `starts` are int64
    `[lines + 1]`.

Layer -1 is the last block, -2 the one before it. From the start, layers are numbered as in
transformers: 0 is the embeddings, 1 the first block (Google's 0). For a thousand lines of novels
(60,000 tokens), four layers of a BERT with 6 layers and hidden 384 take a CPU core 30 s as .npz
(370 MB) and 100 s as .jsonl (960 MB).
"""

import json
import os
from pathlib import Path

import numpy as np
from tqdm import tqdm

import _shared
import _tables
import keras_bert

LINES_AT_ONCE = 256  # sorted by length, to reduce padding


def parse_args(argv=None):
    parser = _shared.recipe_parser(__doc__)
    add = parser.add_argument
    add("input", help="file with a text, or `A ||| B`, per line")
    add("--init", required=True, help="preset or published weights to start from")
    add("--output_file", required=True, help="file to write")
    add("--layers", type=int, nargs="+", default=[-1, -2, -3, -4], help="layers to read; 0 to last")
    add("--sequence_length", type=int, default=128, help="tokens per sequence")
    add("--batch_size", type=int, default=32, help="examples per step, over all devices")
    add("--precision", default="float32", choices=["float32", "mixed_bfloat16"], help="Keras dtype")
    return parser.parse_args(argv)


def read_lines(path):
    """Returns a list of the one or two texts of each line."""
    text = _tables.read_text(path).removesuffix("\n")
    if not text:
        raise ValueError(f"{path} is empty. Give a file with a text per line.")
    return [line.strip().rsplit(" ||| ", 1) for line in text.split("\n")]


def features_of(lines, model, batch_size):
    """Returns `(tokens, vectors [tokens, layers, H])` of each line, and how many were truncated."""
    reader, found, truncated = model.preprocessor, [None] * len(lines), 0
    names = np.array(reader.tokenizer.get_vocabulary())
    for count in (1, 2):
        rows = [row for row, texts in enumerate(lines) if len(texts) == count]
        if not rows:
            continue
        texts = [[lines[row][part] for row in rows] for part in range(count)]
        sizes = sum(np.array([*map(len, reader.tokenizer(part))]) for part in texts)
        truncated += int((sizes > reader.sequence_length - 1 - count).sum())
        inputs = reader(*texts)
        lengths = inputs["padding_mask"].sum(axis=1)
        x = texts[0] if count == 1 else tuple(texts)
        vectors = model.predict(x, batch_size, verbose=0)  # [n, S, layers * H]
        for number, row in enumerate(rows):
            length = lengths[number]
            tokens = names[inputs["token_ids"][number, :length]]
            of_layers = np.split(vectors[number, :length], len(model.chosen_layers), axis=-1)
            found[row] = tokens, np.stack(of_layers, axis=1)
    return found, truncated


def features(lines, model, args):
    """Yields `(tokens, vectors)` of each line of the input."""
    truncated = 0
    for start in range(0, len(lines), LINES_AT_ONCE):
        some = lines[start : start + LINES_AT_ONCE]
        found, more = features_of(some, model, args.batch_size)
        truncated += more
        yield from found
    if truncated:
        print(f"{truncated:,} texts were truncated to {args.sequence_length} tokens.")


def write_jsonl(path, layers, lines):
    """Writes the features of lines as Google's code does."""
    with open(path, "w", encoding="utf-8") as file:
        for number, (tokens, vectors) in enumerate(lines):
            values = np.round(vectors.astype("float64"), 6).tolist()
            found = [
                {
                    "token": str(token),
                    "layers": [
                        {"index": index, "values": numbers}
                        for index, numbers in zip(layers, of_layers, strict=True)
                    ],
                }
                for token, of_layers in zip(tokens, values, strict=True)
            ]
            print(json.dumps({"linex_index": number, "features": found}), file=file)


def write_npz(path, layers, lines):
    """Writes the features of lines as arrays."""
    starts, names, shape = [0], [], None
    values = Path(f"{path}.values")
    with open(values, "wb") as file:
        for tokens, vectors in lines:
            vectors.astype("float32").tofile(file)
            starts.append(starts[-1] + len(tokens))
            names.append(tokens)
            shape = vectors.shape[1:]
    with open(path, "wb") as file:
        np.savez(
            file,
            values=np.memmap(values, "float32", "r", shape=(starts[-1], *shape)),
            tokens=np.concatenate(names),
            layers=np.array(layers, "int32"),
            starts=np.array(starts, "int64"),
        )
    values.unlink()


WRITERS = {".jsonl": write_jsonl, ".npz": write_npz}


def main(argv=None):
    args = parse_args(argv)
    import keras  # slow: after the command line is checked

    keras.config.set_dtype_policy(args.precision)
    output = Path(args.output_file)
    if output.suffix not in WRITERS:
        raise ValueError(f"--output_file must end in {' or '.join(WRITERS)}; got {output}.")
    lines = read_lines(args.input)
    settings = {"layers": args.layers, "pooling": None, "normalize": False}
    model = keras_bert.BertEmbedder.from_preset(
        args.init, sequence_length=args.sequence_length, **settings
    )
    if model.preprocessor is None:
        raise ValueError(f"{args.init} has no vocabulary, so it can't read text.")
    output.parent.mkdir(parents=True, exist_ok=True)
    unfinished = f"{output}.unfinished"
    found = tqdm(features(lines, model, args), total=len(lines), unit=" lines")
    WRITERS[output.suffix](unfinished, args.layers, found)
    os.replace(unfinished, output)
    print(f"The features of {len(lines):,} lines, layers {args.layers}, are in {output}.")


if __name__ == "__main__":
    _shared.run_recipe(main)
