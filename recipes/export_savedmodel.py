"""Exports a fine-tuned model as a SavedModel that takes raw strings, or in another format.

    python recipes/export_savedmodel.py reviews/best --output served/reviews --text "A fine book."
    python recipes/export_savedmodel.py reviews/best --output reviews_onnx --format onnx

The SavedModel, OUTPUT/1, has the layout of TensorFlow Serving, with the vocabulary inside. It runs
with TensorFlow and TensorFlow Text alone, and can be moved. `--text` queries it from a process of
its own. The last part of OUTPUT is the model's name. Other formats take token ids; they get the
tokenizer's files.
"""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import _shared
import keras_bert

ASK = """
import json, sys
import tensorflow as tf, tensorflow_text
answer = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
answers = answer(text=tf.constant(json.loads(sys.argv[2])))
for name, value in sorted(answers.items()):
    print(f"{name}: {value.numpy().tolist()}")
"""


def parse_args(argv=None):
    parser = _shared.recipe_parser(__doc__)
    add = parser.add_argument
    add("preset", help="folder of a fine-tuned model, or any source that from_preset accepts")
    add("--output", required=True, help="output folder")
    formats = ("tf_saved_model", "onnx", "litert", "openvino")
    add("--format", choices=formats, default=formats[0], help="of the file, or of its runtime")
    add("--version", type=int, default=1, help="TensorFlow Serving serves the highest version")
    add("--text", nargs="*", default=[], help="texts to query the exported SavedModel with")
    args = parser.parse_args(argv)
    if args.format != formats[0] and (args.text or args.version != 1):
        parser.error("--text and --version are for SavedModels")
    return args


def main(argv=None):
    args = parse_args(argv)
    model = keras_bert.BertTask.from_preset(args.preset)
    if args.format != "tf_saved_model":
        exported = model.export(args.output, format=args.format)
        print(f"Exported to {Path(exported).resolve()}.")
        return
    takes = [*getattr(model.preprocessor, "signature", [])]  # export refuses a model without one
    takes += [name for name in model.input if name not in model.backbone.input]
    if args.text and takes != ["text"]:
        raise ValueError(f"--text is for models of a text alone; this one takes {takes}.")
    exported = Path(model.export(args.output, version=args.version)).resolve()
    name, folder = exported.parent.name, exported.parent
    print(f"Exported to {exported}. Serve it with")
    volume = shlex.quote(f"{folder}:/models/{name}")
    print(f"  docker run -p 8501:8501 -v {volume} -e MODEL_NAME={name} \\")
    print(f"      tensorflow/serving\nand query it with instances of {', '.join(takes)}")
    if takes == ["text"]:
        request = shlex.quote(json.dumps({"instances": args.text[:2] or ["A text.", "Another."]}))
        print(f"  curl -d {request} http://localhost:8501/v1/models/{name}:predict")
    if args.text:
        print("Its answers:", flush=True)
        subprocess.run([sys.executable, "-c", ASK, exported, json.dumps(args.text)], check=True)


if __name__ == "__main__":
    _shared.run_recipe(main)
