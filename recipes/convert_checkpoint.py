"""Converts a BERT from one library's format to another's.

    python recipes/convert_checkpoint.py hf://google-bert/bert-base-uncased bert --to keras_bert
    python recipes/convert_checkpoint.py uncased_L-12_H-768_A-12 bert_hf --to hugging_face

SOURCE is a folder from Google's TF1 code (or the prefix of a checkpoint in it), Hugging Face,
sentence-transformers, KerasHub or this library; `hf://user/name`, optionally with `@revision`;
`kaggle://...`; or the name of a KerasHub preset. The model keeps its task: a pre-trained model
keeps its heads, a classifier its labels, an embedder its pooling. An encoder without a task becomes
an embedder with mean pooling; `--load_as backbone` keeps it as an encoder, without its vocabulary.
Prints a table of all weights. It takes seconds, and little more memory than the weights.
"""

import _shared
import keras_bert

FORMATS = ["hugging_face", "keras_bert"]


def parse_args(argv=None):
    parser = _shared.recipe_parser(__doc__)
    add = parser.add_argument
    add("source", help="folder, hf://user/name, kaggle://... or name of a KerasHub preset")
    add("destination", help="folder to write; a model in it is replaced")
    add("--to", choices=FORMATS, default="keras_bert", help="format to write")
    add("--load_as", choices=["backbone", "pretrainer"], help="model to load, if not the source's")
    casing = parser.add_mutually_exclusive_group()
    casing.add_argument("--uncased", action="store_true", help="lowercase text and strip accents")
    casing.add_argument("--cased", action="store_true", help="keep capital letters and accents")
    args = parser.parse_args(argv)
    args.lowercase = args.uncased if args.uncased or args.cased else None
    return args


def main(argv=None):
    args = parse_args(argv)
    model_class = {
        None: keras_bert.BertTask,
        "backbone": keras_bert.BertBackbone,
        "pretrainer": keras_bert.BertPretrainer,
    }[args.load_as]
    model = model_class.from_preset(args.source, lowercase=args.lowercase)
    print(model.load_report)
    if args.to == "keras_bert":
        model.save_to_preset(args.destination)
    else:
        getattr(model, f"save_to_{args.to}")(args.destination)
    print(f"Wrote a {type(model).__name__} to {args.destination}, in the format of {args.to}.")


if __name__ == "__main__":
    _shared.run_recipe(main)
