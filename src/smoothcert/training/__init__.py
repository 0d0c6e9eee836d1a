"""Interprets a recipe: data, network, objective → weights in a run folder."""

from smoothcert.training.log import read_training_log
from smoothcert.training.loop import Epoch, Step, train

__all__ = ["Epoch", "Step", "read_training_log", "train"]
