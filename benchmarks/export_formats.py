"""Measures how fast and how exactly a CPU runs a model, by exported format and precision.

    python benchmarks/export_formats.py --model hf://sentence-transformers/all-MiniLM-L6-v2
    python benchmarks/export_formats.py --predict --model hf://sentence-transformers/all-MiniLM-L6-v2
    python benchmarks/export_formats.py --neighbors --data data --model all-MiniLM-L6-v2

The model embeds texts of Python's own reference that fill the sequences. The ways take turns; the
best turn of each counts. Each runs on one thread, and the figures are CPU time, which other
programs hardly disturb. Needs the `export` extra.

With `--predict`, the ways are `predict` of the model in float32 and quantized, on 128 sentences of
the same reference, on all cores; the file is that of the preset's weights.

With `--neighbors`, it counts for how many of 60 texts, half of them reviews and half of them short
premises, int8 keeps the nearest of the others: alone, in batches of 8, and in batches beside a text
of 256 tokens. Data: `nli/test.tsv` and `sentiment/test.tsv`.
"""

import argparse
import re
import tempfile
import time
from pathlib import Path
from pydoc_data.topics import topics

import keras
import numpy as np
from inference_speed import read_texts

import keras_bert


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--model", required=True, help="source for BertEmbedder.from_preset")
    add("--shapes", nargs="+", default=["1x32", "1x128", "8x128"], help="rows x tokens")
    add("--turns", type=int, default=10, help="turns of each way; the best one counts")
    add("--predict", action="store_true", help="measure `predict` of quantized models")
    add("--neighbors", action="store_true", help="count the nearest neighbors that int8 keeps")
    add("--data", type=Path, help="folder with nli/ and sentiment/, for --neighbors")
    return parser.parse_args(argv)


def load(args, policy="float32"):
    keras.config.set_dtype_policy(policy)
    model = keras_bert.BertEmbedder.from_preset(args.model)
    keras.config.set_dtype_policy("float32")
    return model


def savedmodel(path):
    import tensorflow as tf

    run = tf.saved_model.load(path).signatures["token_ids"]
    return lambda inputs: run(**{n: tf.constant(x) for n, x in inputs.items()})["embedding"].numpy()


def onnx(path, output="embedding"):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options)
    return lambda inputs: session.run([output], inputs)[0]


def litert(path, output="embedding"):
    from ai_edge_litert.interpreter import Interpreter

    run = Interpreter(path, num_threads=1).get_signature_runner()
    return lambda inputs: run(**inputs)[output]


def openvino(path, precision="f32", output="embedding"):
    from openvino import Core

    hints = {"INFERENCE_PRECISION_HINT": precision, "PERFORMANCE_HINT": "LATENCY"}
    hints["INFERENCE_NUM_THREADS"] = 1
    compiled = Core().compile_model(path, "CPU", hints)
    return lambda inputs: compiled(inputs)[output]


