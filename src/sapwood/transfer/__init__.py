"""Sessions as JSON Lines, out of one store and into another, a piece at a time."""

from .check import check_alone
from .export import Exported, export_lines
from .load import Imported, import_file

__all__ = ["Exported", "Imported", "check_alone", "export_lines", "import_file"]
