"""Compares ModernBERT's encoder with that of transformers, on rows of 128 to 8,192 tokens.

    python benchmarks/long_rows.py
    KERAS_BACKEND=jax python benchmarks/long_rows.py --lengths 128 512

Both have random weights of Ettin 17M's size, in float32, and return the vectors of full rows' first
tokens; `keras_bert` calls `predict`, and `transformers` takes PyTorch's fused attention. Each
measurement is a process of its own, whose peak memory counts libraries and weights, too. The
libraries take turns; each figure is the median.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time

ROWS = {128: 8, 512: 4, 2048: 1, 8192: 1}
SIZES = {"num_layers": 7, "num_heads": 4, "hidden_dim": 256, "intermediate_dim": 384}
VOCABULARY_SIZE = 50368


def keras_bert_encoder():
    import keras_bert

    backbone = keras_bert.ModernBertBackbone(VOCABULARY_SIZE, **SIZES)
    model = keras_bert.BertEmbedder(backbone, pooling="cls", normalize=False)

    def encode(token_ids, padding_mask):
        inputs = {"token_ids": token_ids, "padding_mask": padding_mask}
        return model.predict(inputs, batch_size=len(token_ids), verbose=0)

    return encode


def transformers_encoder():
    import torch
    import transformers

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    config = transformers.ModernBertConfig(
        vocab_size=VOCABULARY_SIZE,
        num_hidden_layers=SIZES["num_layers"],
        num_attention_heads=SIZES["num_heads"],
        hidden_size=SIZES["hidden_dim"],
        intermediate_size=SIZES["intermediate_dim"],
    )
    model = transformers.ModernBertModel._from_config(config, attn_implementation="sdpa").eval()

    @torch.inference_mode()
    def encode(token_ids, padding_mask):
        ids, mask = torch.as_tensor(token_ids).long(), torch.as_tensor(padding_mask)
        return model(input_ids=ids, attention_mask=mask).last_hidden_state[:, 0].numpy()

    return encode


ENCODERS = {"keras_bert": keras_bert_encoder, "transformers": transformers_encoder}


def measure(library, length, rows):
    """Prints the median seconds of a batch and the peak memory of this process, in MB."""
    import numpy as np

    encode = ENCODERS[library]()
    ids = np.random.default_rng(0).integers(5, VOCABULARY_SIZE, (rows, length)).astype("int32")
    seconds = []
    for _ in range(2 + max(3, 40_000 // (rows * length))):
        started = time.perf_counter()
        encode(ids, np.ones_like(ids))
        seconds.append(time.perf_counter() - started)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(json.dumps([statistics.median(seconds[2:]), peak]))


def measured(library, length):
    command = [sys.executable, __file__, "--measure", library, "--lengths", str(length)]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(output.splitlines()[-1])


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument(
        "--lengths", type=int, nargs="+", default=list(ROWS), choices=ROWS, help="tokens of a row"
    )
    parser.add_argument("--turns", type=int, default=3, help="of each library")
    parser.add_argument("--measure", choices=ENCODERS, help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def main():
    args = parse_args()
    if args.measure:
        [length] = args.lengths
        return measure(args.measure, length, ROWS[length])
    print("| rows | keras_bert, texts/s | transformers | ratio | peak, MB | transformers |")
    print("|---|---|---|---|---|---|")
    for length in args.lengths:
        found = {library: [] for library in ENCODERS}
        for _ in range(args.turns):
            for library, values in found.items():
                values.append(measured(library, length))
        figures = ([*map(statistics.median, zip(*v, strict=True))] for v in found.values())
        (own, own_peak), (their, their_peak) = figures
        rows = ROWS[length]
        print(
            f"| {rows} x {length:,} | {rows / own:.2f} | {rows / their:.2f} | {their / own:.2f} | "
            f"{own_peak:,.0f} | {their_peak:,.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    main()
