"""Runtimes of exported models: functions of a path and inputs that return the outputs."""


def run_onnx(path, inputs):
    import onnxruntime

    session = onnxruntime.InferenceSession(path)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


def run_litert(path, inputs):
    from ai_edge_litert.interpreter import Interpreter

    return Interpreter(model_path=path).get_signature_runner()(**inputs)


def run_openvino(path, inputs):
    import openvino

    compiled = openvino.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    found = compiled(inputs)
    return {output.any_name: found[output] for output in compiled.outputs}


RUN = {"onnx": run_onnx, "litert": run_litert, "openvino": run_openvino}
