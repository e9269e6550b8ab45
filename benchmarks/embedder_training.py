r"""Compares training of a sentence embedder with sentence-transformers.

    python benchmarks/embedder_training.py --data data --model all-MiniLM-L6-v2
    python benchmarks/embedder_training.py --data data --model all-MiniLM-L6-v2 --dropout 0 \
        --seeds 1 --steps 50
    python benchmarks/embedder_training.py --data data --model all-MiniLM-L6-v2 --parts 1 16 \
        --batch_size 512 --steps 2

Both libraries train the same weights on the same batches of sentence pairs, with the same loss,
AdamW, warm-up and decay. `--loss pairs` takes pairs in which the first sentence entails the second
and ranks the second among those of the batch (`InBatchNegatives`, `MultipleNegativesRankingLoss`).
`--loss scores` takes all pairs and ranks them by a score: entailment 1, neutral 0.5, contradiction
0 (`CoSENT`, `CoSENTLoss`). Afterwards, Spearman's correlation of the cosines of unseen pairs with
these scores is computed. With `--dropout 0` the losses of all steps should be equal.

Data: `nli/train.tsv` and `nli/test.tsv`. sentence-transformers is trained in a plain PyTorch loop
with its own modules and losses. The libraries take turns, once for each seed; a training's speed
is the examples per second of its steps after the first five, tokenization included.

`--parts` measures memory and equality instead. In-batch negatives compare every text with every
other of the batch, so a batch cannot be divided like others: the texts are embedded part by part
without gradients, then the loss is computed over all, then the texts are embedded again for the
gradients. Each number of parts takes the same steps with SGD, without dropout, in its own process.
"""

import argparse
import csv
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from training_speed import decay_groups

