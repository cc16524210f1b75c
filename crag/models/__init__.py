"""The embedded ONNX models and the one loader that runs them."""
