r"""Fine-tunes BERT to answer questions from a text, on SQuAD 1.1 or 2.0.

    python recipes/finetune_squad.py --init bert/preset --train train-v1.1.json \
        --dev dev-v1.1.json --output squad

The paper takes 3 epochs in batches of 32 at 5e-5 for SQuAD 1.1, and 2 epochs of 48 at 5e-5 for
2.0; with BERT-base it reports an F1 of 88.5 on 1.1. Contexts are read in windows of 384 tokens,
128 apart. The rate warms up over a tenth of the steps and falls linearly to 0.

After each epoch the development set is answered; the best epoch's model is kept in `OUTPUT/best`,
with `predictions.json`, `nbest_predictions.json` and `null_odds.json` beside it, as SQuAD's
evaluation scripts and Google's `run_squad.py` have them. Of SQuAD 2.0, the threshold above which
there is no answer is tuned for F1, and the model keeps it; `predictions.json` always answers, so
that `evaluate-v2.0.py --na-prob-file null_odds.json` finds the same threshold, and
`answers.json` has "" above it. Started again, it goes on behind the last epoch that was finished.
Watch it with `tensorboard --logdir OUTPUT/logs`.
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
    add("--train", required=True, help="JSON file of SQuAD 1.1 or 2.0")
    add("--dev", required=True, help="the same, to choose the best epoch by")
    add("--output", required=True, help="folder for checkpoints, the best model and predictions")
    add("--sequence_length", type=int, default=384)
    add("--document_stride", type=int, default=128, help="tokens from window to window")
    add("--max_question_length", type=int, default=64, help="tokens; longer ones are cut")
    add("--max_answer_length", type=int, default=30, help="tokens")
    add("--n_best", type=int, default=20, help="answers in nbest_predictions.json")
    add("--batch_size", type=int, default=32)
    add("--learning_rate", type=float, default=5e-5, help="its peak")
    add("--epochs", type=int, default=3)
    add("--warmup_proportion", type=float, default=0.1)
    add("--patience", type=int, help="stop after so many epochs without a better score")
    add("--bucket_lengths", type=int, nargs="+", help="pad to these, batch like lengths")
    add("--tokens_per_batch", type=int, help="with --bucket_lengths, in place of --batch_size")
    add("--select", default="f1", choices=["f1", "exact"], help="score by which an epoch is best")
    add("--layer_decay", type=float, help="rate of a layer beside the one above, such as 0.9")
    add("--accumulation_steps", type=int, default=1, help="parts of a batch, one after the other")
    keras_bert.add_device_arguments(parser)
    add("--precision", default="float32", choices=["float32", "mixed_bfloat16"])
    add("--seed", type=int, default=0)
    return parser.parse_args(argv)


def make_model(args, has_impossible):
    """The span labeler, not yet compiled; of SQuAD 2.0 it may say that there is no answer."""
    sizes = {
        name: getattr(args, name)
        for name in ("document_stride", "max_question_length", "max_answer_length")
    }
    return keras_bert.BertSpanLabeler.from_preset(
        args.init,
        load_weights=not args.from_scratch,
        sequence_length=args.sequence_length,
        null_threshold=0.0 if has_impossible else None,
        **sizes,
    )


def batches(model, examples, args, seed):
    """Batches of windows with the places of their answers, shuffled by the seed."""
    return keras_bert.question_dataset(
        examples,
        preprocessor=model.preprocessor,
        batch_size=args.batch_size,
        shuffle=True,
        seed=seed,
        bucket_lengths=args.bucket_lengths,
        tokens_per_batch=args.tokens_per_batch,
        **model.window_arguments(),
        **keras_bert.batch_shapes(args.sequence_length),
    )


def compile_model(model, args, steps):
    rate = keras_bert.WarmupLinearDecay(
        args.learning_rate, int(args.warmup_proportion * steps), steps, continuous=True
    )
    optimizer = keras_bert.AdamW(rate, layer_decay=args.layer_decay)
    model.compile(**{**model.default_compile_args(), "optimizer": optimizer})


def predict(model, examples, args):
    """`{id: answer}`, as `BertSpanLabeler.predict` gives it."""
    answers = model.predict(examples, batch_size=args.batch_size, n_best=max(args.n_best, 2))
    return {example["id"]: one for example, one in zip(examples, answers, strict=True)}


def texts_of(answers):
    """`{id: text}` of the best answers, other than none where there are others."""
    texts = {}
    for id_, answer in answers.items():
        found = [one["answer"] for one in answer["n_best"] if one["answer"]]
        texts[id_] = found[0] if found else ""
    return texts


def score(examples, answers, has_impossible):
    """The official scores; of SQuAD 2.0 those of the best threshold, which is told too."""
    texts = texts_of(answers)
    if not has_impossible:
        return keras_bert.squad_scores(examples, texts)
    odds = {id_: answer["null_odds"] for id_, answer in answers.items()}
    threshold = keras_bert.squad_scores(examples, texts, odds)["best_f1_thresh"]
    scores = keras_bert.squad_scores(examples, texts, odds, threshold)
    return {**scores, "null_threshold": threshold}


def write_answers(folder, answers, threshold):
    """The files that SQuAD's evaluation takes, and those of `run_squad.py`."""
    texts = texts_of(answers)
    odds = {id_: answer["null_odds"] for id_, answer in answers.items()}
    n_best = {
        id_: [
            {
                "text": one["answer"],
                "probability": one["score"],
                "start_logit": one["start_logit"],
                "end_logit": one["end_logit"],
            }
            for one in answer["n_best"]
        ]
        for id_, answer in answers.items()
    }
    files = {"predictions": texts, "nbest_predictions": n_best, "null_odds": odds}
    if threshold is not None:
        files["answers"] = {i: "" if odds[i] > threshold else text for i, text in texts.items()}
    for name, content in files.items():
        path = folder / f"{name}.json"
        path.write_text(json.dumps(content, ensure_ascii=True, indent=1) + "\n", encoding="utf-8")


def main(argv=None):
    args = parse_args(argv)
    strategy = keras_bert.get_strategy(args.strategy, args.tpu, args.devices)
    keras.utils.set_random_seed(args.seed)
    keras.config.set_dtype_policy(args.precision)
    output = Path(args.output)
    examples, dev = keras_bert.read_squad(args.train), keras_bert.read_squad(args.dev)
    has_impossible = any("is_impossible" in example for example in examples)
    for path, part in ((args.train, examples), (args.dev, dev)):
        for line in part.reports.lines():
            print(f"{path}: {line}")
    with strategy.scope():
        model = make_model(args, has_impossible)
        steps_per_epoch = len(batches(model, examples, args, seed=0))
        compile_model(model, args, steps_per_epoch * args.epochs)
    parts = args.accumulation_steps
    print(keras_bert.describe_training(strategy, args.batch_size, model, parts) + ".")
    print(f"{len(examples):,} questions, {len(dev):,} to choose by.")

    def score_and_set_threshold(answers):
        scores = score(dev, answers, has_impossible)
        model.null_threshold = scores.get("null_threshold")  # which the preset keeps
        return scores

    keras_bert.finetune(
        model,
        output,
        epochs=args.epochs,
        batches=lambda epoch: batches(model, examples, args, seed=args.seed + epoch),
        predict=lambda: predict(model, dev, args),
        score=score_and_set_threshold,
        select=args.select,
        keep=lambda answers: write_answers(output, answers, model.null_threshold),
        patience=args.patience,
        accumulation_steps=parts,
    )


if __name__ == "__main__":
    main()
