"""Symbols become ONNX models: a table of translations, one module for each family of operators."""
