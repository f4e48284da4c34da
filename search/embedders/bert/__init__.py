"""Local models of BERT's architecture, from wheels, as quantised ONNX graphs: English and multilingual."""
