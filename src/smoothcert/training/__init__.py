"""Interprets a recipe: data, network, objective → weights in a run folder.

Nothing is imported here, so that reading a training log does not wait for torch.
"""
