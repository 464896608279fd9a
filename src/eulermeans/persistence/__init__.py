"""Model files: saved without pickle, checked when they are loaded."""

from ..container import ModelFileError
from .models import SavedModel, load, read_model, save

__all__ = ["ModelFileError", "SavedModel", "load", "read_model", "save"]
