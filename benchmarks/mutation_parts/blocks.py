"""Mutations of tables by block: what is read of rows and columns, the same in every block."""

from mutation_parts.mutation import Mutation

_READING = "test_blocks_reading.py"

BLOCKS = (
    Mutation(
        "each batch decides what its commas mean",
        "return self._values(*self._bares(texts), bool(self.comma))",
        "return self.read(texts)",
        f"{_READING} -k decimal_comma",
    ),
    Mutation(
        "what no drawn row has shown is not looked for",
        "if not _is_gap(word) and entry_of(word) is not None",
        "if entry_of(word) is None",
        f"{_READING} -k 'no_drawn_row'",
    ),
    Mutation(
        "a few numbers among words make a column of numbers",
        "return n_numbers < NUMERIC_SHARE * (n_numbers + found.n_odd[name])",
        "return False",
        f"{_READING} -k mostly_words",
    ),
    Mutation(
        "a word for totals counts wherever it stands",
        "its if (name, word) in nowhere",
        "its if name",
        f"{_READING} -k other_rows_have",
    ),
    Mutation(
        "rows behind a total keep their numbers",
        "first_row=first, n_rows=rows, pieces=tuple(pieces))",
        "n_rows=rows, pieces=tuple(pieces))",
        f"{_READING} -k every_file",
    ),
    Mutation(
        "only the table's last file may have a total",
        "Piece(str(path), kind, place, place + 1, rows, own, place == len(groups) - 1, names)",
        "Piece(str(path), kind, place, place + 1, rows, own, path == files[-1], names)",
        f"{_READING} -k every_file",
    ),
    Mutation(
        "values are followed that only one block has",
        "return cls(found[:MOST_FOLLOWED], often[:MOST_FOLLOWED], n_rows)",
        "return cls(found[-MOST_FOLLOWED:], np.minimum(often, 1)[-MOST_FOLLOWED:], n_rows)",
        f"{_READING} -k followed",
    ),
    Mutation(
        "5 and 5.0 are two ids",
        "whole = (array == np.floor(array)) & (np.abs(array) < 2**53)",
        "whole = np.zeros(len(array), dtype=bool)",
        f"{_READING} -k followed",
    ),
    Mutation(
        "ids that repeat tell rows apart",
        "known is not None and not known.repeats and known.n_rows == one.n_rows",
        "known is not None",
        f"{_READING} -k in_memory",
    ),
    Mutation(
        "columns in names of folders are the first folder's",
        "own = tuple(key for key in keys.get(path, ()) if key[0] not in schema.names)",
        "own = tuple(key for key in keys.get(files[0], ()) if key[0] not in schema.names)",
        "test_blocks.py -k names_of_folders",
    ),
)
