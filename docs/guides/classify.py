# %% [markdown]
# # Classify: from a CSV file to a served model
#
# You have a table with texts and their classes, and you want a service that classifies new texts.
# This guide takes sixteen reviews through the whole way. Sixteen only illustrate the steps; below a
# few hundred examples, [another method](few_labels.py) works better. It starts from all-MiniLM-L6-v2, a
# small published BERT that trains in seconds on a laptop. For better scores, put
# `hf://google-bert/bert-base-uncased` in its place and use a GPU. pandas and scikit-learn come with
# `pip install ".[tensorflow,recipes]"`.

# %%
import keras_bert

reviews = """text,label
A warm and funny film with a wonderful cast.,good
I could not stop reading; what a beautiful story.,good
The best dinner we have had in years.,good
Great sound and a battery that lasts for days.,good
Friendly staff and a spotless room.,good
She sings like nobody else. I was moved to tears.,good
A clever plot and a perfect ending.,good
It works exactly as promised. I am delighted.,good
"Dull, slow and far too long.",bad
The plot makes no sense and the jokes fall flat.,bad
Cold food and a rude waiter.,bad
It broke after two days. A waste of money.,bad
The room was dirty and the street was loud.,bad
I fell asleep in the second act.,bad
"Poorly written, with a ridiculous ending.",bad
The worst customer service I have ever met.,bad
"""
with open("reviews.csv", "w") as file:
    file.write(reviews)

# %% [markdown]
# pandas reads CSV, TSV, JSONL and Parquet.

# %%
import pandas as pd

table = pd.read_csv("reviews.csv")
texts, labels = table["text"], table["label"]
len(texts), sorted(set(labels))

# %% [markdown]
# ## Fine-tune
#
# `from_preset` takes a published model, a folder, or a preset of your own. A new head is put on it.
# Without `compile`, `fit` uses the paper's optimizer: AdamW, a warm-up, and a linear decay of the
# learning rate over all the steps of the call. Sixteen texts make few steps, so this call takes
# larger ones than the paper.

# %%
classifier = keras_bert.BertClassifier.from_preset(
    "hf://sentence-transformers/all-MiniLM-L6-v2",
    label_names=["bad", "good"],
    sequence_length=64,
)
steps = 10 * len(texts) // 4
rate = keras_bert.WarmupLinearDecay(2e-4, warmup_steps=steps // 10, total_steps=steps)
classifier.compile(keras_bert.AdamW(rate))
history = classifier.fit(texts, labels, epochs=10, batch_size=4, verbose=2)

# %% [markdown]
# ## Ask it
#
# `answer` gives names and probabilities, `predict` gives logits, and `scores` compares with labels.

# %%
new = ["What a lovely book!", "A boring film with a silly ending."]
for text, answer in zip(new, classifier.answer(new)):
    print(f"{answer['label']:5} {max(answer['probabilities']):.2f}  {text}")

# %% [markdown]
# A confusion matrix counts the labels that each class gets: a row for each right one, a column for
# each answer. On texts that it wasn't trained on, it shows which classes are mixed up.

# %%
from sklearn.metrics import confusion_matrix

answers = [answer["label"] for answer in classifier.answer(texts)]
names = classifier.preprocessor.label_names
print(names, confusion_matrix(labels, answers, labels=names), sep="\n")

# %% [markdown]
# ## Keep it
#
# A preset is a folder with the weights, the vocabulary and all settings. `from_preset` loads it.

# %%
classifier.save_to_preset("reviews_preset")
again = keras_bert.BertClassifier.from_preset("reviews_preset")
again.answer(new[0])["label"]

# %% [markdown]
# ## Serve it
#
# The exported model takes raw strings. It holds the vocabulary and needs neither Keras nor this
# library, only TensorFlow and TensorFlow Text, which TensorFlow Serving includes.

# %%
import tensorflow as tf
import tensorflow_text  # the ops of the tokenizer

classifier.export("served/reviews")
signature = tf.saved_model.load("served/reviews/1").signatures["serving_default"]
signature(text=tf.constant(new))["label"].numpy()

# %% [markdown]
# ```bash
# docker run -p 8501:8501 -v $PWD/served/reviews:/models/reviews -e MODEL_NAME=reviews \
#     tensorflow/serving
# curl -d '{"instances": ["A fine book."]}' http://localhost:8501/v1/models/reviews:predict
# ```
#
# ## The same as a command
#
# The recipe trains epoch by epoch, keeps the epoch that is best on the development set, and goes on
# where it stopped if you run it again.
#
# ```bash
# python recipes/finetune_classifier.py --init bert/preset --output reviews \
#     --train train.tsv --dev dev.tsv --text_column text --label_column label
# python recipes/export_savedmodel.py reviews/best --output served/reviews
# ```
