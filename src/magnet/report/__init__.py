"""The HTML report of a cleaning run, its output folder and the review server."""

from magnet.report.folder import write_folder
from magnet.report.page import render, write_report

__all__ = ["render", "write_folder", "write_report"]
