"""Interprets a trained run and a test set: certificates, one row per image, in an append-only log."""

from smoothcert.certification.log import CertificationLog, read_log
from smoothcert.certification.open_run import OpenedRun, open_run
from smoothcert.certification.run import Settings, certify_images
from smoothcert.certification.selection import Selection

__all__ = [
    "CertificationLog",
    "OpenedRun",
    "Selection",
    "Settings",
    "certify_images",
    "open_run",
    "read_log",
]
