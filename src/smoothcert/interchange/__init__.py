"""Others' files: checkpoints, ONNX, factories; weights as safetensors."""
