r"""Fine-tunes BERT to find names, or to tag words otherwise, from files of CoNLL's columns.

    python recipes/finetune_ner.py --init bert/preset --train eng.train --dev eng.testa \
        --test eng.testb --document_context --output ner

A line holds a word and its tags, a blank line ends a sentence. BIO, IOB1 and BIOES are recognised.
`--tag_column 1 --select accuracy` learns the parts of speech of CoNLL-2003, `--tag_column 2` its
chunks. Scores are those of `conlleval`. The paper fine-tunes a cased BERT with document context,
at 5e-5, 3e-5 or 2e-5, for 3 epochs or so. 3,400 tweets take a small BERT (6 layers, hidden 384)
some five minutes an epoch on two CPU cores that are shared.

After each epoch the model is scored on the development set; the best epoch's is kept in
`OUTPUT/best`, its predictions beside it, as `conlleval` reads them. Started again, it goes on
behind the last epoch that was finished. Watch it with `tensorboard --logdir OUTPUT/logs`.
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
    add("--train", required=True, help="file of a word and its tags a line")
    add("--dev", required=True, help="the same, to choose the best epoch by")
    add("--test", help="the same, to predict and score when all is done")
    add("--tag_column", type=int, default=-1, help="number of the column of tags; -1 is the last")
    add("--scheme", default="bio", choices=["bio", "bioes"], help="in which tags are learnt")
    add("--repair", action="store_true", help="read tags against their scheme as conlleval does")
    add("--document_context", action="store_true", help="fill up with a document's other sentences")
    add("--output", required=True, help="folder for checkpoints, the best model and predictions")
    add("--sequence_length", type=int, default=128)
    add("--batch_size", type=int, default=32, help="16 or 32")
    add("--learning_rate", type=float, default=5e-5, help="its peak: 5e-5, 3e-5 or 2e-5")
    add("--epochs", type=int, default=3)
    add("--warmup_proportion", type=float, default=0.1)
    add("--patience", type=int, help="stop after so many epochs without a better score")
    add("--bucket_lengths", type=int, nargs="+", help="pad to these, batch like lengths")
    add("--tokens_per_batch", type=int, help="with --bucket_lengths, in place of --batch_size")
    add("--select", default="f1", choices=["f1", "precision", "recall", "accuracy"])
    add("--layer_decay", type=float, help="rate of a layer beside the one above, such as 0.9")
    add("--accumulation_steps", type=int, default=1, help="parts of a batch, one after the other")
    keras_bert.add_device_arguments(parser)
    add("--precision", default="float32", choices=["float32", "mixed_bfloat16"])
    add("--seed", type=int, default=0)
    return parser.parse_args(argv)


def read_sentences(path, args, tag_names=None):
    """The sentences of a file; every tag is one of `tag_names`, if they are given."""
    sentences = keras_bert.read_conll(
        path, scheme=args.scheme, tag_column=args.tag_column, repair=args.repair
    )
    if sentences.num_repaired:
        print(f"{path}: {sentences.num_repaired:,} tags were against their scheme: repaired.")
    if tag_names is not None:
        sentences.class_numbers(tag_names)  # an unknown tag is an error now, not after training
    return sentences


def make_model(args, tag_names):
    """The token classifier."""
    return keras_bert.BertTokenClassifier.from_preset(
        args.init,
        load_weights=not args.from_scratch,
        sequence_length=args.sequence_length,
        num_classes=len(tag_names),
        label_names=tag_names,
    )


def compile_model(model, args, steps):
    """Compiles the model for so many steps."""
    rate = keras_bert.WarmupLinearDecay(
        args.learning_rate, int(args.warmup_proportion * steps), steps, continuous=True
    )
    optimizer = keras_bert.AdamW(rate, layer_decay=args.layer_decay)
    model.compile(**{**model.default_compile_args(), "optimizer": optimizer})


def batches(model, sentences, args, seed):
    """Shuffled batches to learn from."""
    return keras_bert.tagged_dataset(
        sentences.words,
        sentences.class_numbers(model.label_names),
        preprocessor=model.preprocessor,
        batch_size=args.batch_size,
        documents=sentences.documents if args.document_context else None,
        shuffle=True,
        seed=seed,
        bucket_lengths=args.bucket_lengths,
        tokens_per_batch=args.tokens_per_batch,
        **keras_bert.batch_shapes(args.sequence_length),
    )


def predict(model, sentences, args):
    """The predicted tags of each sentence."""
    documents = sentences.documents if args.document_context else None
    return model.predict(sentences.words, batch_size=args.batch_size, documents=documents)


def main(argv=None):
    args = parse_args(argv)
    strategy = keras_bert.get_strategy(args.strategy, args.tpu, args.devices)
    keras.utils.set_random_seed(args.seed)
    keras.config.set_dtype_policy(args.precision)
    output = Path(args.output)
    train = read_sentences(args.train, args)
    tag_names = train.tag_names()
    dev = read_sentences(args.dev, args, tag_names)
    test = read_sentences(args.test, args, tag_names) if args.test else None
    with strategy.scope():
        model = make_model(args, tag_names)
        steps_per_epoch = len(batches(model, train, args, seed=0))  # a long sentence is many rows
        compile_model(model, args, steps_per_epoch * args.epochs)
    parts = args.accumulation_steps
    print(keras_bert.describe_training(strategy, args.batch_size, model, parts) + ".")
    print(f"{len(train):,} sentences, {len(dev):,} to choose by.")

    keras_bert.finetune(
        model,
        output,
        epochs=args.epochs,
        batches=lambda epoch: batches(model, train, args, seed=args.seed + epoch),
        predict=lambda: predict(model, dev, args),
        score=lambda predicted: keras_bert.entity_scores(dev.tags, predicted),
        select=args.select,
        keep=lambda predicted: dev.write_predictions(output / "dev_predictions.txt", predicted),
        patience=args.patience,
        accumulation_steps=parts,
    )
    if test:
        with strategy.scope():
            model = keras_bert.BertTokenClassifier.from_preset(output / "best")
        predicted = predict(model, test, args)
        scores = keras_bert.entity_scores(test.tags, predicted)
        if keras_bert.is_chief(model):
            test.write_predictions(output / "test_predictions.txt", predicted)
            (output / "test_scores.json").write_text(json.dumps(scores, indent=1) + "\n")
        del scores["types"]
        print("test:", ", ".join(f"{name} {value:.4f}" for name, value in scores.items()))
    print(f"The best model is the preset {output / 'best'}; predictions and scores are beside it.")


if __name__ == "__main__":
    main()
