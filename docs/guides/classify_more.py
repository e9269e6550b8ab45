# %% [markdown]
# # More ways to classify
#
# A classifier also reads pairs of texts, gives several labels or a number, reads numbers next to
# the text, and copes with rare classes and long texts. It is the class of [the first
# guide](classify.py) with other arguments. Its probabilities and its threshold can be tuned; the
# picture of them, and a table of pandas, need `pip install ".[recipes]"`.
#
# ## Pairs of texts
#
# Does this sentence answer this question? Examples are tuples of two texts.

# %%
import itertools

import keras

import keras_bert

keras.utils.set_random_seed(1)
MINILM = "hf://sentence-transformers/all-MiniLM-L6-v2"


def train(model, x, y, epochs, **arguments):
    """Trains in larger steps than the paper's, because the examples are few."""
    steps = epochs * -(-len(y) // 4)
    model.compile(keras_bert.AdamW(keras_bert.WarmupLinearDecay(1e-4, steps // 10, steps)))
    model.fit(x, y, epochs=epochs, batch_size=4, verbose=0, **arguments)


questions = {
    "time": ["When does it open?", "What time does the tour begin?", "When was it built?"],
    "price": ["How much is a ticket?", "What does the tour cost?", "Is it expensive?"],
    "place": ["Where can I park?", "How do I get to the museum?", "Where is the entrance?"],
    "person": ["Who painted it?", "Who lived in the castle?", "Whom can I ask?"],
}
replies = {
    "time": ["At ten in the morning.", "In the fifteenth century.", "It's on Mondays at three."],
    "price": ["It costs eight euros.", "Five pounds for adults.", "It's free for students."],
    "place": ["It's behind the station.", "Take the road to the river.", "Around the corner."],
    "person": ["It was a monk.", "The guide in the hall.", "A duke and his family."],
}
pairs, labels = [], []
for asked, replied in itertools.product(questions, replies):
    pairs += itertools.product(questions[asked], replies[replied])
    labels += ["answer" if asked == replied else "no answer"] * 9
matcher = keras_bert.BertClassifier.from_preset(
    MINILM, label_names=["no answer", "answer"], sequence_length=32
)
train(matcher, pairs, labels, epochs=8, class_weight="balanced")
new = [
    ("How much is a coffee?", "It costs two euros."),
    ("How much is a coffee?", "It begins at noon."),
    ("Where is the café?", "Behind the church."),
    ("Where is the café?", "An architect and his wife."),
]
for (question, reply), answer in zip(new, matcher.answer(new)):
    print(f"{question} {reply} -> {answer['label']}")

# %% [markdown]
# One pair in four is an answer here. `class_weight="balanced"` gives each class the same weight
# in the loss, however rare it is. To smooth labels, which are given by name as before, compile with
# `loss=keras_bert.losses.LogitCrossentropy(label_smoothing=0.1)`.
#
# ## Probabilities and a threshold
#
# A model is surer of its answers than it should be, above all one trained on few examples.
# `calibrate` measures that on examples that it was not trained on, and divides the weights of the
# head by one number, the temperature. In the picture, a model on the diagonal is right as often as
# its probabilities say.

# %%
import matplotlib.pyplot as plt
from sklearn.calibration import CalibrationDisplay

later_questions = {
    "time": ["Until when may I stay?", "How long does the tour take?"],
    "price": ["Do students pay less?", "What do children pay?"],
    "place": ["On which floor is the café?", "Where does the tour begin?"],
    "person": ["Who is the guide?", "By whom was it built?"],
}
later_replies = {
    "time": ["Until six.", "About an hour."],
    "price": ["Half of the full price.", "Nothing, under twelve."],
    "place": ["On the second floor.", "At the main gate."],
    "person": ["A student of history.", "By a rich merchant."],
}
dev, is_answer = [], []
for asked, replied in itertools.product(questions, replies):
    dev += itertools.product(later_questions[asked], later_replies[replied] + replies[replied])
    is_answer += [asked == replied] * 10
dev_labels = ["answer" if right else "no answer" for right in is_answer]


def draw(name):
    probabilities = [answer["probabilities"][1] for answer in matcher.answer(dev)]
    CalibrationDisplay.from_predictions(is_answer, probabilities, n_bins=4, name=name, ax=axes)


axes = plt.subplots(figsize=(4, 4))[1]
draw("before")
found = matcher.calibrate(dev, dev_labels)
draw("after")
{name: round(value, 3) for name, value in found.items()}

# %% [markdown]
# Answers stay the same; presets and exported models have the new probabilities. The development set
# needs some wrong answers, or no temperature fits. On few examples the error may even grow: it is
# the likelihood that the temperature maximizes.
#
# Of two classes, the second is the answer if its probability reaches `threshold`, .5 by default. A
# rare class is found more often with a lower one. After `calibrate`, `choose_threshold` sets the
# one with the best F1; for three classes or more there is none, and for classes of the same size .5
# is as good ([measured](../results_tasks.md#probabilities-threshold-and-words-of-a-classifier)):

# %%
before = matcher.scores(dev, dev_labels)["f1"]
threshold = matcher.choose_threshold(dev, dev_labels)
print(f"threshold {threshold:.2f}, F1 {before:.2f} -> {matcher.scores(dev, dev_labels)['f1']:.2f}")

# %% [markdown]
# `scores` and `answer` know the threshold, and `label` may then be the less probable class;
# `evaluate` doesn't know it. To set one of your own, such as for a spam filter that must lose no
# good mail, load the preset with `from_preset(folder, threshold=0.9)`. The class to be found is the
# second of `label_names`: `["ham", "spam"]`.
#
# Report scores on a third set, neither trained on nor tuned on.
#
# ## Several labels per text
#
# With `multi_label=True` a text has any number of labels, also none. Each label has a probability
# of its own. `is_label` tells which of them reach `threshold`, .5 by default; `choose_threshold`
# works here, too. For rare labels, `keras_bert.losses.WeightedBinaryCrossentropy(pos_weight)` gives
# each label's examples a weight.

# %%
said = {
    "delivery": ["It came the next day.", "The parcel took a month.", "Shipping was quick."],
    "price": ["Far too expensive.", "It costs next to nothing.", "I paid a fortune."],
    "quality": ["The seams tore at once.", "Solid wood, very sturdy.", "The plastic is thin."],
}
reviews = ["It's green.", "A present for my uncle.", "I use it on Sundays."]
about = [[], [], []]
for label, phrases in said.items():
    reviews += phrases
    about += [[label]] * len(phrases)
for one, other in itertools.combinations(said, 2):
    both = itertools.product(said[one], said[other])
    reviews += [f"{first} {second}" for first, second in both]
    about += [[one, other]] * len(said[one]) * len(said[other])

aspects = keras_bert.BertClassifier.from_preset(
    MINILM, label_names=list(said), multi_label=True, sequence_length=32
)
train(aspects, reviews, about, epochs=16)
new = ["It arrived late. The paint flakes off.", "A real bargain.", "My sister has one, too."]
for text, answer in zip(new, aspects.answer(new)):
    print(text, [name for name, is_label in zip(said, answer["is_label"]) if is_label])

# %% [markdown]
# ## A number
#
# With `num_classes=1` the label is a number. The paper's example is how similar two sentences are,
# from 0 to 5. Here it is how many stars a text deserves. `scores` gives the correlation with the
# right numbers. `label_names=["valence", "arousal"], regression=True` predicts several numbers.

# %%
opinions = """1 Dreadful, I want my money back.
1 A complete disaster.
1 The worst phone ever made.
1 It broke on the first day, terrible.
2 Not good, not even for the price.
2 Rather disappointing.
2 It often fails, I would not buy it again.
2 Slow, and the sound is poor.
3 It does its job, nothing more.
3 Average in every respect.
3 Neither good nor bad.
3 It's all right for the money.
4 A nice phone with a small flaw.
4 Really good, almost perfect.
4 I like it, though it is a bit heavy.
4 Good value and a fine screen.
5 The best phone I have ever had.
5 Simply wonderful.
5 Perfect, I love everything about it.
5 Outstanding, buy it!"""
stars = [float(line[0]) for line in opinions.split("\n")]
opinions = [line[2:] for line in opinions.split("\n")]
rater = keras_bert.BertClassifier.from_preset(MINILM, num_classes=1, sequence_length=32)
train(rater, opinions, stars, epochs=40)
new = ["Horrible, it stopped at once.", "Nothing special.", "Fantastic, I am delighted!"]
for text, number in zip(new, rater.predict(new, verbose=0)):
    print(f"{number.item():.1f}  {text}")
print(rater.scores(new, [1.0, 3.0, 5.0]))

# %% [markdown]
# ## Numbers next to the text
#
# `num_features` numbers join the vector of the text before the head. The first `fit` learns their
# mean and variance, and scales them. With pandas, one text is written from several columns:

# %%
import pandas as pd

with open("pets.csv", "w") as file:
    file.write("""Name,Description,Age,Fee,Adopted
Tim,Loves naps.,1,0,soon
Lea,Climbs every tree.,9,90,late
Max,Gets on with children.,2,10,soon
Zoe,Needs a garden.,11,80,late
Kim,Sleeps on the sofa.,1,20,soon
Rex,Barks at cyclists.,10,70,late
Ida,Purrs all day.,2,0,soon
Bob,Afraid of thunder.,8,95,late
""")
table = pd.read_csv("pets.csv")
pets = {"text": table["Name"] + ". " + table["Description"], "features": table[["Age", "Fee"]]}
adoption = keras_bert.BertClassifier.from_preset(
    MINILM, label_names=["soon", "late"], num_features=2, sequence_length=32
)
adoption.backbone.freeze()  # eight examples suffice for the head alone
adoption.compile(keras_bert.AdamW(1e-2))
adoption.fit(pets, table["Adopted"], epochs=20, batch_size=2, verbose=0)
for numbers in ([1, 5], [10, 85]):
    answer = adoption.answer({"text": ["Pia. Likes to play."], "features": [numbers]})[0]
    print(numbers, answer["label"], f"{max(answer['probabilities']):.2f}")

# %% [markdown]
# ## Long texts
#
# A text beyond `sequence_length` loses its end. `truncation="tail"` keeps the end instead, and
# `"head_tail"` some of both. With `window_stride` the whole text is read, in windows that begin so
# many tokens apart; the text's logits are the mean of theirs, so what fills little of it may be
# missed. The model that finds several labels reads a text here whose middle is about the price:

# %%
aspects.save_to_preset("aspects")
long_text = "The parcel took a month. " + "My sister has one, too. " * 4
long_text += "It was far too expensive. " * 12 + "I use it on Sundays. " * 4
long_text += "The wood is very sturdy."
for arguments in ({}, {"truncation": "tail"}, {"window_stride": 16}):
    reader = keras_bert.BertClassifier.from_preset("aspects", **arguments)
    is_label = reader.answer(long_text)["is_label"]
    print(f"{arguments!s:23}", [name for name, found in zip(said, is_label) if found])

# %% [markdown]
# ## The same as a command
#
# ```bash
# python recipes/finetune_classifier.py --init bert/preset --output pets \
#     --train pets.csv --dev pets.csv --label_column Adopted --class_weight balanced \
#     --text_template "{Name}. {Description}" --number_columns Age Fee
# ```
#
# `finetune_glue.py` trains on one of GLUE's nine tasks and keeps the best model on the development
# set. It writes the test set's answers as GLUE's server expects them. `--grid` tries the paper's
# batch sizes, learning rates and epochs; `--seeds 0 1 2` runs three seeds of each. `--task all` trains
# on every task of a folder, and writes the model's row of the paper's
# [table 1](../paper.md#table-1-glue).
#
# ```bash
# python recipes/finetune_glue.py --init bert/preset --output mrpc \
#     --task mrpc --data glue_data/MRPC
# ```
