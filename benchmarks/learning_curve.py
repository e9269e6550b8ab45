"""Measures how fast a small BERT learns, for comparison with another library.

    python benchmarks/learning_curve.py --train train.npz --heldout heldout.npz --output curve.json
    python benchmarks/learning_curve.py --corpus corpus --heldout heldout.npz --output curve.json

Trains on instances from Google's `create_pretraining_data.py`, in order, or on a corpus through
`pretraining_dataset`, and evaluates on held-out instances from Google's script.

The arrays: token_ids and segment_ids [N, S], length [N], mask_positions and mask_ids [N, P],
num_masks [N], next_sentence_label [N] (1 = random). The model has 4 layers and hidden 256, unless
`--init` names weights to start from. Batches of 32; AdamW with a continuous warm-up and linear
decay. About 25 minutes on two CPU cores. Each point of the curve has the tokens trained on so far,
without padding, and the seconds without evaluation.
"""

import argparse
import json
import time

import keras
import numpy as np
import tensorflow as tf

import keras_bert
from keras_bert.sizes import mini


def parse_args(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--train", help=".npz of instances to train on, in order")
    source.add_argument("--corpus", help="folder of a corpus to train on")
    parser.add_argument("--heldout", required=True, help=".npz of instances to evaluate on")
    parser.add_argument("--output", required=True, help="JSON file for the curve")
    parser.add_argument("--preset", help="folder to save the model to, with --corpus")
    parser.add_argument("--init", help="weights to start from; any source of from_preset")
    parser.add_argument("--vocabulary_size", type=int, default=30522)
    parser.add_argument("--batch_size", type=int, default=32, help="rows")
    parser.add_argument("--packed", action="store_true", help="pack sequences, with --corpus")
    parser.add_argument("--steps", type=int, default=1700)
    parser.add_argument("--warmup_steps", type=int, default=170)
    parser.add_argument("--learning_rate", type=float, default=5e-4)
    parser.add_argument("--evaluate_every", type=int, default=425)
    parser.add_argument("--heldout_instances", type=int, default=2048)
    parser.add_argument("--precision", default="mixed_bfloat16")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(argv)


def instances(path, limit=None):
    """Reads `(x, y, sample_weight)` for `BertPretrainer.fit` from an .npz of instances."""
    with np.load(path) as arrays:
        a = {name: arrays[name][:limit].astype("int32") for name in arrays.files}
    length, slots = a["token_ids"].shape[1], a["mask_ids"].shape[1]
    x = {
        "token_ids": a["token_ids"],
        "segment_ids": a["segment_ids"],
        "padding_mask": (np.arange(length) < a["length"][:, None]).astype("int32"),
        "mask_positions": a["mask_positions"],
    }
    y = {"masked_lm": a["mask_ids"], "next_sentence": a["next_sentence_label"]}
    sample_weight = {
        "masked_lm": (np.arange(slots) < a["num_masks"][:, None]).astype("float32"),
        "next_sentence": np.ones(len(a["length"]), "float32"),
    }
    return x, y, sample_weight


class Curve(keras.callbacks.Callback):
    """Callback that evaluates every `every` steps and writes the scores.

    `num_tokens` has the tokens of each step, without padding.
    """

    def __init__(self, heldout, num_tokens, every, output):
        super().__init__()
        self.heldout, self.every, self.output = heldout, every, output
        self.num_tokens = np.cumsum(num_tokens)
        self.points, self.seconds, self.started = [], 0.0, time.time()

    def on_train_batch_end(self, batch, logs=None):
        step = batch + 1
        if step % 50 == 0:
            rates = {k: round(float(v), 4) for k, v in logs.items()}
            seconds = self.seconds + time.time() - self.started
            print(step, f"{seconds:.0f} s", rates, flush=True)
        if step % self.every == 0:
            self.seconds += time.time() - self.started
            x, y, sample_weight = self.heldout
            trained = {
                "step": step,
                "tokens": int(self.num_tokens[batch]),
                "s": round(self.seconds),
            }
            scores = {**trained, **heldout_scores(self.model, x, y, sample_weight)}
            self.points.append(scores)
            print(json.dumps(scores), flush=True)
            with open(self.output, "w") as file:
                json.dump(self.points, file, indent=1)
            self.started = time.time()


def count_tokens(x):
    """Counts the tokens of a batch without padding."""
    return np.count_nonzero(x["sequence_ids" if "sequence_ids" in x else "padding_mask"])


def heldout_scores(model, x, y, sample_weight, batch_size=64):
    """Computes loss and accuracy of both tasks over all held-out predictions."""
    totals = np.zeros(5)
    for start in range(0, len(y["next_sentence"]), batch_size):
        part = slice(start, start + batch_size)
        batch = {name: value[part] for name, value in x.items()}
        logits = {k: np.asarray(v) for k, v in _outputs(model)(batch).items()}
        words, weights = y["masked_lm"][part], sample_weight["masked_lm"][part]
        pairs = y["next_sentence"][part]
        word_losses = _losses(logits["masked_lm"], words)
        totals += [
            (weights * word_losses).sum(),
            (weights * (logits["masked_lm"].argmax(-1) == words)).sum(),
            weights.sum(),
            _losses(logits["next_sentence"], pairs).sum(),
            (logits["next_sentence"].argmax(-1) == pairs).sum(),
        ]
    count = len(y["next_sentence"])
    return {
        "mlm_loss": round(totals[0] / totals[2], 4),
        "mlm_accuracy": round(totals[1] / totals[2], 4),
        "nsp_loss": round(totals[3] / count, 4),
        "nsp_accuracy": round(totals[4] / count, 4),
    }


def _outputs(model):
    if not hasattr(model, "_curve_function"):
        model._curve_function = tf.function(lambda batch: model(batch, training=False))
    return model._curve_function


def _losses(logits, labels):
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits).numpy()


def main(argv=None):
    args = parse_args(argv)
    keras.utils.set_random_seed(args.seed)
    keras.config.set_dtype_policy(args.precision)
    if args.corpus:
        data = keras_bert.pretraining_dataset(
            args.corpus, batch_size=args.batch_size, seed=args.seed, packed=args.packed
        ).take(args.steps)
    else:
        arrays = instances(args.train, args.steps * args.batch_size)
        data = tf.data.Dataset.from_tensor_slices(arrays).batch(args.batch_size).prefetch(2)
    if args.init:
        model = keras_bert.BertPretrainer.from_preset(args.init)
    else:
        model = keras_bert.BertPretrainer(keras_bert.BertBackbone(args.vocabulary_size, **mini))
    rate = keras_bert.WarmupLinearDecay(
        args.learning_rate, args.warmup_steps, args.steps, continuous=True
    )
    model.compile(**{**model.default_compile_args(), "optimizer": keras_bert.AdamW(rate)})
    heldout = instances(args.heldout, args.heldout_instances)
    num_tokens = [count_tokens(x) for x, *_ in data]  # the data is the same in each pass
    curve = Curve(heldout, num_tokens, args.evaluate_every, args.output)
    model.fit(data, steps_per_epoch=args.steps, callbacks=[curve], verbose=0)
    if args.preset:
        corpus = keras_bert.Corpus(args.corpus)
        tokenizer = keras_bert.BertTokenizer(corpus.vocabulary_path, corpus.lowercase)
        model.preprocessor = keras_bert.BertPreprocessor(tokenizer)
        model.save_to_preset(args.preset)


if __name__ == "__main__":
    main()
