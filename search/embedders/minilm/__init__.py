"""The default embedder: all-MiniLM-L6-v2 as a quantised ONNX graph."""
