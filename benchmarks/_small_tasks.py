"""Small labeled data sets for benchmarks: reviews, pairs of sentences, tagged tweets."""

import keras_bert
from keras_bert.readers import read_conll, read_table


def sentiment(folder):
    parts = [read_table(folder / "sentiment" / f"{n}.tsv") for n in ("train", "dev", "test")]
    return [(table.texts("Text"), table.texts("Sentiment")) for table in parts], 128


def nli(folder):
    parts = [read_table(folder / "nli" / f"{n}.tsv") for n in ("train", "dev", "test")]
    columns = ("sentence1", "sentence2")
    return [
        (tuple(table.texts(name) for name in columns), table.texts("gold_label")) for table in parts
    ], 64


def entities(folder):
    names = ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated")
    parts = [read_conll(folder / "ner" / name) for name in names]
    return [(sentences.words, sentences.tags) for sentences in parts], 64


def similarity(folder):
    """STS-B as its authors publish it: tab-separated, without a header."""

    def part(name):
        text = (folder / "stsbenchmark" / f"sts-{name}.csv").read_text(encoding="utf-8")
        scores, *sentences = zip(
            *(line.split("\t")[4:7] for line in text.splitlines()), strict=True
        )
        return tuple(map(list, sentences)), [float(score) for score in scores]

    return [part(name) for name in ("train", "dev", "test")], 64


READ = {"sentiment": sentiment, "nli": nli, "entities": entities, "similarity": similarity}
"""Functions of a folder that return `(x, y)` of train, dev and test, and a sequence length."""


def first(x, number):
    """The first examples, also of pairs, which are a tuple of columns."""
    return tuple(column[:number] for column in x) if isinstance(x, tuple) else x[:number]


def make(task, data, source, length, **options):
    """Makes the model of a task, with the classes of its training data."""
    if task == "similarity":
        return keras_bert.BertClassifier.from_preset(
            source, num_classes=1, sequence_length=length, **options
        )
    kind = keras_bert.BertTokenClassifier if task == "entities" else keras_bert.BertClassifier
    labels = data[0][1]
    names = sorted({name for y in labels for name in ([y] if isinstance(y, str) else y)})
    return kind.from_preset(source, label_names=names, sequence_length=length, **options)


def train(model, x, y, epochs, learning_rate):
    """Trains in batches of 16, with a warm-up and a decay of the learning rate."""
    steps = epochs * -(-len(y) // 16)
    rate = keras_bert.WarmupLinearDecay(learning_rate, steps // 10, steps)
    model.compile(keras_bert.AdamW(rate))
    model.fit(x, y, batch_size=16, epochs=epochs, verbose=0)


def score(task, model, x, y):
    """The main score in percent: F1 of entities, Spearman's correlation, or accuracy."""
    name = {"entities": "f1", "similarity": "spearman"}.get(task, "accuracy")
    return 100 * model.scores(x, y)[name]
