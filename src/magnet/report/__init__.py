"""One self-contained HTML page per cleaning run, and the folder it lies in."""

from magnet.report.folder import write_folder
from magnet.report.page import render, write_report

__all__ = ["render", "write_folder", "write_report"]
