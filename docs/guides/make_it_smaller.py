# %% [markdown]
# # Make it smaller: quantize, distill, trim
#
# A smaller model answers faster, and loads faster where it is served. This guide takes a model that
# sorts messages to a shop through four steps: fewer layers, a teacher, fewer tokens, and int8. Each
# step stands by itself: take those that your scores allow. The last one needs the extra `export`.

# %%
import keras
import numpy as np

import keras_bert

templates = {
    "delivery": [
        "Where is my {}?",
        "The {} should have been here on Monday.",
        "Can I collect the {} from the depot?",
        "The van with the {} came while I was out.",
        "How long does it take until the {} arrives?",
        "You sent the {} to my old address.",
        "Nobody was at home when the {} came.",
        "Please leave the {} with my neighbours.",
    ],
    "payment": [
        "I was charged twice for the {}.",
        "Please send me an invoice for the {}.",
        "My card was declined when I bought the {}.",
        "When do I get the money for the {} back?",
        "The {} was cheaper on the website.",
        "Can I pay for the {} in two parts?",
        "There is a mistake in my bill for the {}.",
        "Which cards do you take for the {}?",
    ],
    "repair": [
        "The {} stopped working after a week.",
        "A part of the {} came off.",
        "Do you have a spare screw for the {}?",
        "The {} makes a strange noise.",
        "My {} doesn't turn on.",
        "The {} is scratched and leaks.",
        "The switch of the {} is broken.",
        "Who fixes the {} after two years?",
    ],
}
things = ["lamp", "kettle", "bicycle", "phone", "drill", "toaster", "fan", "printer"]


def messages(places):
    """Texts of some of the templates of each kind, and their kinds."""
    found = [
        (templates[kind][place].format(thing), kind)
        for kind in templates
        for place in places
        for thing in things
    ]
    return tuple(list(column) for column in zip(*found))


train, dev, test = messages(range(5)), messages([5]), messages([6, 7])  # each in other words
source = "hf://sentence-transformers/all-MiniLM-L6-v2"
settings = {"label_names": list(templates), "sequence_length": 32}

# %% [markdown]
# The teacher is the whole model, fine-tuned as in [Classify texts](classify.py).

# %%
keras.utils.set_random_seed(1)
batching = keras_bert.Batching(8)
run = keras_bert.FineTuning(epochs=6, learning_rate=2e-4, temperature=2.0, alpha=0.9)
teacher = keras_bert.BertClassifier.from_preset(source, **settings)
history = keras_bert.finetune(teacher, train, dev, "messages/teacher", run, batching=batching)
teacher = keras_bert.BertClassifier.from_preset("messages/teacher/best")
print(f"{teacher.count_params() / 1e6:.1f} million weights:", teacher.scores(*test))

# %% [markdown]
# ## Fewer layers, and a teacher
#
# `keep_layers` takes some of the six layers. With `teacher`, the model learns from the teacher's
# probabilities as well as from the labels: which of the other classes a text is nearly of. `alpha`
# is the teacher's weight, and a higher `temperature` shows more of the small probabilities.
#
# Every task takes a teacher: for tags and spans it says something of each token, and a
# `BertEmbedder` learns its vectors from texts without labels. Compare with the student alone: a
# teacher [doesn't always help](../results_small.md#distillation). It didn't for tags, where a temperature
# of 2 cost 7 points and more. Here three layers fail on some of the new wordings:

# %%
student = keras_bert.BertClassifier.from_preset(source, keep_layers=(0, 2, 5), **settings)
history = keras_bert.finetune(
    student, train, dev, "messages/student", run, batching=batching, teacher=teacher
)
student = keras_bert.BertClassifier.from_preset("messages/student/best")
print(f"{student.count_params() / 1e6:.1f} million weights:", student.scores(*test))

# %% [markdown]
# ## Fewer tokens
#
# More than half of what is left is the table of 30,522 tokens. A copy of the student keeps those
# that some texts use, the special ones and every single character, each with its row of the table;
# in a `BertPretrainer`, also with its bias of the masked-LM head. The answers on these texts stay
# the same, to the bit, where no word is [UNK]. Other words are read in shorter pieces, so take as
# many texts as you have.

# %%
tokenizer = student.preprocessor.tokenizer
vocabulary = tokenizer.get_vocabulary()
used = {vocabulary[index] for ids in tokenizer([*train[0], *dev[0], *test[0]]) for index in ids}
used.update(tokenizer.special)
used.update(token for token in vocabulary if len(token.removeprefix("##")) == 1)  # characters
kept = [index for index, token in enumerate(vocabulary) if token in used]

words = keras_bert.BertTokenizer([vocabulary[index] for index in kept], tokenizer.lowercase)
preprocessor = keras_bert.BertClassifierPreprocessor(words, **settings)
size = student.backbone.vocabulary_size
config = {**student.backbone.get_config(), "vocabulary_size": len(kept)}
backbone = keras_bert.BertBackbone.from_config(config)
small = keras_bert.BertClassifier(backbone, preprocessor=preprocessor)
small.set_weights([w[kept] if len(w) == size else w for w in student.get_weights()])

same = np.array_equal(
    *([answer["probabilities"] for answer in model.answer(train[0])] for model in (student, small))
)
print(f"{small.count_params() / 1e6:.1f} million weights:", small.scores(*test))
print("the same probabilities:", same)

# %% [markdown]
# ## int8
#
# Weights in int8 have a quarter of the size, and compute faster on a CPU. Each runtime has [its own
# quantizer](hand_it_over.py#int8); this one is ONNX Runtime's. [Which format for which
# runtime](../formats.md#int8) has scores and speeds.

# %%
from pathlib import Path

from onnxruntime.quantization import quantize_dynamic

for name, model in {"teacher": teacher, "student": student, "small": small}.items():
    path = model.export(f"messages_onnx/{name}", format="onnx")
    quantized = path.replace("model.onnx", "model_quantized.onnx")
    quantize_dynamic(path, quantized, per_channel=True)
    for file in (path, quantized):
        print(f"{name:8} {Path(file).stat().st_size / 1e6:5.1f} MB  {Path(file).name}")

# %% [markdown]
# ## As commands
#
# Every recipe for fine-tuning takes the same settings.
#
# ```bash
# python recipes/finetune_classifier.py --init bert/preset --keep_layers 0 2 5 \
#     --teacher reviews/best --temperature 2 --alpha 0.9 --train train.tsv --dev dev.tsv \
#     --output small_reviews
# ```
#
# ## Reference: what teachers teach
#
# | model | what it learns from the teacher | labels |
# |---|---|---|
# | `BertClassifier`, `BertMultipleChoice` | probabilities of classes or choices | as in `fit` |
# | `BertClassifier` of several labels, `BertReranker` | each probability | as in `fit` |
# | `BertClassifier` of a number | the number | as in `fit` |
# | `BertTokenClassifier` | probabilities of each word's tags | as in `fit` |
# | `BertSpanLabeler` | probabilities of starts and ends | as in `fit` |
# | `BertEmbedder` | the vectors of texts | none |
