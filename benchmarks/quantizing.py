"""Measures the effect of int8 quantization on sentence embeddings: direction, file size, time.

    python benchmarks/quantizing.py --model hf://sentence-transformers/all-MiniLM-L6-v2
    python benchmarks/quantizing.py --model path/to/folder --text sentences.txt

Without `--text`, it encodes sentences from Python's own reference. The ways take turns; the best
turn of each counts.
"""

import argparse
import re
import tempfile
import time
from pathlib import Path
from pydoc_data.topics import topics

import keras
import numpy as np

import keras_bert


def parse_args(argv=None):
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n\n")[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--model", required=True, help="source for BertEmbedder.from_preset")
    parser.add_argument("--text", help="text file, one sentence per line")
    parser.add_argument("--sentences", type=int, default=128)
    parser.add_argument("--sequence_length", type=int, default=64)
    parser.add_argument("--turns", type=int, default=5)
    return parser.parse_args(argv)


def read_sentences(args):
    if args.text:
        return Path(args.text).read_text(encoding="utf-8").splitlines()[: args.sentences]
    prose = " ".join(" ".join(topics.values()).split())
    sentences = re.findall(r"[A-Z][a-z]+ [^.!?]{20,300}[.!?]", prose)
    return sentences[:: max(1, len(sentences) // args.sentences)][: args.sentences]


def make_models(args):
    """Makes a model for each way, and measures the bytes of its preset's weights."""
    ways = {
        "float32": None,
        "int8 weights": keras.quantizers.Int8QuantizationConfig(activation_quantizer=None),
        "int8 weights and activations": keras.quantizers.Int8QuantizationConfig(),
    }
    models, sizes = {}, {}
    for way, config in ways.items():
        model = keras_bert.BertEmbedder.from_preset(
            args.model, sequence_length=args.sequence_length
        )
        if config:
            model.quantize(config=config)
        with tempfile.TemporaryDirectory() as folder:
            model.save_to_preset(Path(folder, "preset"))
            sizes[way] = Path(folder, "preset", "model.weights.h5").stat().st_size
        models[way] = model
    return models, sizes


def main(argv=None):
    args = parse_args(argv)
    sentences = read_sentences(args)
    models, sizes = make_models(args)
    vectors = {way: model.predict(sentences, verbose=0) for way, model in models.items()}
    seconds = dict.fromkeys(models, np.inf)
    for _ in range(args.turns):
        for way, model in models.items():
            started = time.perf_counter()
            model.predict(sentences, verbose=0)
            seconds[way] = min(seconds[way], time.perf_counter() - started)
    exact = vectors["float32"]
    print(f"{len(sentences)} sentences")
    print(f"{'':<30} {'cosine: mean':>12} {'lowest':>8} {'MB':>7} {'time':>6}")
    for way in models:
        norms = np.linalg.norm(vectors[way], axis=-1) * np.linalg.norm(exact, axis=-1)
        cosines = (vectors[way] * exact).sum(axis=-1) / norms
        time_taken = seconds[way] / seconds["float32"]
        print(
            f"{way:<30} {cosines.mean():12.4f} {cosines.min():8.4f} {sizes[way] / 1e6:7.1f} "
            f"{time_taken:6.2f}"
        )


if __name__ == "__main__":
    main()
