"""Answers texts with programs of others, from folders that `BertTask.export` wrote.

    .venv-consumers/bin/python tests/serving/consumers.py FOLDER '["a text", "a question"]'

It runs in an environment of its own, since Optimum needs an older transformers. Prints a dict of
answers by program.
"""

import json
import sys

import numpy as np


def fastembed(root, texts):
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    TextEmbedding.add_custom_model(
        "books/embedder",
        pooling=PoolingType.MEAN,
        normalization=True,
        sources=ModelSource(url="http://127.0.0.1/none"),
        dim=384,
        model_file="onnx/model.onnx",
    )
    model = TextEmbedding("books/embedder", specific_model_path=f"{root}/onnx/embedder")
    return np.array([*model.embed(texts)]).tolist()


def sentence_transformers(root, texts):
    from sentence_transformers import CrossEncoder, SentenceTransformer

    options = {"backend": "onnx", "model_kwargs": {"provider": "CPUExecutionProvider"}}
    embedder = SentenceTransformer(f"{root}/onnx/embedder", **options)
    reranker = CrossEncoder(f"{root}/onnx/reranker", **options)
    score = reranker.predict([(texts[1], texts[0])])
    return {"embedder": embedder.encode(texts).tolist(), "reranker": score.tolist()}


def pipelines(root, texts):
    import transformers
    from optimum import onnxruntime

    def make(task, name, folder, **options):
        folder = f"{root}/onnx/{folder}"
        model = getattr(onnxruntime, f"ORTModelFor{name}").from_pretrained(folder)
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        return transformers.pipeline(task, model=model, tokenizer=tokenizer, **options)

    classify = make("text-classification", "SequenceClassification", "classifier", top_k=None)
    tag = make(
        "token-classification", "TokenClassification", "tagger", aggregation_strategy="first"
    )
    read = make("question-answering", "QuestionAnswering", "reader")
    return {
        "classifier": classify(texts),
        "tagger": [{**entity, "score": float(entity["score"])} for entity in tag(texts[0])],
        "reader": read(question=texts[1], context=texts[0]),
    }


def openvino(root, texts):
    """Answers raw strings in one graph, of a tokenizer and the model."""
    import openvino
    import transformers
    from openvino_tokenizers import connect_models, convert_tokenizer

    folder, core = f"{root}/openvino/classifier", openvino.Core()
    tokenizer = convert_tokenizer(transformers.AutoTokenizer.from_pretrained(folder))
    model = connect_models(tokenizer, core.read_model(f"{folder}/openvino/openvino_model.xml"))
    model.add_sinks(tokenizer.get_sinks())  # connect_models loses them
    run = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return run(texts)["logits"].tolist()


if __name__ == "__main__":
    folder, given = sys.argv[1], json.loads(sys.argv[2])
    programs = (fastembed, sentence_transformers, pipelines, openvino)
    print(json.dumps({program.__name__: program(folder, given) for program in programs}))
