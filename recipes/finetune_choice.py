r"""Fine-tunes BERT to choose how a text goes on, or the answer to it, from files of choices.

    python recipes/finetune_choice.py --init bert/preset --train train.csv --dev val.csv \
        --test test.csv --output swag

Files are SWAG's, CSV with a header (sent1, sent2, ending0, ending1, ..., label), or like CODAH's,
TSV without one (category, context, endings, label). The paper fine-tunes on SWAG in batches of 16
at 2e-5, for 3 epochs. Every ending is a sequence of its own: a batch of 16 questions with four
endings has 64.

After each epoch the model is scored on the development set; the best epoch's is kept in
`OUTPUT/best`, its predictions beside it. Started again, it goes on behind the last epoch that was
finished. Watch it with `tensorboard --logdir OUTPUT/logs`.
"""

import argparse
import json
from pathlib import Path

import keras

import keras_bert


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--init", required=True, help="preset or published weights to start from")
    add("--from_scratch", action="store_true", help="random weights in the preset's shape instead")
    add("--train", required=True, help="file of questions with their choices")
    add("--dev", required=True, help="the same, to choose the best epoch by")
    add("--test", help="the same, with labels or without, to predict when all is done")
    add("--output", required=True, help="folder for checkpoints, the best model and predictions")
    add("--sequence_length", type=int, default=128, help="of a context with one of its choices")
    add("--batch_size", type=int, default=16, help="questions")
    add("--learning_rate", type=float, default=2e-5, help="its peak")
    add("--epochs", type=int, default=3)
    add("--warmup_proportion", type=float, default=0.1)
    add("--patience", type=int, help="stop after so many epochs without a better score")
    add("--bucket_lengths", type=int, nargs="+", help="pad to these, batch like lengths")
    add("--tokens_per_batch", type=int, help="with --bucket_lengths, in place of --batch_size")
    add("--layer_decay", type=float, help="rate of a layer beside the one above, such as 0.9")
    add("--accumulation_steps", type=int, default=1, help="parts of a batch, one after the other")
    keras_bert.add_device_arguments(parser)
    add("--precision", default="float32", choices=["float32", "mixed_bfloat16"])
    add("--seed", type=int, default=0)
    return parser.parse_args(argv)


def read_questions(path, needs_labels=True):
    """The questions of a file, with labels if they are needed."""
    questions = keras_bert.read_choices(path)
    if needs_labels and "label" not in questions[0]:
        raise ValueError(f"{path} has no labels: there is nothing to learn or to score by.")
    return questions


def make_model(args):
    """The multiple choice."""
    return keras_bert.BertMultipleChoice.from_preset(
        args.init, load_weights=not args.from_scratch, sequence_length=args.sequence_length
    )


def compile_model(model, args, steps):
    """Compiles the model for so many steps."""
    rate = keras_bert.WarmupLinearDecay(
        args.learning_rate, int(args.warmup_proportion * steps), steps, continuous=True
    )
    optimizer = keras_bert.AdamW(rate, layer_decay=args.layer_decay)
    model.compile(**{**model.default_compile_args(), "optimizer": optimizer})


def batches(model, questions, args, seed):
    """Shuffled batches to learn from."""
    return keras_bert.choice_dataset(
        questions,
        preprocessor=model.preprocessor,
        batch_size=args.batch_size,
        shuffle=True,
        seed=seed,
        bucket_lengths=args.bucket_lengths,
        tokens_per_batch=args.tokens_per_batch,
        **keras_bert.batch_shapes(args.sequence_length),
    )


def predict(model, questions, args):
    """The answers to questions."""
    return model.predict(questions, batch_size=args.batch_size, verbose=0)


def score(questions, answers):
    """The share of answers that are right."""
    pairs = zip(questions, answers, strict=True)
    right = sum(answer["label"] == question["label"] for question, answer in pairs)
    return {"accuracy": right / len(questions)}


def write_predictions(path, answers):
    """A TSV file of a row for each question: its number, the choice's, and all probabilities."""
    with open(path, "w", encoding="utf-8") as file:
        most = max(len(answer["probabilities"]) for answer in answers)
        print("index", "label", *(f"probability{i}" for i in range(most)), sep="\t", file=file)
        for index, answer in enumerate(answers):
            shares = (f"{value:.6g}" for value in answer["probabilities"])
            print(index, answer["label"], *shares, sep="\t", file=file)


def main(argv=None):
    args = parse_args(argv)
    strategy = keras_bert.get_strategy(args.strategy, args.tpu, args.devices)
    keras.utils.set_random_seed(args.seed)
    keras.config.set_dtype_policy(args.precision)
    output = Path(args.output)
    train, dev = read_questions(args.train), read_questions(args.dev)
    test = read_questions(args.test, needs_labels=False) if args.test else None
    with strategy.scope():
        model = make_model(args)
        steps_per_epoch = len(batches(model, train, args, seed=0))
        compile_model(model, args, steps_per_epoch * args.epochs)
    parts = args.accumulation_steps
    print(keras_bert.describe_training(strategy, args.batch_size, model, parts) + ".")
    print(f"{len(train):,} questions, {len(dev):,} to choose by.")

    keras_bert.finetune(
        model,
        output,
        epochs=args.epochs,
        batches=lambda epoch: batches(model, train, args, seed=args.seed + epoch),
        predict=lambda: predict(model, dev, args),
        score=lambda answers: score(dev, answers),
        select="accuracy",
        keep=lambda answers: write_predictions(output / "dev_predictions.tsv", answers),
        patience=args.patience,
        accumulation_steps=parts,
    )
    if test:
        with strategy.scope():
            model = keras_bert.BertMultipleChoice.from_preset(output / "best")
        answers = predict(model, test, args)
        if keras_bert.is_chief(model):
            write_predictions(output / "test_predictions.tsv", answers)
        if "label" in test[0]:
            scores = score(test, answers)
            print(f"test: accuracy {scores['accuracy']:.4f}")
            if keras_bert.is_chief(model):
                (output / "test_scores.json").write_text(json.dumps(scores, indent=1) + "\n")
    print(f"The best model is the preset {output / 'best'}; predictions and scores are beside it.")


if __name__ == "__main__":
    main()
