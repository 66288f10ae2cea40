"""ONNX models become symbols: a table of translations, one module for each family of operators."""
