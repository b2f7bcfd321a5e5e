"""The families of rows: every module here gives its own through `rows()`."""

import importlib
import pkgutil

from measure import Row


def discover() -> list[Row]:
    """All rows, family after family in the order of the modules' names."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return [row for name in names for row in importlib.import_module(f"rows.{name}").rows()]
