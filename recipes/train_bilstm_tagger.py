r"""Trains a BiLSTM to find names from the vectors of a BERT that isn't trained itself.

    python recipes/train_bilstm_tagger.py --init bert/preset --train eng.train --dev eng.testa \
        --test eng.testb --document_context --output ner

This is the paper's feature-based approach (section 5.3 and table 7): the last four layers at the
first piece of each word, concatenated, go into a BiLSTM of two layers and 768 units in each
direction, which is all that learns. The vectors are computed once, before training, and held in
memory as half-precision numbers: two bytes x words x layers x hidden, 1.3 GB of CoNLL-2003 and
Base. The paper's other rows are `--layers=0` (the embeddings), `--layers=-2`, `--layers=-1` and
`--combine weighted`, which learns how much each layer counts. From 1,700 tweets of WNUT 2017 and a
BERT of 6 layers and hidden 384, `--units 256` learns in five epochs, of a minute each on two CPU
cores that are shared, to find the names of the development set with an F1 of .53.

Files are as in finetune_ner.py, and so is what is written; the best epoch's BiLSTM is
`OUTPUT/best.keras`, a Keras model from vectors `[B, words, layers * hidden]` to logits of the
classes, whose names are in `OUTPUT/tags.json`. Started again, it goes on behind the last epoch
that was finished. Watch it with `tensorboard --logdir OUTPUT/logs`.
"""

import argparse
import json
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from tqdm import tqdm

import keras_bert


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--init", required=True, help="preset or published weights of the encoder")
    add("--train", required=True, help="file of a word and its tags a line")
    add("--dev", required=True, help="the same, to choose the best epoch by")
    add("--test", help="the same, to predict and score when all is done")
    add("--tag_column", type=int, default=-1, help="number of the column of tags; -1 is the last")
    add("--scheme", default="bio", choices=["bio", "bioes"], help="in which tags are learnt")
    add("--repair", action="store_true", help="read tags against their scheme as conlleval does")
    add("--document_context", action="store_true", help="fill up with a document's other sentences")
    add("--output", required=True, help="folder for checkpoints, the best model and predictions")
    add("--layers", default="-1,-2,-3,-4", help="numbers of layers, written --layers=-1,-2")
    add("--combine", default="concat", choices=["concat", "sum", "mean", "weighted"])
    add("--sequence_length", type=int, default=128)
    add("--units", type=int, default=768, help="of the BiLSTM, in each direction")
    add("--dropout", type=float, default=0.1, help="before each layer of it")
    add("--batch_size", type=int, default=32)
    add("--learning_rate", type=float, default=1e-3)
    add("--epochs", type=int, default=20)
    add("--patience", type=int, help="stop after so many epochs without a better score")
    add("--select", default="f1", choices=["f1", "precision", "recall", "accuracy"])
    keras_bert.add_device_arguments(parser)
    parser.set_defaults(strategy="cpu")  # one device, which is a GPU where there is one
    add("--seed", type=int, default=0)
    return parser.parse_args(argv)


def read_sentences(path, args, tag_names=None):
    """The sentences of a file, and the numbers of their tags in `tag_names`, or in their own."""
    sentences = keras_bert.read_conll(
        path, scheme=args.scheme, tag_column=args.tag_column, repair=args.repair
    )
    if sentences.num_repaired:
        print(f"{path}: {sentences.num_repaired:,} tags were against their scheme: repaired.")
    return sentences, sentences.class_numbers(tag_names or sentences.tag_names())


def make_encoder(args):
    """The frozen encoder: the chosen layers of each token."""
    try:
        layers = [int(number) for number in args.layers.split(",")]
    except ValueError:
        raise ValueError(
            f"--layers must be numbers with commas between, as --layers=-1,-2; got {args.layers!r}."
        ) from None
    return keras_bert.BertEmbedder.from_preset(
        args.init,
        sequence_length=args.sequence_length,
        pooling=None,
        normalize=False,
        layers=layers,
        combine="concat",
    )


def make_model(args, num_layers, width, num_classes):
    """The BiLSTM: from vectors `[B, W, layers * H]` of W words to logits `[B, W, C]`."""
    features = keras.Input((None, num_layers * width), name="features")
    layers = keras.ops.split(features, num_layers, axis=-1)  # of [B, W, H]
    x = keras_bert.LayerCombination(args.combine, name="layer_combination")(layers)
    x = keras.layers.Masking()(x)  # behind a sentence's end vectors are 0
    for _ in range(2):
        x = keras.layers.Dropout(args.dropout)(x)
        lstm = keras.layers.LSTM(args.units, return_sequences=True)
        x = keras.layers.Bidirectional(lstm)(x)  # [B, W, 2 * units]
    logits = keras.layers.Dense(num_classes, name="logits")(keras.layers.Dropout(args.dropout)(x))
    model = keras.Model(features, logits)
    model.compile(
        optimizer=keras.optimizers.Adam(args.learning_rate, global_clipnorm=1.0),
        loss=keras.losses.SparseCategoricalCrossentropy(
            from_logits=True, reduction="mean_with_sample_weight"
        ),
    )
    return model


