r"""Writes BERT's vectors of the tokens of texts, to be the features of another model.

    python recipes/extract_features.py texts.txt --init bert/preset --output features.jsonl \
        --layers=-1,-2,-3,-4

Each line of the input is a text, or a pair of them, `A ||| B`. The ending of the output says its
format:

`.jsonl` is that of google-research/bert's extract_features.py. A line holds `linex_index`, the
    number of the input's line, from 0, and `features`, for each token its `token` and its
    `layers`: of each the `index`, and the `values`, rounded to six digits.
`.npz` is smaller and sooner written and read: with `data = numpy.load("features.npz")` and line i's
    tokens being rows `data["starts"][i]` to `data["starts"][i + 1] - 1`,
    `values` are float32 `[tokens, layers, hidden]`, `tokens` strings `[tokens]`, `layers` int32,
    `starts` int64 `[lines + 1]`.

Layers are numbered from the end: -1 is the last block, -2 that before it. From the start they are
counted as transformers does: 0 is the embeddings, 1 the first block (Google's 0). The output is
written under another name, `.unfinished` behind it, and renamed when it is whole. Texts longer than
`--sequence_length` are cut, and counted. A thousand
lines of novels, 60,000 tokens, through 6 layers of hidden 384, four of them written, take a CPU
core 30 s as .npz (370 MB) and 100 s as .jsonl (960 MB).
"""

import argparse
import json
import os
from itertools import islice
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from tqdm import tqdm

import keras_bert

READ_AHEAD = 32  # batches, whose lines are put in order of length
LENGTHS = 16  # rows are padded to a multiple of it: few shapes to compile


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("input", help="file of a text, or `A ||| B`, a line")
    add("--init", required=True, help="preset or published weights")
    add("--output", required=True, help="file to write; .jsonl or .npz")
    add("--layers", default="-1,-2,-3,-4", help="numbers of layers, written --layers=-1,-2")
    add("--sequence_length", type=int, default=128, help="longer texts are cut")
    add("--batch_size", type=int, default=32)
    add("--precision", default="float32", choices=["float32", "mixed_bfloat16"])
    return parser.parse_args(argv)


def layer_numbers(text):
    """`--layers` as a list of ints."""
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise ValueError(
            f"--layers must be numbers with commas between, as --layers=-1,-2; got {text!r}."
        ) from None


def read_lines(path, progress):
    """The texts of each line: one, or two."""
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            progress.update(len(line))
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"{path}, line {number}: not UTF-8 (byte 0x{line[error.start]:02x}). Save it "
                    "as UTF-8."
                ) from error
            first, bar, second = text.rpartition(" ||| ")
            yield (first, second) if bar else (text, "")


def prepared(lines, preprocessor):
    """`(inputs, number of texts that were cut)` of some lines; inputs are int32 `[n, S]`."""
    first, second = (preprocessor.tokenizer(list(texts)) for texts in zip(*lines, strict=True))
    sizes = first.row_lengths().numpy(), second.row_lengths().numpy()
    is_pair = sizes[1] > 0
    inputs = {}
    for rows in (np.flatnonzero(~is_pair), np.flatnonzero(is_pair)):
        pair = [tf.gather(second, rows)] if len(rows) and is_pair[rows[0]] else []
        for name, values in preprocessor.pack(tf.gather(first, rows), *pair).items():
            inputs.setdefault(name, np.zeros((len(lines), values.shape[1]), "int32"))
            inputs[name][rows] = values.numpy()
    room = preprocessor.sequence_length - 2 - is_pair
    return inputs, int((sizes[0] + sizes[1] > room).sum())


def vectors_of(model, inputs, num_layers, batch_size):
    """`[tokens, layers, H]` of each row, in order; computed in batches of like lengths."""
    lengths = inputs["padding_mask"].sum(axis=1)
    order = np.argsort(lengths, kind="stable")
    found = [None] * len(lengths)
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        longest = -(-lengths[rows[-1]] // LENGTHS) * LENGTHS
        batch = {name: values[rows, :longest] for name, values in inputs.items()}
        for row, vectors in zip(rows, model.predict_on_batch(batch), strict=True):
            found[row] = vectors[: lengths[row]].reshape(lengths[row], num_layers, -1)
    return found


def features(args, model, layers, progress):
    """`(tokens, vectors [tokens, layers, H])` of each line, in order."""
    lines = read_lines(args.input, progress)
    names, cut = np.array(model.preprocessor.tokenizer.get_vocabulary()), 0
    while some := list(islice(lines, READ_AHEAD * args.batch_size)):
        inputs, more = prepared(some, model.preprocessor)
        cut += more
        rows = zip(
            inputs["token_ids"],
            vectors_of(model, inputs, len(layers), args.batch_size),
            strict=True,
        )
        for token_ids, vectors in rows:
            yield names[token_ids[: len(vectors)]], vectors
    if cut:
        print(f"{cut:,} texts were cut to {args.sequence_length} tokens.")


def write_jsonl(path, layers, lines):
    """Writes the features of lines as Google's code does; gives their number."""
    count = 0
    with open(path, "w", encoding="utf-8") as file:
        for tokens, vectors in lines:
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
            print(json.dumps({"linex_index": count, "features": found}), file=file)
            count += 1
    return count


def write_npz(path, layers, lines):
    """Writes the features of lines as arrays; gives their number."""
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
    return len(names)


WRITERS = {".jsonl": write_jsonl, ".npz": write_npz}


def main(argv=None):
    args = parse_args(argv)
    keras.config.set_dtype_policy(args.precision)
    write = WRITERS.get(Path(args.output).suffix)
    if write is None:
        raise ValueError(f"--output must end in {' or '.join(WRITERS)}; got {args.output}.")
    if not os.path.getsize(args.input):
        raise ValueError(f"{args.input} is empty: give a file of a text a line.")
    layers = layer_numbers(args.layers)
    model = keras_bert.BertEmbedder.from_preset(
        args.init,
        sequence_length=args.sequence_length,
        pooling=None,
        normalize=False,
        layers=layers,
        combine="concat",
    )
    if model.preprocessor is None:
        raise ValueError(f"{args.init} has no vocabulary, so it reads no text.")
    Path(args.output).parent.mkdir(parents=True, exist_ok=True)
    unfinished = f"{args.output}.unfinished"
    with tqdm(total=os.path.getsize(args.input), unit="B", unit_scale=True) as progress:
        count = write(unfinished, layers, features(args, model, layers, progress))
    os.replace(unfinished, args.output)
    print(f"The features of {count:,} lines, layers {args.layers}, are in {args.output}.")


if __name__ == "__main__":
    main()
