"""Fine-tunes BERT to sort sentences, or pairs of them, from TSV or CSV files.

    python recipes/finetune_classifier.py --init bert/preset --train train.tsv --dev dev.tsv \\
        --text_column sentence1 --pair_column sentence2 --label_column label --output mrpc

The paper tries batches of 16 and 32, learning rates of 5e-5, 3e-5 and 2e-5, and 2 to 4 epochs, and
keeps what is best on the development set. The rate warms up over a tenth of the steps and falls
linearly to 0. 1,700 reviews of 128 tokens take a small BERT (4 layers, hidden 256) about a minute
an epoch on two CPU cores.

After each epoch the model is scored on the development set; the best epoch's is kept in
`OUTPUT/best`, its predictions beside it. Started again, it goes on behind the last epoch that was
finished. Watch it with `tensorboard --logdir OUTPUT/logs`.
"""

import argparse
import json
import math
from pathlib import Path

import keras
import numpy as np

import keras_bert


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--init", required=True, help="preset to start from")
    add("--from_scratch", action="store_true", help="random weights in the preset's shape instead")
    add("--train", required=True, help="TSV or CSV file with a header")
    add("--dev", required=True, help="the same, to choose the best epoch by")
    add("--test", help="the same, to predict when all is done")
    add("--text_column", default="text", help="name of the column of texts")
    add("--pair_column", help="name of the column of second texts")
    add("--label_column", default="label", help="name of the column of labels")
    add("--regression", action="store_true", help="labels are numbers to predict, not classes")
    add("--output", required=True, help="folder for checkpoints, the best model and predictions")
    add("--sequence_length", type=int, default=128)
    add("--batch_size", type=int, default=32, help="16 or 32")
    add("--learning_rate", type=float, default=2e-5, help="its peak: 5e-5, 3e-5 or 2e-5")
    add("--epochs", type=int, default=3, help="2 to 4")
    add("--warmup_proportion", type=float, default=0.1)
    add("--select", help="score by which an epoch is best  [accuracy; spearman of regressions]")
    add("--strategy", default="auto", choices=["auto", "tpu", "mirrored", "cpu"])
    add("--precision", default="float32", choices=["float32", "mixed_bfloat16"])
    add("--seed", type=int, default=0)
    return parser.parse_args(argv)


class Examples:
    """A file's texts and labels, as the arguments name them."""

    def __init__(self, path, args, label_names):
        table = keras_bert.read_table(path)
        self.texts = (table[args.text_column],)
        if args.pair_column:
            self.texts += (table[args.pair_column],)
        if args.regression:
            self.label_names, self.labels = None, table.scores(args.label_column)
        else:
            self.label_names = label_names or table.class_names(args.label_column)
            self.labels = table.class_numbers(args.label_column, self.label_names)


def make_model(args, label_names, steps):
    """The classifier, compiled for so many steps."""
    pretrained = keras_bert.BertPretrainer.from_preset(args.init)
    backbone, preprocessor = pretrained.backbone, pretrained.preprocessor
    if args.from_scratch:
        backbone = keras_bert.BertBackbone.from_config(backbone.get_config())
    model = keras_bert.BertClassifier(
        backbone,
        num_classes=1 if args.regression else len(label_names),
        preprocessor=keras_bert.BertPreprocessor(preprocessor.tokenizer, args.sequence_length),
        label_names=label_names,
    )
    rate = keras_bert.WarmupLinearDecay(
        args.learning_rate, int(args.warmup_proportion * steps), steps, continuous=True
    )
    model.compile(**{**model.default_compile_args(), "optimizer": keras_bert.AdamW(rate)})
    return model


def predict(model, examples, args):
    """Outputs `[n, C]`: probabilities of the classes, or numbers."""
    logits = model.predict(batches(model, examples.texts, None, args), verbose=0)
    return logits if args.regression else keras.ops.convert_to_numpy(keras.ops.softmax(logits))


def batches(model, texts, labels, args, seed=None):
    """Batches of prepared inputs, shuffled if there is a seed."""
    return keras_bert.text_dataset(
        texts,
        labels,
        preprocessor=model.preprocessor,
        batch_size=args.batch_size,
        shuffle=seed is not None,
        seed=seed,
        trim=args.strategy != "tpu",
    )


def write_predictions(path, outputs, label_names):
    """A TSV file of a row for each example: its number, the answer, and the probabilities."""
    with open(path, "w", encoding="utf-8") as file:
        header = ["score"] if label_names is None else ["label", *label_names]
        print("index", *header, sep="\t", file=file)
        for index, row in enumerate(outputs):
            answer = [] if label_names is None else [label_names[row.argmax()]]
            print(index, *answer, *(f"{value:.6g}" for value in row), sep="\t", file=file)


def main(argv=None):
    args = parse_args(argv)
    keras.utils.set_random_seed(args.seed)
    keras.config.set_dtype_policy(args.precision)
    output = Path(args.output)
    output.mkdir(parents=True, exist_ok=True)
    train = Examples(args.train, args, None)
    dev = Examples(args.dev, args, train.label_names)
    select = args.select or ("spearman" if args.regression else "accuracy")
    steps_per_epoch = math.ceil(len(train.labels) / args.batch_size)
    checkpoint = keras_bert.TrainingCheckpoint(output / "checkpoints")
    with keras_bert.get_strategy(args.strategy).scope():
        model = make_model(args, train.label_names, steps_per_epoch * args.epochs)
        done = checkpoint.restore(model) // steps_per_epoch
    print(f"{len(train.labels):,} examples, {len(dev.labels):,} to choose by; epochs {done} done.")

    scores_path = output / "scores.json"
    history = json.loads(scores_path.read_text())[:done] if done else []
    for epoch in range(done, args.epochs):
        model.fit(
            batches(model, train.texts, train.labels, args, seed=args.seed + epoch),
            initial_epoch=epoch,
            epochs=epoch + 1,
            callbacks=[keras.callbacks.TensorBoard(output / "logs")],
        )
        outputs = predict(model, dev, args)
        if args.regression:
            scores = keras_bert.regression_scores(dev.labels, outputs[:, 0])
        else:
            scores = keras_bert.classification_scores(
                dev.labels, outputs.argmax(axis=1), num_classes=len(dev.label_names)
            )
        if select not in scores:
            raise ValueError(f"--select must be one of {', '.join(scores)}; got {select!r}.")
        print(f"epoch {epoch + 1}:", {name: round(score, 4) for name, score in scores.items()})
        history.append(scores)
        if scores[select] >= max(past[select] for past in history):
            model.save_to_preset(output / "best")
            write_predictions(output / "dev_predictions.tsv", outputs, train.label_names)
        scores_path.write_text(json.dumps(history, indent=1) + "\n")
        checkpoint.save(model)

    best = int(np.argmax([scores[select] for scores in history]))
    print(f"Best epoch by {select}: {best + 1}, {history[best]}")
    if args.test:
        model = keras_bert.BertClassifier.from_preset(output / "best")
        test = Examples(args.test, args, train.label_names)
        write_predictions(
            output / "test_predictions.tsv", predict(model, test, args), train.label_names
        )
    print(f"The best model is the preset {output / 'best'}; predictions and scores are beside it.")


if __name__ == "__main__":
    main()
