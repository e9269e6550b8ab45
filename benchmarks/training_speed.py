r"""Compares the speed of a pre-training step with the step's own matrix products and with peers.

    python benchmarks/training_speed.py
    python benchmarks/training_speed.py --num_layers 12 --batch_size 4 --sequence_length 512
    python benchmarks/training_speed.py --way keras_bert other --other ../another_checkout

The ways are:

- `keras_bert`: `BertPretrainer` on TensorFlow, masked LM and next sentence prediction;
- `other`: the same from another checkout of this library (`--other`);
- `parts`, `remat` and `parts_remat`: the first way with `accumulation_steps=4`, with `remat`, and
  with both, to compare peaks of memory (only if named);
- `keras_bert_torch`: the first way on PyTorch (only if named);
- `keras_bert_compiled`: the same with `torch.compile`, which takes minutes at first (if named);
- `keras_hub`: `BertMaskedLM` on TensorFlow, not compiled by XLA, without next sentence prediction;
- `transformers`: `BertForPreTraining` on PyTorch with `sdpa`, whose decoder reads every position;
- `products`: only the matrix products of the first way, forward and backward, one by one.

Every step is in bfloat16 with float32 weights (`--precision`), with dropout 0.1, gradients clipped
at a norm of 1, and AdamW. Each way has its own process. The processes take turns: one step each,
`--turns` times. The table has medians over turns, so that other work on the machine slows all ways
equally. "Speed" is the seconds of the products divided by those of the step; the CPU seconds of all
threads are a second measure, which waiting for a core does not change.

Four layers of Base take about two minutes. Their decoder has a larger share of the step than that
of twelve layers.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ON_REQUEST = ("parts", "remat", "parts_remat", "keras_bert_torch", "keras_bert_compiled", "other")
WAYS = ("products", "keras_bert", *ON_REQUEST, "keras_hub", "transformers")
ON_TORCH = ("keras_bert_torch", "keras_bert_compiled", "transformers")
VOCABULARY_SIZE = 30522


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--way", nargs="+", choices=WAYS, default=[way for way in WAYS if way not in ON_REQUEST])
    add("--size", default="base")
    add("--num_layers", type=int, default=4)
    add("--sequence_length", type=int, default=128)
    add("--batch_size", type=int, default=16)
    add("--precision", default="mixed_bfloat16", choices=["float32", "mixed_bfloat16"])
    add("--turns", type=int, default=9)
    add("--other", metavar="FOLDER", help="checkout that the way `other` imports")
    add("--worker", choices=WAYS, help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if "other" in args.way and not args.other:
        parser.error("--way other needs --other FOLDER")
    return args


def main(argv=None):
    args = parse_args(argv)
    if args.worker:
        return serve(STEPS[args.worker](args))
    argv = sys.argv[1:] if argv is None else argv
    workers = {}
    for way in args.way:
        folder = args.other if way == "other" else ROOT
        backend = "torch" if way in ON_TORCH else "tensorflow"
        environment = {"KERAS_BACKEND": backend, "PYTHONPATH": str(Path(folder).resolve())}
        workers[way] = start(__file__, way, argv, environment)
    print(table(in_turns(workers, args.turns), args))


def start(script, way, argv, environment=()):
    """Starts a process that calls `serve`."""
    environment = {
        "CUDA_VISIBLE_DEVICES": "-1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        **os.environ,
        **dict(environment),
    }
    command = [sys.executable, script, *argv, "--worker", way]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)


def in_turns(workers, turns):
    """Lets each worker take a step, `turns` times.

    Returns:
        A dict from each way to its turns: `[seconds, CPU seconds, peak GiB]`.
    """
    for worker in workers.values():
        json.loads(worker.stdout.readline())  # ready
    measured = {way: [] for way in workers}
    for _ in range(turns):
        for way, worker in workers.items():
            print(file=worker.stdin, flush=True)
            measured[way].append(json.loads(worker.stdout.readline()))
    for worker in workers.values():
        worker.stdin.close()
        worker.wait()
    return measured


def serve(step):
    """Runs a step for each line of the standard input, after two that are not measured."""
    step(), step()
    print(json.dumps("ready"), flush=True)
    for _ in sys.stdin:
        seconds, cpu_seconds = time.perf_counter(), time.process_time()
        step()
        seconds, cpu_seconds = time.perf_counter() - seconds, time.process_time() - cpu_seconds
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(json.dumps([seconds, cpu_seconds, peak]), flush=True)


def head_kernel(seed, num_inputs, num_outputs):
    """Draws the initial kernel of the new head, `[inputs, outputs]`, with deviation 0.02.

    This library draws its heads from a truncated normal with deviation 0.0176, as Google does.
    With so few steps, the initial kernel alone makes a difference.
    """
    import numpy as np

    return np.random.default_rng(seed).normal(0.0, 0.02, (num_inputs, num_outputs))


class Progress:
    """The seconds and the last loss of training epochs, printed as they end."""

    def __init__(self):
        self.seconds, self.loss, self.started = [], None, time.perf_counter()

    def epoch(self, loss):
        """Records the end of an epoch."""
        now = time.perf_counter()
        self.seconds.append(now - self.started)
        self.started, self.loss = now, float(loss)
        print(f"  epoch {len(self.seconds)}: {self.seconds[-1]:.1f} s, loss {loss:.4f}", flush=True)


def decay_groups(named):
    """Splits PyTorch's parameters by AdamW's decay: none for biases and LayerNorm."""
    named, still = list(named), ("bias", "LayerNorm.weight")
    return [
        {"params": [p for n, p in named if not n.endswith(still)], "weight_decay": 0.01},
        {"params": [p for n, p in named if n.endswith(still)], "weight_decay": 0.0},
    ]


def table(measured, args):
    medians = {
        way: [statistics.median(column) for column in zip(*turns, strict=True)]
        for way, turns in measured.items()
    }
    tokens = args.batch_size * args.sequence_length
    first = next(iter(medians))
    lines = [
        f"{processor()}, {os.cpu_count()} cores; {args.size}, {args.num_layers} layers, "
        f"{args.batch_size} x {args.sequence_length}, {args.precision}, {args.turns} turns",
        "",
        f"| way | tokens/s | s a step | CPU s a step | speed, {first} = 1 | "
        "the same by CPU s | peak GiB |",
        "|---|---|---|---|---|---|---|",
    ]
    for way, (seconds, cpu_seconds, peak) in medians.items():
        speed, cpu_speed = medians[first][0] / seconds, medians[first][1] / cpu_seconds
        lines.append(
            f"| {way} | {tokens / seconds:.0f} | {seconds:.3f} | {cpu_seconds:.3f} | {speed:.3f} | "
            f"{cpu_speed:.3f} | {peak:.2f} |"
        )
    return "\n".join(lines)


def processor():
    """Returns the processor's name and whether it has bfloat16 and matrix units."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return "unknown processor"
    lines = dict(line.split(":", 1) for line in text.split("\n\n")[0].splitlines() if ":" in line)
    fields = {name.strip(): value.strip() for name, value in lines.items()}
    units = [unit for unit in ("avx512_bf16", "amx_bf16") if unit in fields.get("flags", "")]
    return f"{fields.get('model name', 'unknown processor')} ({', '.join(units) or 'no bfloat16'})"


