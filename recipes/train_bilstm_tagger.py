r"""Trains a BiLSTM tagger on the token vectors of a frozen BERT.

    python recipes/train_bilstm_tagger.py --init bert/preset --train eng.train --dev eng.testa \
        --test eng.testb --document_context --output ner

This is the paper's feature-based approach (section 5.3 and table 7). The last four layers at the
first piece of each word, concatenated, go into a BiLSTM of two layers with 768 units in each
direction; only the BiLSTM is trained. The vectors are computed once and held in memory in half
precision: two bytes x words x layers x hidden, 1.3 GB for CoNLL-2003 and Base. The paper's other
rows are `--layers 0` (the embeddings), `--layers -2`, `--layers -1` and `--combine weighted`, which
trains a weight for each layer. With 1,700 tweets of WNUT 2017 and a BERT of 6 layers and hidden
384, `--units 256 --epochs 5` reaches an F1 of .53 on the development set, in a minute per epoch on
two shared CPU cores.

Input and output files are the same as in finetune_ner.py. OUTPUT/best.keras is the BiLSTM of the
best epoch, a Keras model from vectors `[B, words, layers * hidden]` to logits of the classes in
`OUTPUT/tags.json`. Rerun the same command to resume after the last finished epoch.
"""

import json
from pathlib import Path

import numpy as np
from tqdm import tqdm

import _shared
import keras_bert


def parse_args(argv=None):
    parser = _shared.recipe_parser(__doc__)
    _shared.add_file_arguments(parser)
    _shared.add_tagging_arguments(parser)
    add = parser.add_argument
    add("--init", required=True, help="preset or published weights to start from")
    add("--output", required=True, help="output folder")
    add("--layers", type=int, nargs="+", default=[-1, -2, -3, -4], help="layers to read; 0 to last")
    add("--combine", default="concat", choices=["concat", "sum", "mean", "weighted"], help="layers")
    add("--sequence_length", type=int, default=128, help="tokens per sequence")
    add("--units", type=int, default=768, help="units of the BiLSTM in each direction")
    add("--dropout", type=float, default=0.1, help="dropout rate")
    add("--batch_size", type=int, default=32, help="examples per step, over all devices")
    add("--learning_rate", type=float, default=1e-3, help="learning rate, constant")
    add("--epochs", type=int, default=20, help="passes over the training examples")
    add("--patience", type=int, help="stop after this many epochs without a better score")
    scores = ["f1", "precision", "recall", "accuracy"]
    add("--select", default="f1", choices=scores, help="score that selects the best epoch")
    add("--seed", type=int, default=0, help="random seed")
    return parser.parse_args(argv)


def make_encoder(args):
    """Makes the frozen encoder, which returns the chosen layers of each token, concatenated."""
    settings = {"layers": args.layers, "pooling": None, "normalize": False}
    return keras_bert.BertEmbedder.from_preset(
        args.init, sequence_length=args.sequence_length, **settings
    )


def make_model(args, num_layers, width, num_classes):
    """Makes the BiLSTM: from vectors `[B, W, layers * H]` of W words to logits `[B, W, C]`."""
    import keras

    features = keras.Input((None, num_layers * width), name="features")
    layers = keras.ops.split(features, num_layers, axis=-1)  # each [B, W, H]
    x = keras_bert.layers.LayerCombination(args.combine, name="layer_combination")(layers)
    x = keras.layers.Masking()(x)  # vectors past the end of a sentence are 0
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


def features_of(encoder, sentences, args):
    """Returns the vectors of the first pieces of words, ragged float16 `[n, (W), layers * H]`."""
    import tensorflow as tf

    x = _shared.words_of(sentences, args)
    reader = keras_bert.BertTokenClassifierPreprocessor.like(
        encoder.preprocessor, label_names=sentences.tag_names()
    )
    batching = keras_bert.Batching(args.batch_size, pad_to="longest")
    data = reader.batches(x, sentences.tags, batching=batching)
    found = []
    for inputs, _, is_first_piece in tqdm(data, sentences.path):
        vectors = encoder.predict_on_batch(inputs)  # [B, S, layers * H]
        found.append(vectors[is_first_piece == 1].astype("float16"))
    with tf.device("CPU:0"):
        lengths = [len(words) for words in sentences.words]
        return tf.RaggedTensor.from_row_lengths(np.concatenate(found), lengths)


def batches(features, classes, args, seed=None):
    """Makes batches of sentences, shuffled if a seed is given."""
    import tensorflow as tf

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


def predict(model, data, tag_names):
    """Predicts the tags of each sentence in batches that are not shuffled."""
    tags = []
    for vectors, _, weights in data.as_numpy_iterator():
        best = model.predict_on_batch(vectors).argmax(axis=-1)  # [B, W]
        lengths = weights.sum(axis=1).astype(int)
        rows = zip(best, lengths, strict=True)
        tags += [[tag_names[number] for number in row[:length]] for row, length in rows]
    return tags


def main(argv=None):
    args = parse_args(argv)
    import keras  # slow: after the command line is checked

    import _runs

    strategy = keras_bert.get_strategy("single")  # one device: a GPU if available
    keras.utils.set_random_seed(args.seed)
    output = Path(args.output)
    parts = {}
    for name in ("train", "dev", "test"):
        if path := getattr(args, name):
            parts[name] = _shared.read_sentences(path, args)
    tag_names = parts["train"].tag_names()
    if not args.dev:
        first = _runs.first_to_validate_on(len(parts["train"]), args.validation_split)
        parts["train"], parts["dev"] = parts["train"][:first], parts["train"][first:]
    classes = {name: part.class_numbers(tag_names) for name, part in parts.items()}
    encoder = make_encoder(args)
    with strategy.scope():
        width = encoder.backbone.hidden_dim
        model = make_model(args, len(encoder.chosen_layers), width, len(tag_names))
    print(_runs.describe_training(strategy, args.batch_size, model))
    output.mkdir(parents=True, exist_ok=True)
    others = ("output", "train", "dev", "test", "epochs", "patience")
    _runs.write_settings(output, {n: v for n, v in vars(args).items() if n not in others})
    (output / "tags.json").write_text(json.dumps(tag_names, indent=1) + "\n", encoding="utf-8")
    features = {name: features_of(encoder, part, args) for name, part in parts.items()}
    dev, test = parts["dev"], parts.get("test")
    dev_batches = batches(features["dev"], classes["dev"], args)
    best = output / "best.keras"

    def save(predicted, scores):
        _runs.keep_model(model, best)
        dev.write_predictions(output / "dev_predictions.txt", predicted)

    _runs.train_epochs(
        model,
        output,
        keras_bert.FineTuning(epochs=args.epochs, select=args.select, patience=args.patience),
        batches=lambda e: batches(features["train"], classes["train"], args, args.seed + e),
        predict=lambda: predict(model, dev_batches, tag_names),
        score=lambda predicted: keras_bert.metrics.entity_scores(dev.tags, predicted),
        save=save,
    )
    if test:
        model = keras.models.load_model(best)
        predicted = predict(model, batches(features["test"], classes["test"], args), tag_names)
        test.write_predictions(output / "test_predictions.txt", predicted)
        scores = keras_bert.metrics.entity_scores(test.tags, predicted)
        (output / "test_scores.json").write_text(json.dumps(scores, indent=2) + "\n")
        print("test:", _runs.shown_scores(scores))
    print(f"The best BiLSTM is {best}. Its answers and scores are in {output}.")


if __name__ == "__main__":
    _shared.run_recipe(main)
