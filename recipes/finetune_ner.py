r"""Fine-tunes BERT to find named entities, or to predict other word tags, from CoNLL files.

    python recipes/finetune_ner.py --init bert/preset --train eng.train --dev eng.testa \
        --test eng.testb --document_context --output ner

A line has a word and its tags, and a blank line ends a sentence. BIO, IOB1 and BIOES are detected.
`--tag_column 1 --select accuracy` learns the parts of speech of CoNLL-2003, `--tag_column 2` its
chunks. Scores equal `conlleval`'s. The paper fine-tunes a cased BERT with document context, at
5e-5, 3e-5 or 2e-5, for about 3 epochs. A small BERT (6 layers, hidden 384) takes about five minutes
per epoch for 3,400 tweets on two shared CPU cores.

OUTPUT/best is the preset of the best epoch, next to its answers, as `conlleval` reads them, and all
scores. Rerun the same command to resume.
"""

import _shared
import keras_bert


def parse_args(argv=None):
    parser = _shared.recipe_parser(__doc__)
    _shared.add_file_arguments(parser)
    _shared.add_tagging_arguments(parser)
    _shared.add_finetuning_arguments(parser)
    return parser.parse_args(argv)


def read_examples(path, args, tag_names=None):
    """Reads `(x, tags)` from a file, as the model takes them, and the names of the tags."""
    sentences = _shared.read_sentences(path, args)
    tag_names = tag_names or sentences.tag_names()
    sentences.class_numbers(tag_names)  # an unknown tag is an error with its line
    return (_shared.words_of(sentences, args), sentences.tags), tag_names


def main(argv=None):
    args = parse_args(argv)
    from _runs import start_training

    strategy = start_training(args)
    train, tag_names = read_examples(args.train, args)
    dev, test = _shared.read_dev_and_test(
        args, lambda path: read_examples(path, args, tag_names)[0]
    )
    with strategy.scope():
        model = keras_bert.BertTokenClassifier.from_preset(
            args.init,
            **_shared.loading_settings(args),
            num_classes=len(tag_names),
            label_names=tag_names,
        )
    keras_bert.finetune(
        model,
        train,
        dev,
        args.output,
        test=test,
        strategy=strategy,
        **_shared.finetuning_arguments(args),
    )


if __name__ == "__main__":
    _shared.run_recipe(main)
