"""``magnet demo``."""


def demo() -> None:
    """placeholder, replaced below"""
