"""Takes a BERT from raw text to a served model in five minutes, on two CPU cores, offline.

    python recipes/quickstart.py                 # or: make quickstart
    python recipes/quickstart.py --write_data .  # train.tsv, dev.tsv and books/, and nothing else

Reads the reference texts in every Python installation (`pydoc_data.topics`), learns a vocabulary
and prepares a corpus. Then it pre-trains a tiny BERT with masked LM and next sentence prediction,
and fine-tunes it to predict the chapter of a sentence. Finally, it exports a SavedModel and queries
it with raw strings from a process without Keras. A real BERT reads 100,000 times as much text, but
takes the same steps.
"""

import json
import random
import re
import subprocess
import sys
import time
from pathlib import Path
from pydoc_data.topics import topics

import _shared
import keras_bert
from keras_bert.sizes import tiny

CHAPTERS = {
    "debugger": ["debugger"],
    "statements": ["compound", "assignment", "import", "assert", "return", "with", "del"],
    "strings": ["formatstrings", "string-methods", "strings", "typesseq"],
    "types": ["types", "typesmapping", "numbers", "integers", "bltin-null-object"],
}

ASK = """
import json, sys
import tensorflow as tf, tensorflow_text
model = tf.saved_model.load(sys.argv[1])
texts = json.loads(sys.argv[2])
answers = model.signatures["serving_default"](text=tf.constant(texts))
for row, text in enumerate(texts):
    scores = zip(answers["labels"].numpy()[row], answers["probabilities"].numpy()[row])
    print(repr(text), {name.decode(): round(float(p), 3) for name, p in scores})
assert "keras_bert" not in sys.modules
"""

QUESTIONS = [
    "Set a breakpoint at the given line and continue execution.",
    "Return a copy of the string with its first character capitalized.",
    "The finally clause is executed when control leaves the try block.",
    "An integer number is an immutable object.",
]


def parse_args(argv=None):
    parser = _shared.recipe_parser(__doc__)
    add = parser.add_argument
    add("--output", default="quickstart_out", help="output folder")
    add("--steps", type=int, default=1000, help="optimizer steps in total")
    add("--epochs", type=int, default=8, help="passes over the training examples")
    add("--write_data", metavar="FOLDER", help="write tables and texts to try things with, and end")
    return parser.parse_args(argv)


def prose(text):
    """Returns the paragraphs of a help topic, without headings, code, tables and markup."""
    paragraphs = [" ".join(p.split()) for p in re.split(r"\n\s*\n", text)]
    return [p for p in paragraphs if re.match(r'["A-Z].{60,}[.:]$', p) and "**" not in p]


def sentences_by_chapter():
    """Lists `(sentence, chapter)` for all chapters, each sentence once."""
    examples = {}
    for chapter, names in CHAPTERS.items():
        for paragraph in (p for name in names for p in prose(topics.get(name, ""))):
            for sentence in re.split(r"(?<=[.:]) +(?=[A-Z])", paragraph):
                if len(sentence) > 30:
                    examples.setdefault(sentence, chapter)
    return list(examples.items())


def shuffled_examples():
    """Returns the sentences, their chapters, and how many to hold out."""
    examples = sentences_by_chapter()
    random.Random(0).shuffle(examples)
    texts, labels = map(list, zip(*examples, strict=True))
    return texts, labels, len(texts) // 5


def write_texts(folder, names):
    """Writes the prose of help topics, a file each."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        file = folder / f"{name}.txt"
        if (paragraphs := prose(topics.get(name, ""))) and not file.exists():  # not yet written
            file.write_text("\n\n".join(paragraphs) + "\n", encoding="utf-8")


def write_data(folder):
    """Writes train.tsv and dev.tsv, of sentences and their chapters, and the chapters to books/."""
    write_texts(folder / "books", (name for names in CHAPTERS.values() for name in names))
    texts, labels, held_out = shuffled_examples()
    rows = [f"{text}\t{label}\n" for text, label in zip(texts, labels, strict=True)]
    for name, part in (("train.tsv", rows[held_out:]), ("dev.tsv", rows[:held_out])):
        (folder / name).write_text("text\tlabel\n" + "".join(part), encoding="utf-8")
        print(f"{folder / name}: {len(part):,} sentences of Python's reference")


def heading(text, started=time.time()):  # noqa: B008
    print(f"\n=== {text}   [{time.time() - started:.0f} s]", flush=True)


def main(argv=None):
    args = parse_args(argv)
    if args.write_data:
        return write_data(Path(args.write_data))
    import keras  # slow: after the command line is checked

    keras.utils.set_random_seed(0)
    output = Path(args.output)
    text = output / "text"

    heading("1. Real prose: Python's own reference")
    write_texts(text, topics)
    files = sorted(str(path) for path in text.glob("*.txt"))
    print(f"{len(files)} documents in {text}")

    heading("2. A vocabulary of word pieces")
    vocabulary = keras_bert.learn_vocabulary(files, vocabulary_size=4000)
    tokenizer = keras_bert.BertTokenizer(vocabulary)
    print([tokenizer.id_to_token(i) for i in tokenizer(QUESTIONS[0])])

    heading("3. A corpus of tokenized documents")
    keras_bert.prepare_corpus(files, str(output / "corpus"), tokenizer)

    heading("4. Pre-training: masked LM and next sentence prediction")
    backbone = keras_bert.BertBackbone(tokenizer.vocabulary_size(), **tiny)
    preprocessor = keras_bert.BertPreprocessor(tokenizer, sequence_length=64)
    pretrainer = keras_bert.BertPretrainer(backbone, preprocessor=preprocessor)
    rate = keras_bert.WarmupLinearDecay(1e-3, args.steps // 10, args.steps, continuous=True)
    pretrainer.compile(**{**pretrainer.default_compile_args(), "optimizer": keras_bert.AdamW(rate)})
    data = keras_bert.pretraining_dataset(
        str(output / "corpus"), batch_size=32, sequence_length=64, seed=0
    )
    pretrainer.fit(data, epochs=5, steps_per_epoch=args.steps // 5, verbose=2)
    pretrainer.save_to_preset(output / "pretrained")

    heading("5. Fine-tuning: which chapter is a sentence from?")
    texts, labels, held_out = shuffled_examples()
    classifier = keras_bert.BertClassifier.from_preset(
        output / "pretrained", num_classes=len(CHAPTERS), label_names=list(CHAPTERS)
    )
    steps = args.epochs * (len(texts) - held_out) // 32
    rate = keras_bert.WarmupLinearDecay(2e-4, steps // 10, steps, continuous=True)
    classifier.compile(**{**classifier.default_compile_args(), "optimizer": keras_bert.AdamW(rate)})
    classifier.fit(
        texts[held_out:],
        labels[held_out:],
        validation_data=(texts[:held_out], labels[:held_out]),
        epochs=args.epochs,
        verbose=2,
    )
    most = max(map(labels[:held_out].count, CHAPTERS)) / held_out
    print(f"(Always naming the largest chapter would be right {most:.0%} of the time.)")

    heading("6. A SavedModel that takes raw strings")
    versions = [int(path.name) for path in (output / "served").glob("[0-9]*")]
    served = classifier.export(output / "served", version=1 + max(versions, default=0))
    print(served)

    heading("7. Answers, from a process with only TensorFlow")
    arguments = [str(Path(served).resolve()), json.dumps(QUESTIONS)]
    subprocess.run([sys.executable, "-c", ASK, *arguments], check=True)
    heading(f"Done. Presets, corpus and the served model are in {output}/.")


if __name__ == "__main__":
    _shared.run_recipe(main)