def features_of(encoder, sentences, classes, args):
    """The vectors at the first piece of each word, ragged float16 `[n, (W), layers * H]`."""
    lengths = np.array([len(words) for words in sentences.words])
    order = np.arange(len(lengths))
    if not args.document_context:
        order = np.argsort(lengths, kind="stable")  # like lengths together: less padding
    data = keras_bert.tagged_dataset(
        [sentences.words[i] for i in order],
        [classes[i] for i in order],
        preprocessor=encoder.preprocessor,
        batch_size=args.batch_size,
        documents=sentences.documents if args.document_context else None,
        trim=True,
    )
    found = []
    for inputs, _, is_first_piece in tqdm(data.as_numpy_iterator(), sentences.path, len(data)):
        vectors = encoder.predict_on_batch(inputs)  # [B, S, layers * H]
        found.append(vectors[is_first_piece == 1].astype("float16"))
    with tf.device("CPU:0"):
        features = tf.RaggedTensor.from_row_lengths(np.concatenate(found), lengths[order])
        return tf.gather(features, np.argsort(order))


def batches(features, classes, args, seed=None):
    """Batches of sentences, in another order for each seed, or in their own for None."""
    with tf.device("CPU:0"):
        classes = tf.ragged.constant(classes, dtype=tf.int32, row_splits_dtype=tf.int64)

    def padded(rows):  # [B]
        labels = tf.gather(classes, rows)
        weights = tf.ones_like(labels, dtype=tf.float32)
        vectors = tf.cast(tf.gather(features, rows).to_tensor(), tf.float32)
        return vectors, labels.to_tensor(), weights.to_tensor()

    rows = tf.data.Dataset.range(features.nrows())
    if seed is not None:
        rows = rows.shuffle(len(rows), seed=seed)
    rows = rows.batch(args.batch_size)
    return rows.map(padded, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)


def predict(model, features, classes, tag_names, args):
    """The predicted tags of each sentence."""
    tags = []
    for vectors, _, weights in batches(features, classes, args).as_numpy_iterator():
        best = model.predict_on_batch(vectors).argmax(axis=-1)  # [B, W]
        lengths = weights.sum(axis=1).astype(int)
        tags += [
            [tag_names[number] for number in row[:length]]
            for row, length in zip(best, lengths, strict=True)
        ]
    return tags


def main(argv=None):
    args = parse_args(argv)
    strategy = keras_bert.get_strategy(args.strategy, args.tpu, args.devices)
    if strategy.num_replicas_in_sync > 1:
        raise ValueError(
            "The BiLSTM is a plain Keras model, which several devices would train to other "
            f"numbers; got {strategy.num_replicas_in_sync}. Choose --strategy cpu: a CPU or a GPU."
        )
    keras.utils.set_random_seed(args.seed)
    output = Path(args.output)
    train, train_classes = read_sentences(args.train, args)
    tag_names = train.tag_names()
    dev, dev_classes = read_sentences(args.dev, args, tag_names)
    test, test_classes = read_sentences(args.test, args, tag_names) if args.test else (None, None)
    encoder = make_encoder(args)
    with strategy.scope():
        num_layers, width = len(encoder.chosen_layers), encoder.backbone.hidden_dim
        model = make_model(args, num_layers, width, len(tag_names))
    print(keras_bert.describe_training(strategy, args.batch_size, model) + ".")
    output.mkdir(parents=True, exist_ok=True)
    (output / "tags.json").write_text(json.dumps(tag_names, indent=1) + "\n", encoding="utf-8")
    print(f"{len(train):,} sentences, {len(dev):,} to choose by.")
    train_features = features_of(encoder, train, train_classes, args)
    dev_features = features_of(encoder, dev, dev_classes, args)

    keras_bert.finetune(
        model,
        output,
        epochs=args.epochs,
        batches=lambda epoch: batches(train_features, train_classes, args, args.seed + epoch),
        predict=lambda: predict(model, dev_features, dev_classes, tag_names, args),
        score=lambda predicted: keras_bert.entity_scores(dev.tags, predicted),
        select=args.select,
        keep=lambda predicted: dev.write_predictions(output / "dev_predictions.txt", predicted),
        patience=args.patience,
    )
    if test:
        model = keras.models.load_model(output / "best.keras")
        test_features = features_of(encoder, test, test_classes, args)
        predicted = predict(model, test_features, test_classes, tag_names, args)
        scores = keras_bert.entity_scores(test.tags, predicted)
        test.write_predictions(output / "test_predictions.txt", predicted)
        (output / "test_scores.json").write_text(json.dumps(scores, indent=1) + "\n")
        del scores["types"]
        print("test:", ", ".join(f"{name} {value:.4f}" for name, value in scores.items()))
    print(f"The best BiLSTM is {output / 'best.keras'}; predictions and scores are beside it.")


if __name__ == "__main__":
    main()