def make_ways(args, folder):
    """Exports the model in each way; `{way: (function of inputs, bytes of its files)}`."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    model = load(args)
    formats = ("onnx", "litert", "openvino")
    options = {"names": "keras_bert"}
    paths = {f: model.export(folder / f, format=f, **options) for f in formats}
    int8 = {f: model.export(folder / f"{f}8", format=f, int8=True, **options) for f in formats}
    texts = sentences(300)
    calibrated = model.export(folder / "calibrated", format="openvino", int8=texts, **options)
    quantized = load(args)
    quantized.quantize("int8")
    quantized = quantized.export(folder / "onnx8_keras", format="onnx", **options)
    mixed = load(args, "mixed_bfloat16").export(folder / "mixed")
    exported = model.export(folder / "savedmodel")
    ways = {
        "TensorFlow SavedModel, float32": (savedmodel(exported), exported),
        "TensorFlow SavedModel, mixed bfloat16": (savedmodel(mixed), mixed),
        "ONNX Runtime, float32": (onnx(paths["onnx"]), paths["onnx"]),
        "ONNX Runtime, `int8=True`": (onnx(int8["onnx"]), int8["onnx"]),
        'ONNX Runtime, Keras `quantize("int8")`': (onnx(quantized), quantized),
        "LiteRT, float32": (litert(paths["litert"]), paths["litert"]),
        "LiteRT, `int8=True`": (litert(int8["litert"]), int8["litert"]),
    }
    for way, path, precision in (
        ("float32", paths["openvino"], "f32"),
        ("bfloat16", paths["openvino"], "bf16"),
        ("`int8=True`", int8["openvino"], "f32"),
        ("`int8=texts`", calibrated, "f32"),
    ):
        ways[f"OpenVINO, {way}"] = (openvino(path, precision), Path(path).with_suffix(".bin"))
    return model, {way: (run, num_bytes(path)) for way, (run, path) in ways.items()}


def num_bytes(path):
    files = Path(path).rglob("*") if Path(path).is_dir() else [Path(path)]
    return sum(file.stat().st_size for file in files if file.is_file())


def make_batches(args, model):
    """Makes a batch of whole sequences for each shape."""
    words = re.findall(r"[a-z]+", " ".join(topics.values()).lower())
    batches = {}
    for shape in args.shapes:
        rows, length = map(int, shape.split("x"))
        texts = [" ".join(words[length * i : length * (i + 1)]) for i in range(rows)]
        reader = type(model.preprocessor).like(model.preprocessor, sequence_length=length)
        batches[shape] = {name: np.asarray(x) for name, x in reader(texts).items()}
    return batches


def sentences(number):
    """Sentences of Python's reference, from all of it."""
    prose = " ".join(" ".join(topics.values()).split())
    found = re.findall(r"[A-Z][a-z]+ [^.!?]{20,300}[.!?]", prose)
    return found[:: len(found) // number][:number]


def print_predicting(args, folder):
    """Compares quantized models by direction, file size and time."""
    texts = sentences(128)
    ways = {
        "float32": None,
        "int8 weights": keras.quantizers.Int8QuantizationConfig(activation_quantizer=None),
        "int8 weights and activations": keras.quantizers.Int8QuantizationConfig(),
    }
    models, sizes = {}, {}
    for way, config in ways.items():
        models[way] = keras_bert.BertEmbedder.from_preset(args.model, sequence_length=64)
        if config:
            models[way].quantize(config=config)
        models[way].save_to_preset(folder / way)
        sizes[way] = num_bytes(folder / way / "model.weights.h5")
    vectors = {way: model.predict(texts, verbose=0) for way, model in models.items()}
    seconds = dict.fromkeys(models, np.inf)
    for _ in range(args.turns):
        for way, model in models.items():
            started = time.perf_counter()
            model.predict(texts, verbose=0)
            seconds[way] = min(seconds[way], time.perf_counter() - started)
    print("| | cosine: mean, lowest | MB | time |\n|---|---|---|---|")
    for way, size in sizes.items():
        cosine, ratio = cosines(vectors[way], vectors["float32"]), seconds[way] / seconds["float32"]
        shown = f"{cosine.mean():.4f}, {cosine.min():.4f}"
        print(f"| {way} | {shown} | {size / 1e6:.1f} | {ratio:.2f} |")


def print_neighbors(args, folder):
    """Prints how many nearest neighbors each format keeps in int8, and the lowest cosine."""
    found = read_texts(args.data, (30, 32))
    *reviews, one, other = found["reviews"]
    texts = [text for pair in zip(reviews, found["sentences"], strict=True) for text in pair]
    long = f"{one} {other}"
    model = keras_bert.BertEmbedder.from_preset(args.model, sequence_length=256)

    def vectors(run, others, size):
        """Embeds the texts in batches of a size, each beside other texts."""
        found = []
        for start in range(0, len(texts), size):
            rows = model.preprocessor.read(texts[start : start + size] + others)
            inputs = rows.as_batch()[0]
            found.append(run(inputs)[: len(inputs["token_ids"]) - len(others)])
        return np.concatenate(found)

    def nearest(vectors):
        products = vectors @ vectors.T
        np.fill_diagonal(products, -np.inf)
        return products.argmax(axis=1)

    exact = vectors(lambda inputs: model.predict(inputs, verbose=0), [], 1)
    print("| | alone | in batches of 8 | beside a long text |\n|---|---|---|---|")
    for name, runtime in (("onnx", onnx), ("openvino", openvino), ("litert", litert)):
        run = runtime(model.export(folder / name, format=name, names="keras_bert", int8=True))
        cells = []
        for others, size in (([], 1), ([], 8), ([long], 7)):
            quantized = vectors(run, others, size)
            kept = np.count_nonzero(nearest(quantized) == nearest(exact))
            cells.append(f"{kept} of {len(texts)}, {cosines(quantized, exact).min():.4f}")
        print(f"| {name} | {' | '.join(cells)} |")


def cosines(vectors, exact):
    norms = np.linalg.norm(vectors, axis=-1) * np.linalg.norm(exact, axis=-1)
    return (vectors * exact).sum(axis=-1) / norms


def measure(args, ways, batch):
    """Measures the CPU seconds of each way's best turn."""
    seconds = dict.fromkeys(ways, np.inf)
    for _ in range(args.turns):
        for way, (run, _) in ways.items():
            run(batch)  # for this shape
            started = time.process_time()
            run(batch)
            seconds[way] = min(seconds[way], time.process_time() - started)
    return seconds


def main(argv=None):
    args = parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        if args.predict:
            return print_predicting(args, Path(folder))
        if args.neighbors:
            return print_neighbors(args, Path(folder))
        model, ways = make_ways(args, Path(folder))
        batches = make_batches(args, model)
        seconds = {shape: measure(args, ways, batch) for shape, batch in batches.items()}
        batch = batches[args.shapes[-1]]
        exact = model.predict(batch, verbose=0)
        found = {way: run(batch) for way, (run, _) in ways.items()}
    first = next(iter(ways))
    milliseconds = ", ".join(f"{1000 * s[first]:.1f} ms for {n}" for n, s in seconds.items())
    print(f"{first}: {milliseconds}")
    print(f"| | {' | '.join(args.shapes)} | largest difference | lowest cosine | MB |")
    print(f"|---|{'---|' * (len(args.shapes) + 3)}")
    for way, (_, size) in ways.items():
        ratios = " | ".join(f"{s[way] / s[first]:.2f}" for s in seconds.values())
        cosine = cosines(found[way], exact).min()
        difference = np.abs(found[way] - exact).max()
        print(f"| {way} | {ratios} | {difference:.1e} | {cosine:.4f} | {size / 1e6:.0f} |")


if __name__ == "__main__":
    main()
