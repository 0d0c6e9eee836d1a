"""Every reader of files: good files of its kind, hostile ones, how to mutate them, and the call that opens one."""

from fuzz.readers import images, logs, models, recipes, tables
from fuzz.readers.base import Reader

READERS: tuple[Reader, ...] = (
    *images.READERS,
    *logs.READERS,
    *recipes.READERS,
    *models.READERS,
    *tables.READERS,
)

__all__ = ["READERS", "Reader"]
