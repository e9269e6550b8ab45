# %% [markdown]
# # Deploy and serve a model
#
# A trained model becomes a folder that takes raw strings and gives answers. Where it is served,
# neither Keras nor this library is needed. This guide trains a model that sorts messages to a shop,
# and exports it for TensorFlow Serving, and for any program with TensorFlow.

# %%
import keras_bert

messages = {
    "Where is my parcel?": "delivery",
    "The van came while I was out.": "delivery",
    "It should have been here on Monday.": "delivery",
    "Can I collect it from the depot?": "delivery",
    "I was charged twice.": "payment",
    "Please send me an invoice.": "payment",
    "My card was declined.": "payment",
    "When do I get my money back?": "payment",
    "The zip is broken.": "repair",
    "One of the wheels came off.": "repair",
    "It stopped working after a week.": "repair",
    "Do you have a spare handle?": "repair",
}
model = keras_bert.BertClassifier.from_preset(
    "hf://sentence-transformers/all-MiniLM-L6-v2",
    label_names=["delivery", "payment", "repair"],
    sequence_length=64,
)
model.compile(keras_bert.AdamW(2e-4))
history = model.fit([*messages], [*messages.values()], epochs=10, batch_size=4, verbose=0)

# %% [markdown]
# ## Export
#
# `export` writes a version of the model to a folder. Without Keras, TensorFlow and TensorFlow Text
# load it. Its first signature gives what `answer` gives.

# %%
import tensorflow as tf
import tensorflow_text  # the ops of the tokenizer

folder = model.export("served/messages")
served = tf.saved_model.load(folder)
texts = ["The courier never came.", "The lamp doesn't turn on.", "You billed me too much."]
answers = served.signatures["serving_default"](text=tf.constant(texts))
for text, label, probabilities in zip(texts, answers["label"], answers["probabilities"]):
    print(f"{label.numpy().decode():8} {max(probabilities.numpy()):.2f}  {text}")

# %% [markdown]
# The second signature, `token_ids`, is for programs that tokenize.

# %%
for name, signature in served.signatures.items():
    print(f"{name}: {', '.join(signature.structured_input_signature[1])}")
    print(f"    -> {', '.join(signature.structured_outputs)}")

# %% [markdown]
# ## TensorFlow Serving
#
# The folder has the layout of TensorFlow Serving, which picks the highest version, and a new one
# while it runs: `export("served/messages", version=2)`. The model brings its vocabulary.
#
# ```bash
# docker run -p 8501:8501 -v $PWD/served/messages:/models/messages -e MODEL_NAME=messages \
#     tensorflow/serving
# curl -d '{"instances": ["Where is my parcel?", "My card was declined."]}' \
#     http://localhost:8501/v1/models/messages:predict
# ```
#
# ```json
# {"predictions": [
#   {"label": "delivery", "labels": ["delivery", "payment", "repair"],
#    "probabilities": [0.96, 0.02, 0.02]},
#   {"label": "payment", "labels": ["delivery", "payment", "repair"],
#    "probabilities": [0.02, 0.96, 0.02]}]}
# ```
#
# The model needs TensorFlow Text's ops, which TensorFlow Serving's images include. Image 2.20 has
# the ops of TensorFlow Text 2.20; images 2.12 to 2.19 have those of 2.12. Use 2.20 or later, which
# also serves models exported by TensorFlow 2.21.
#
# The first request takes many times as long as later ones. TensorFlow Serving answers the requests
# of a warm-up file before it takes others. `pip install tensorflow-serving-api` has their classes:
#
# ```py
# import pathlib
# from tensorflow_serving.apis import predict_pb2, prediction_log_pb2
#
# path = pathlib.Path(folder, "assets.extra", "tf_serving_warmup_requests")
# path.parent.mkdir()
# with tf.io.TFRecordWriter(str(path)) as file:
#     for text in ("My card was declined.", "The zip is broken. " * 20):
#         request = predict_pb2.PredictRequest(model_spec={"name": "messages"})
#         request.model_spec.signature_name = "serving_default"
#         request.inputs["text"].CopyFrom(tf.make_tensor_proto([text]))
#         log = prediction_log_pb2.PredictLog(request=request)
#         file.write(prediction_log_pb2.PredictionLog(predict_log=log).SerializeToString())
# ```
#
# ```bash
# python recipes/export_savedmodel.py reviews/best --output served/reviews
# ```
#
# Programs without TensorFlow run [other formats](hand_it_over.py).
#
# ## Old clients
#
# Clients of google-research/bert send `tf.Example`s of int64 ids. A few lines keep them: they wrap
# the second signature, in the length that the clients pad to.

# %%
NAMES = {"input_ids": "token_ids", "input_mask": "padding_mask", "segment_ids": "segment_ids"}


class OldClients(tf.Module):
    def __init__(self, folder):
        self.model = tf.saved_model.load(folder)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def answer(self, examples):
        length = tf.io.FixedLenFeature([64], tf.int64)
        theirs = tf.io.parse_example(examples, dict.fromkeys(NAMES, length))
        inputs = {NAMES[name]: tf.cast(ids, tf.int32) for name, ids in theirs.items()}
        return self.model.signatures["token_ids"](**inputs)


old = OldClients(folder)
tf.saved_model.save(old, "served/old/1", signatures={"serving_default": old.answer})

# %% [markdown]
# An example with the ids of the first text gets the same probabilities:

# %%
ids = model.preprocessor(texts[:1])
features = {}
for theirs, ours in NAMES.items():
    row = list(ids[ours][0]) + [0] * (64 - len(ids[ours][0]))
    features[theirs] = tf.train.Feature(int64_list=tf.train.Int64List(value=row))
example = tf.train.Example(features=tf.train.Features(feature=features))
answer = tf.saved_model.load("served/old/1").signatures["serving_default"]
same = answer(examples=tf.constant([example.SerializeToString()]))["probabilities"]
print(same.numpy().round(2), answers["probabilities"][:1].numpy().round(2))

# %% [markdown]
# ## An endpoint in Python
#
# `answer` runs behind a web server, too, without an export: see [Serve it from Python](endpoint.py).
#
# ## Reference: inputs and answers of the SavedModel
#
# | model | inputs | answers |
# |---|---|---|
# | `BertClassifier` | `text`: a text, or a pair `["first", "second"]` | `label`, `probabilities`, `labels`; with several labels `is_label` in place of `label`; of a regression `score` alone |
# | `BertTokenClassifier` | `text` | `entity_text`, `entity_type`, `entity_score`, spans in characters and bytes, `num_entities` |
# | `BertSpanLabeler` | `question`, `context` | `answer`, `score`, its span in characters and bytes |
# | `BertMultipleChoice` | `context`, `choices` | `label`, `choice`, `probabilities` |
# | `BertReranker` | `query`, `documents` | `score` |
# | `BertEmbedder` | `text`; also signatures `query`, `document` with their prompts | `embedding` |
