r"""Compares the speed of fine-tuning on texts of natural lengths with peers.

    python benchmarks/finetuning_speed.py --data data --model all-MiniLM-L6-v2
    python benchmarks/finetuning_speed.py --data data --model all-MiniLM-L6-v2 --texts reviews

A turn is an epoch of classification, from raw strings to updated weights. The ways are:

- `keras_bert`: `BertClassifier.fit` with `bucket_lengths`;
- `transformers`: PyTorch, each batch padded to its longest row, rows of similar lengths together as
  `group_by_length=True` of its Trainer does, tokenized at once by the fast tokenizer;
- `keras_hub`: `BertClassifier.fit` on TensorFlow, whose preprocessor pads to the full length, not
  compiled by XLA. It has the sizes of `--model` and random weights.

All use AdamW, dropout 0.1, gradients clipped at a norm of 1, and about the same number of examples
for an update. `pairs` are NLI pairs in rows of at most 128 tokens, `reviews` are IMDb reviews in at
most 512. Each way has its own process. The processes take turns, so that other work on the
machine slows all ways equally; the table has medians.
"""

import argparse
import csv
import os
import statistics
import sys
from pathlib import Path

from training_speed import decay_groups, in_turns, processor, serve, start

WAYS = ("keras_bert", "transformers", "keras_hub")
SOURCES = {  # file, columns, label, row length, bucket lengths
    "pairs": ("nli", ("sentence1", "sentence2"), "gold_label", 128, (16, 24, 32, 48, 64, 128)),
    "reviews": ("sentiment", ("Text",), "Sentiment", 512, (128, 192, 256, 384, 512)),
}


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, help="folder with nli/ and sentiment/")
    add("--model", required=True, help="folder of Hugging Face's")
    add("--texts", choices=SOURCES, default="pairs")
    add("--examples", type=int, default=512)
    add("--batch_size", type=int, default=32, help="examples")
    add("--precision", default="float32", choices=["float32", "bfloat16"], help="of the products")
    add("--turns", type=int, default=5)
    add("--way", nargs="+", choices=WAYS, default=WAYS)
    add("--worker", choices=WAYS, help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def main(argv=None):
    args = parse_args(argv)
    if args.worker:
        make = {"transformers": transformers_epoch, "keras_hub": keras_hub_epoch}
        return serve(make.get(args.worker, keras_bert_epoch)(args))
    argv = sys.argv[1:] if argv is None else argv
    workers = {way: start(__file__, way, argv) for way in args.way}
    measured = in_turns(workers, args.turns)
    print(
        f"{processor()}, {os.cpu_count()} cores; {args.texts}, {args.examples} examples in batches "
        f"of {args.batch_size}, {args.precision}, {args.turns} turns\n"
    )
    print("| way | examples/s | CPU s an epoch | peak GiB |\n|---|---|---|---|")
    for way, turns in measured.items():
        seconds, cpu_seconds, peak = map(statistics.median, zip(*turns, strict=True))
        print(f"| {way} | {args.examples / seconds:.1f} | {cpu_seconds:.2f} | {peak:.2f} |")


def read_examples(args):
    """Returns columns of texts, and classes as ints."""
    task, columns, label, *_ = SOURCES[args.texts]
    with open(args.data / task / "train.tsv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[: args.examples]
    names = sorted({row[label] for row in rows})
    texts = tuple([row[column] for row in rows] for column in columns)
    return texts, [names.index(row[label]) for row in rows], len(names)


def keras_bert_epoch(args):
    import keras

    import keras_bert

    if args.precision == "bfloat16":
        keras.config.set_dtype_policy("mixed_bfloat16")
    texts, labels, num_classes = read_examples(args)
    *_, length, buckets = SOURCES[args.texts]
    model = keras_bert.BertClassifier.from_preset(
        args.model, num_classes=num_classes, sequence_length=length
    )
    model.compile(**{**model.default_compile_args(), "optimizer": keras_bert.AdamW(5e-5)})
    x = texts if len(texts) > 1 else texts[0]
    batching = keras_bert.Batching(args.batch_size, bucket_lengths=buckets)
    return lambda: model.fit(x, labels, batching=batching, shuffle=True, verbose=0)


def transformers_epoch(args):
    import torch
    import transformers
    from transformers.trainer_pt_utils import LengthGroupedSampler

    texts, labels, num_classes = read_examples(args)
    length = SOURCES[args.texts][3]
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    tokenizer = transformers.AutoTokenizer.from_pretrained(args.model)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(
        args.model, num_labels=num_classes
    ).train()
    groups = decay_groups(model.named_parameters())
    optimizer = torch.optim.AdamW(groups, lr=5e-5, eps=1e-6, fused=True)
    pad = transformers.DataCollatorWithPadding(tokenizer)

    def epoch():
        encoded = tokenizer(*texts, truncation=True, max_length=length)
        rows = [
            {**{name: values[number] for name, values in encoded.items()}, "labels": label}
            for number, label in enumerate(labels)
        ]
        sampler = LengthGroupedSampler(args.batch_size, lengths=[len(r["input_ids"]) for r in rows])
        for batch in torch.utils.data.DataLoader(
            rows, args.batch_size, False, sampler, collate_fn=pad
        ):
            with torch.autocast("cpu", torch.bfloat16, enabled=args.precision == "bfloat16"):
                loss = model(**batch).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()

    return epoch


def keras_hub_epoch(args):
    import keras
    import keras_hub
    import tensorflow as tf

    from keras_bert import BertBackbone

    if args.precision == "bfloat16":
        keras.config.set_dtype_policy("mixed_bfloat16")
    texts, labels, num_classes = read_examples(args)
    length = SOURCES[args.texts][3]
    sizes = BertBackbone.from_preset(args.model)
    tokenizer = keras_hub.models.BertTokenizer(
        vocabulary=str(Path(args.model) / "vocab.txt"), lowercase=True
    )
    backbone = keras_hub.models.BertBackbone(
        vocabulary_size=tokenizer.vocabulary_size(),
        **{n: getattr(sizes, n) for n in ("num_layers", "num_heads", "hidden_dim")},
        intermediate_dim=sizes.intermediate_dim,
        max_sequence_length=512,
    )
    model = keras_hub.models.BertTextClassifier(
        backbone,
        num_classes,
        preprocessor=keras_hub.models.BertTextClassifierPreprocessor(tokenizer, length),
    )
    model.compile(
        optimizer=keras.optimizers.AdamW(5e-5, global_clipnorm=1.0),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        jit_compile=False,
    )
    x = texts if len(texts) > 1 else texts[0]
    data = tf.data.Dataset.from_tensor_slices((x, labels)).shuffle(len(labels))
    return lambda: model.fit(data.batch(args.batch_size), verbose=0)


if __name__ == "__main__":
    main()
