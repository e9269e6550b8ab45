r"""Fine-tunes BERT to answer questions about a text, on SQuAD 1.1 or 2.0.

    python recipes/finetune_squad.py --init bert/preset --train train-v1.1.json \
        --dev dev-v1.1.json --output squad

The paper trains 3 epochs in batches of 32 at 5e-5 for SQuAD 1.1, and 2 epochs in batches of 48 at
5e-5 for 2.0. It reports an F1 of 88.5 with BERT-base on 1.1. Contexts are read in windows of 384
tokens, 128 apart.

OUTPUT/best is the preset of the best epoch. Next to it are the scores of all epochs and its
answers: `predictions.json`, `nbest_predictions.json` and `null_odds.json`. They have the format of
SQuAD's evaluation scripts and Google's `run_squad.py`. For SQuAD 2.0, the threshold for "no answer"
is tuned for F1, and stored in the model. `predictions.json` always has an answer, so
`evaluate-v2.0.py --na-prob-file null_odds.json` finds the same threshold; `answers.json` has "" for
questions above it. Rerun the same command to resume after the last finished epoch.
"""

import _shared
import keras_bert


def parse_args(argv=None):
    parser = _shared.recipe_parser(__doc__)
    _shared.add_file_arguments(parser)
    add = parser.add_argument
    add("--document_stride", type=int, default=128, help="tokens between the starts of windows")
    add("--max_question_length", type=int, default=64, help="tokens; longer questions are cut")
    add("--max_answer_length", type=int, default=30, help="tokens")
    add("--n_best", type=int, default=20, help="answers per question in nbest_predictions.json")
    _shared.add_finetuning_arguments(parser)
    parser.set_defaults(sequence_length=384)  # as in the paper
    return parser.parse_args(argv)


def main(argv=None):
    args = parse_args(argv)
    from _runs import start_training

    strategy = start_training(args)
    train = keras_bert.readers.read_squad(args.train)
    dev, test = _shared.read_dev_and_test(args, keras_bert.readers.read_squad)
    has_impossible = any(question.get("answers") == [] for question in train)
    with strategy.scope():
        model = keras_bert.BertSpanLabeler.from_preset(
            args.init,
            **_shared.loading_settings(args),
            document_stride=args.document_stride,
            max_question_length=args.max_question_length,
            max_answer_length=args.max_answer_length,
            null_threshold=0.0 if has_impossible else None,
        )
    keras_bert.finetune(
        model,
        train,
        dev,
        args.output,
        test=test,
        answer_options={"n_best": max(args.n_best, 2)},
        strategy=strategy,
        **_shared.finetuning_arguments(args),
    )


if __name__ == "__main__":
    _shared.run_recipe(main)