def sizes_of(args):
    from keras_bert.sizes import SIZES

    return {**SIZES[args.size], "num_layers": args.num_layers}


def batch(args):
    """Returns token ids, padding mask, mask positions and the two kinds of labels."""
    import numpy as np

    rng = np.random.default_rng(0)
    rows, length = args.batch_size, args.sequence_length
    slots = round(0.15 * length)
    return (
        rng.integers(5, VOCABULARY_SIZE, (rows, length), "int32"),
        np.ones((rows, length), "int32"),
        np.tile(np.arange(slots, dtype="int32"), (rows, 1)),
        rng.integers(5, VOCABULARY_SIZE, (rows, slots), "int32"),
        rng.integers(0, 2, rows, "int32"),
    )


def products(args):
    import tensorflow as tf

    sizes, dtype = sizes_of(args), "float32" if args.precision == "float32" else "bfloat16"
    width, inner, heads = (sizes[n] for n in ("hidden_dim", "intermediate_dim", "num_heads"))
    rows, length, slots = args.batch_size, args.sequence_length, round(0.15 * args.sequence_length)
    tokens, head_rows = (rows * length,), (rows, heads)
    layer = [  # (leading shape, m, k, n) of the forward product [m, k] x [k, n]
        ((), *tokens, width, 3 * width),
        (head_rows, length, width // heads, length),
        (head_rows, length, length, width // heads),
        ((), *tokens, width, width),
        ((), *tokens, width, inner),
        ((), *tokens, inner, width),
    ]
    head = [((), rows * slots, width, width), ((), rows * slots, width, VOCABULARY_SIZE)]

    def operands(leading, m, k, n):
        shapes = ((m, k), (k, n), (m, n))
        return [tf.cast(tf.random.normal((*leading, *shape)), dtype) for shape in shapes]

    layer, head = ([operands(*shape) for shape in shapes] for shapes in (layer, head))

    def step():
        for x, kernel, gradient in layer * args.num_layers + head:
            tf.matmul(x, kernel)
            tf.matmul(gradient, kernel, transpose_b=True)
            tf.matmul(x, gradient, transpose_a=True)
        tf.reduce_sum(tf.matmul(x[:1], kernel)).numpy()  # waits

    return step


def keras_bert_step(args):
    import keras

    import keras_bert

    keras.config.set_dtype_policy(args.precision)
    remat = "remat" in args.worker
    backbone = keras_bert.BertBackbone(VOCABULARY_SIZE, remat=remat, **sizes_of(args))
    model = keras_bert.BertPretrainer(backbone)
    jit_compile = args.worker == "keras_bert_compiled"
    model.compile(**model.default_compile_args(), jit_compile=jit_compile)
    model.accumulation_steps = 4 if "parts" in args.worker else 1
    token_ids, padding_mask, positions, tokens, next_sentence = batch(args)
    x = {"token_ids": token_ids, "segment_ids": 0 * token_ids, "padding_mask": padding_mask}
    x["mask_positions"] = positions
    y = {"masked_lm": tokens, "next_sentence": next_sentence}
    return lambda: model.train_on_batch(x, y)


def keras_hub_step(args):
    import keras
    import keras_hub

    keras.config.set_dtype_policy(args.precision)
    sizes = sizes_of(args)
    backbone = keras_hub.models.BertBackbone(VOCABULARY_SIZE, max_sequence_length=512, **sizes)
    model = keras_hub.models.BertMaskedLM(backbone)
    model.compile(
        optimizer=keras.optimizers.AdamW(1e-4, weight_decay=0.01, global_clipnorm=1.0),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=False,
    )
    token_ids, padding_mask, positions, tokens, _ = batch(args)
    x = {"token_ids": token_ids, "segment_ids": 0 * token_ids, "padding_mask": padding_mask}
    x["mask_positions"] = positions
    return lambda: model.train_on_batch(x, tokens)


def transformers_step(args):
    import torch
    import transformers

    sizes = sizes_of(args)
    config = transformers.BertConfig(
        vocab_size=VOCABULARY_SIZE,
        hidden_size=sizes["hidden_dim"],
        num_hidden_layers=sizes["num_layers"],
        num_attention_heads=sizes["num_heads"],
        intermediate_size=sizes["intermediate_dim"],
        attn_implementation="sdpa",
    )
    model = transformers.BertForPreTraining(config).train()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, weight_decay=0.01, fused=True)
    token_ids, padding_mask, positions, tokens, next_sentence = map(torch.tensor, batch(args))
    labels = torch.full(token_ids.shape, -100)
    labels.scatter_(1, positions.long(), tokens.long())
    x = {"input_ids": token_ids, "attention_mask": padding_mask, "labels": labels}
    x["next_sentence_label"] = next_sentence.long()

    def step():
        with torch.autocast("cpu", torch.bfloat16, enabled=args.precision != "float32"):
            loss = model(**x).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return step


STEPS = {
    "products": products,
    **dict.fromkeys(("keras_bert", *ON_REQUEST), keras_bert_step),
    "keras_hub": keras_hub_step,
    "transformers": transformers_step,
}


if __name__ == "__main__":
    main()
