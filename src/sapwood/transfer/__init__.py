"""Sessions as JSON Lines, out of one store and into another, a piece at a time."""

from .export import Exported, export_lines
from .load import Imported, import_file
from .reading import check_shape

__all__ = ["Exported", "Imported", "check_shape", "export_lines", "import_file"]