GOLD = {"entailment": 1.0, "neutral": 0.5, "contradiction": 0.0}
WARM = 5  # steps that don't count in speeds


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with nli/")
    parser.add_argument("--model", required=True, help="folder of sentence-transformers")
    parser.add_argument("--loss", choices=["pairs", "scores"], default="pairs")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--learning_rate", type=float, default=2e-5)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--parts", type=int, nargs="+", help="parts of a batch, such as 1 16")
    parser.add_argument("--weights", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--libraries", nargs="+", default=["keras_bert", "sentence_transformers"])
    return parser.parse_args(argv)


def read_pairs(path, quoting=csv.QUOTE_MINIMAL):
    """Returns `(texts, others, scores)`."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=quoting))
    return (
        [row["sentence1"] for row in rows],
        [row["sentence2"] for row in rows],
        np.array([GOLD[row["gold_label"]] for row in rows], "float32"),
    )


def batches(args, seed):
    """Returns the batches of a run: `(texts, others, scores or None)` each."""
    texts, others, scores = read_pairs(args.data / "nli" / "train.tsv")
    rows = np.flatnonzero(scores == 1.0) if args.loss == "pairs" else np.arange(len(scores))
    if args.loss == "pairs":  # each text once, which sentence-transformers' loss needs
        first = {texts[row]: row for row in reversed(rows)}
        rows = np.array(sorted({others[row]: row for row in first.values()}.values()))
    rng = np.random.default_rng(seed)
    order = np.concatenate([rng.permutation(rows) for _ in range(1 + args.steps)])
    found = []
    for step in range(args.steps):
        start = step * args.batch_size
        chosen = order[start : start + args.batch_size]
        if args.loss == "pairs":  # across the end of an epoch, a text may occur twice
            chosen = np.unique(chosen)
        found.append(
            (
                [texts[row] for row in chosen],
                [others[row] for row in chosen],
                scores[chosen] if args.loss == "scores" else None,
            )
        )
    return found


def train_keras_bert(args, seed, data):
    """Returns `(losses, examples per second, a function that embeds)`."""
    import keras

    import keras_bert

    keras.utils.set_random_seed(seed)
    settings = {"dropout": args.dropout, "attention_dropout": args.dropout}
    model = keras_bert.BertEmbedder(
        keras_bert.BertBackbone.from_preset(args.model, **settings),
        preprocessor=keras_bert.BertEmbedderPreprocessor.from_preset(args.model),
    )
    schedule = keras_bert.WarmupLinearDecay(
        args.learning_rate, args.steps // 10, args.steps, continuous=True
    )
    optimizer = keras_bert.AdamW(schedule, global_clipnorm=1.0)
    model.compile(optimizer=optimizer)
    losses, seconds, examples = [], [], []
    began = time.perf_counter()
    for first, second, labels in data:
        batching = keras_bert.Batching(len(first))
        [batch] = model.batches((first, second), labels, batching=batching)
        losses.append(float(model.train_on_batch(*batch)))
        model.reset_metrics()
        seconds.append(time.perf_counter() - began)
        examples.append(len(batch[1]))
        began = time.perf_counter()
    speed = sum(examples[WARM:]) / sum(seconds[WARM:])
    return losses, speed, lambda texts: model.predict(texts, verbose=0)


def train_sentence_transformers(args, seed, data):
    """Returns `(losses, examples per second, a function that embeds)`.

    Batches are `(texts, ..., scores)`, with as many columns of texts as an example has, and None as
    scores of pairs.
    """
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import losses as losses_of
    from torch import nn

    torch.manual_seed(seed)
    model = SentenceTransformer(str(args.model), device="cpu")
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = args.dropout
    for module in model.modules():  # attention's dropout is a number
        if hasattr(module, "dropout_prob"):
            module.dropout_prob = args.dropout
    kind = "MultipleNegativesRankingLoss" if args.loss == "pairs" else "CoSENTLoss"
    loss_of = getattr(losses_of, kind)(model)
    named = [(n, p) for n, p in model.named_parameters() if "pooler" not in n]
    optimizer = torch.optim.AdamW(decay_groups(named), lr=args.learning_rate, eps=1e-6, fused=True)
    warmup, total = len(data) // 10, len(data)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: (
            (step + 1) / warmup if step < warmup else max(0, (total - step) / (total - warmup))
        ),
    )
    model.train()
    losses, seconds, examples = [], [], []
    for *columns, scores in data:
        began = time.perf_counter()
        features = [model.preprocess(column) for column in columns]
        labels = None if scores is None else torch.from_numpy(scores)
        loss = loss_of(features, labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_([p for _, p in named], 1.0)
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        seconds.append(time.perf_counter() - began)
        examples.append(len(columns[0]))
    model.eval()
    speed = sum(examples[WARM:]) / sum(seconds[WARM:])
    return losses, speed, lambda texts: model.encode(texts, show_progress_bar=False)


def spearman(embed, args):
    """Embeds the test pairs, and ranks them by their cosines.

    Returns:
        `(Spearman's correlation, texts embedded per second)`.
    """
    from keras_bert.metrics import regression_scores

    texts, others, scores = read_pairs(args.data / "nli" / "test.tsv")
    embed(texts)  # warm
    began = time.perf_counter()
    embed(texts + others)
    speed = 2 * len(texts) / (time.perf_counter() - began)
    first, second = (
        vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
        for vectors in (np.asarray(embed(texts)), np.asarray(embed(others)))
    )
    return regression_scores(scores, np.sum(first * second, axis=-1))["spearman"], speed


def train_in_parts(args, parts):
    """Trains; returns the losses and the peak GiB, and saves all weights as one vector."""
    import keras

    import keras_bert

    keras.utils.set_random_seed(1)
    path = args.data / "nli" / "train.tsv"
    columns = read_pairs(path, csv.QUOTE_NONE)[:2]
    model = keras_bert.BertEmbedder(
        keras_bert.BertBackbone.from_preset(args.model, dropout=0.0, attention_dropout=0.0),
        preprocessor=keras_bert.BertEmbedderPreprocessor.from_preset(args.model),
    )
    model.compile(optimizer=keras.optimizers.SGD(0.1))
    sums = []  # over steps: Keras reports means since the epoch began
    losses = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda step, logs: sums.append(logs["loss"] * (step + 1))
    )
    model.fit(
        tuple(column[: args.batch_size * args.steps] for column in columns),
        batch_size=args.batch_size,
        shuffle=False,
        accumulation_steps=parts,
        callbacks=[losses],
        verbose=0,
    )
    np.save(args.weights, np.concatenate([np.ravel(weights) for weights in model.get_weights()]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return np.diff(sums, prepend=0.0).tolist(), peak


def compare_parts(args, argv):
    first = None
    with tempfile.TemporaryDirectory() as folder:
        for parts in args.parts:
            path = Path(folder, f"{parts}.npy")
            command = [sys.executable, __file__, *argv, "--parts", str(parts), "--weights", path]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            losses, peak = json.loads(done.stdout.splitlines()[-1])
            weights = np.load(path)
            first = weights if first is None else first
            print(
                f"{parts} parts of {args.batch_size // parts}: {peak:.2f} GiB at most, losses "
                f"{', '.join(f'{loss:.6f}' for loss in losses)}; weights, of at most "
                f"{np.abs(weights).max():.1f}, differ by {np.abs(weights - first).max():.1e}",
                flush=True,
            )


def main(argv=None):
    args = parse_args(argv)
    if args.weights:
        print(json.dumps(train_in_parts(args, *args.parts)))
        return
    if args.parts:
        return compare_parts(args, sys.argv[1:] if argv is None else argv)
    trainers = {
        "keras_bert": train_keras_bert,
        "sentence_transformers": train_sentence_transformers,
    }
    found = {name: [] for name in args.libraries}
    for seed in range(args.seeds):
        for name in args.libraries:
            losses, speed, embed = trainers[name](args, seed, batches(args, seed))
            score, embedded = spearman(embed, args)
            found[name].append((losses, speed, score))
            print(
                f"seed {seed} {name}: loss {losses[0]:.4f} to {losses[-1]:.4f}, "
                f"{speed:.1f} examples/s, Spearman {score:.4f}, embeds {embedded:.1f} texts/s",
                flush=True,
            )
    for name, runs in found.items():
        scores = [score for *_, score in runs]
        spread = statistics.stdev(scores) if len(scores) > 1 else 0.0
        speed = statistics.median(speed for _, speed, _ in runs)
        print(f"{name}: Spearman {np.mean(scores):.4f} +- {spread:.4f}, {speed:.1f} examples/s")
    if len(found) == 2:
        a, b = (np.array([losses for losses, *_ in runs]) for runs in found.values())
        print(f"largest difference of a step's loss: {np.abs(a - b).max():.2e}")


if __name__ == "__main__":
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    main()
