r"""Fine-tunes BERT to choose the right ending of a text, or the right answer to a question.

    python recipes/finetune_choice.py --init bert/preset --train train.csv --dev val.csv \
        --test test.csv --output swag

Files are in the format of SWAG, CSV with a header (sent1, sent2, ending0, ending1, ..., label), or
of CODAH, TSV without a header (category, context, endings, label). The paper fine-tunes on SWAG in
batches of 16 at 2e-5 for 3 epochs. Each ending is a separate sequence: a batch of 16 questions with
four endings has 64 sequences.

OUTPUT/best is the preset of the best epoch, next to its answers and the scores of all epochs. Rerun
the same command to resume.
"""

import _shared
import keras_bert


def parse_args(argv=None):
    parser = _shared.recipe_parser(__doc__)
    _shared.add_file_arguments(parser)
    _shared.add_finetuning_arguments(parser)
    parser.set_defaults(batch_size=16, learning_rate=2e-5)  # questions; as in the paper
    return parser.parse_args(argv)


def main(argv=None):
    args = parse_args(argv)
    from _runs import start_training  # slow: after parse_args

    strategy = start_training(args)
    train = keras_bert.readers.read_choices(args.train)
    dev, test = _shared.read_dev_and_test(args, keras_bert.readers.read_choices)
    with strategy.scope():
        model = keras_bert.BertMultipleChoice.from_preset(
            args.init, **_shared.loading_settings(args)
        )
    others = _shared.finetuning_arguments(args)
    keras_bert.finetune(model, train, dev, args.output, test=test, strategy=strategy, **others)


if __name__ == "__main__":
    _shared.run_recipe(main)
