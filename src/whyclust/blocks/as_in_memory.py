"""Names of columns and words without blanks around them, as where a table is read at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whyclust.tables.tidying import unique_names

if TYPE_CHECKING:
    import pyarrow as pa

# What a column is called here and in its file, where these differ.
Called = tuple[tuple[str, str], ...]


def tidied(schema: Any) -> tuple[Any, Called, list[str]]:
    """A schema with names of their own for all columns, how files call them, and notes."""
    import pyarrow as pa

    names, notes = unique_names(schema.names)
    called = tuple((name, stored) for name, stored in zip(names, schema.names, strict=True) if name != stored)
    if not called:
        return schema, (), []
    fields = [field.with_name(name) for field, name in zip(schema, names, strict=True)]
    return pa.schema(fields, schema.metadata), called, notes


def tidied_batch(batch: pa.RecordBatch, names: Mapping[str, str]) -> pa.RecordBatch:
    """A batch with other names for some columns, and its texts without blanks around them.

    >>> import pyarrow as pa
    >>> batch = pa.RecordBatch.from_pydict({" a ": [" red ", "red", " "], "b": [1, 2, 3]})
    >>> tidied_batch(batch, {" a ": "a"}).to_pydict()
    {'a': ['red', 'red', None], 'b': [1, 2, 3]}
    """
    import pyarrow as pa

    columns = [_without_blanks(column) for column in batch.columns]
    if not names and all(one is other for one, other in zip(columns, batch.columns, strict=True)):
        return batch
    return pa.RecordBatch.from_arrays(columns, names=[names.get(name, name) for name in batch.schema.names])


def _without_blanks(column: Any) -> Any:
    """The column itself where there are none; texts of nothing else are gaps, and categories stay."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_string_view(kind):
        column = column.cast(pa.string())
    elif not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return column
    trimmed = pc.utf8_trim_whitespace(column)
    empty = pc.equal(pc.binary_length(trimmed), 0)
    if trimmed.equals(column) and not pc.any(empty).as_py():
        return column
    return pc.if_else(empty, pa.scalar(None, trimmed.type), trimmed)


def refuse_other_columns(one: Path, first: Any, other: Path, schema: Any) -> None:
    """Refuse a file whose columns are not those of the first one; whether there may be gaps is no matter."""
    if first.names == schema.names and first.types == schema.types:
        return
    differing = [field.name for field in first if field.name not in schema.names]
    differing += [field.name for field in schema if field.name not in first.names]
    if differing:
        told = f"'{one}' and '{other}' do not both have the column '{differing[0]}'"
    elif first.names != schema.names:
        told = f"'{one}' and '{other}' have their columns in different orders"
    else:
        name = next(name for name in first.names if first.field(name).type != schema.field(name).type)
        told = (
            f"column '{name}' is {first.field(name).type} in '{one}' and {schema.field(name).type} in "
            f"'{other}'"
        )
    raise ValueError(f"{told}: expected the same columns in all files.")
