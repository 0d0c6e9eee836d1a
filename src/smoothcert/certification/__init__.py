"""Interprets a trained run and a test set: certificates, one row per image, in an append-only log.

Nothing is imported here, so that reading a log does not wait for torch.
"""
