"""Mutations of what keeps files whole and readers from harm, of columns, answers and the command line."""

from mutation_parts.mutation import Mutation

SAVING = (
    Mutation(
        "a digest of nothing",
        "digest.update(block)",
        "digest.update(b'')",
        "test_hostile_files.py -k flipped",
    ),
    Mutation(
        "a mark with a flipped bit is no mark",
        "_LIKE_IT = len(_MARK) - 3",
        "_LIKE_IT = len(_MARK)",
        "test_hostile_files.py -k flipped",
    ),
    Mutation(
        "a comment that was cut is a comment",
        'tail[at + 20 : at + 22], "little") != len(tail)',
        'tail[at + 20 : at + 22], "little") < 0',
        "test_hostile_files.py -k cut",
    ),
    Mutation(
        "archives are written without a digest",
        "stream.write(_MARK + _digest(stream, [(0, end)]))",
        "stream.write(b'-' * _SEAL)",
        "test_hostile_files.py -k 'flipped and anywhere'",
    ),
    Mutation(
        "files of the cache are trusted unseen",
        "    refuse_changed(path)",
        "    pass",
        "test_hostile_files.py -k cache",
    ),
    Mutation(
        "files may unfold to anything",
        "unfolded > SMALL and unfolded > MOST_TIMES * size",
        "unfolded < 0",
        "test_hostile_files.py -k bombs",
    ),
    Mutation(
        "zeros are written as a bomb",
        "unfolded > SMALL and 2 * unfolded > MOST_TIMES * stream.tell()",
        "unfolded < 0",
        "test_hostile_files.py -k never_taken",
    ),
    Mutation(
        "names of archives may occur twice",
        "len({*names}) < len(names)",
        "not names",
        "test_hostile_files.py -k twice",
    ),
    Mutation("archives may lead up", '".." in parts', '"" in parts', "test_hostile_files.py -k ways_out"),
    Mutation(
        "archives may be packed in any way",
        "one.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)",
        "one.compress_type is None",
        "test_hostile_files.py -k odd_packing",
    ),
    Mutation(
        "keys lead out of the archive",
        'path.replace("..", "__")',
        "path",
        "test_hostile_files.py -k look_like",
    ),
    Mutation(
        "text of Parquet may repeat without end",
        "if repeating:",
        "if not columns:",
        "test_hostile_files.py -k bombs",
    ),
    Mutation(
        "types of text may be of any length",
        "refuse_unfolding(np.dtype(dtype).itemsize * count, size)",
        "pass",
        "test_hostile_files.py -k bombs",
    ),
    Mutation(
        "a failed write leaves what it has begun",
        "temporary.unlink(missing_ok=True)",
        "pass",
        "test_atomic.py -k half_way",
    ),
    Mutation(
        "files are written in place",
        "temporary = path.parent / own_name()",
        "temporary = path",
        "test_files.py -k failing_disk",
    ),
)
READING = (
    # Without `validate(full=True)` a damaged file of Arrow ends the process, and with it the run of the tests
    # (tests/test_found_inputs.py): no verdict can be had of that mistake.
    Mutation(
        "packed buffers of Arrow count nothing",
        "if batch.has(3):",
        "if batch.has(99):",
        "test_hostile_files.py -k packed",
    ),
    Mutation(
        "rows of Arrow count nothing",
        '_NUMBER * batch.number(0, "<q")',
        '0 * batch.number(0, "<q")',
        "test_hostile_files.py -k bombs",
    ),
    Mutation(
        "lines of a sheet may be numbered at will",
        "if number >= _MOST_LINES:",
        "if number >= _MOST_LINES**9:",
        "test_hostile_files.py -k bombs",
    ),
    Mutation(
        "cells far to the right count nothing",
        "cells += len(row)",
        "cells += 0",
        "test_hostile_files.py -k bombs",
    ),
    Mutation(
        "a wide line makes all lines wide",
        "refuse_unfolding(_CELL * width * len(rows), size)",
        "refuse_unfolding(_CELL * width, size)",
        "test_hostile_files.py -k bombs",
    ),
    Mutation(
        "cells may come from other files",
        "if one.is_virtual or one.external:",
        "if False:",
        "test_hostile_files.py -k elsewhere",
    ),
    Mutation(
        "links of cells are followed",
        "not isinstance(group.get(name, getlink=True), h5py.HardLink)",
        "group is None",
        "test_hostile_files.py -k elsewhere",
    ),
    Mutation(
        "cells of nothing take no memory",
        "total += one.nbytes",
        "total += 0",
        "test_hostile_files.py -k bombs",
    ),
    Mutation(
        "lists in lists are followed down",
        "except (ValueError, RecursionError):",
        "except ValueError:",
        "test_found_inputs.py",
    ),
    Mutation(
        "halves of characters stay",
        'text.encode("utf-8", "replace").decode("utf-8", "replace")',
        "text",
        "test_found_inputs.py",
    ),
    Mutation(
        "bytes stay in the order of another machine",
        'array.astype(array.dtype.newbyteorder("="), copy=False)',
        "array",
        "test_found_inputs.py",
    ),
    Mutation(
        "dates need no unit",
        'np.datetime_data(array.dtype)[0] != "generic"',
        'np.datetime_data(array.dtype)[0] != ""',
        "test_found_inputs.py",
    ),
    Mutation(
        "whole numbers have a largest one",
        "except OverflowError:  # whole",
        "except ZeroDivisionError:  # whole",
        "test_found_inputs.py",
    ),
)
COLUMNS = (
    Mutation(
        "quartiles are a deviation apart",
        "(high - low) / _QUARTILES)",
        "(high - low))",
        "test_written_numbers.py test_tables.py test_cli.py",
    ),
    Mutation(
        "numbers far outside are standardised",
        "farthest <= FAR * standard.scale",
        "farthest <= 1e9 * FAR * standard.scale",
        "test_written_numbers.py test_tables.py test_cli.py",
    ),
    Mutation(
        "half of the entries make a column of numbers",
        "NUMERIC_SHARE = 0.95",
        "NUMERIC_SHARE = 0.5",
        "test_tables.py test_written_numbers.py",
    ),
    Mutation(
        "text that is rarely the same is a category",
        "FREQUENT_SHARE = 0.5",
        "FREQUENT_SHARE = 0.0",
        "test_tables.py test_written_numbers.py",
    ),
    Mutation(
        "dates cluster unasked",
        "if not asked or facts.numbers is None:",
        "if facts.numbers is None:",
        "test_tables.py test_written_numbers.py",
    ),
)
ANSWERS = (
    Mutation(
        "a rule holds at its lower end",
        "(numbers > self.low) & (numbers <= self.high)",
        "(numbers >= self.low) & (numbers <= self.high)",
        "test_rules.py",
    ),
    Mutation(
        "what is missing matches every rule",
        "np.where(np.isnan(numbers), self.missing, found)",
        "np.where(np.isnan(numbers), True, found)",
        "test_rules.py",
    ),
    Mutation(
        "other categories match",
        "series.isin(self.categories).to_numpy() != self.others",
        "series.isin(self.categories).to_numpy()",
        "test_rules.py",
    ),
    Mutation(
        "of whole numbers with one code the first is meant",
        "same[0] if np.isnan(self.own) else same[np.abs(same - self.own).argmin()]",
        "same[0]",
        "test_smallest_change.py -k with_one_code",
    ),
    Mutation(
        "rounding makes another code",
        "same = self.values[away <= away.min() + 1e-12 * (1.0 + abs(code))]",
        "same = self.values[away <= 0.0]",
        "test_smallest_change.py -k with_one_code",
    ),
    Mutation(
        "a gap must move into the range of the data",
        "reached = (*self.ranges[column], float(self.start[position]))",
        "reached = self.ranges[column]",
        "test_smallest_change.py -k may_keep_what",
    ),
    Mutation(
        "few columns are not looked for where a bent border cannot be followed",
        "followed += [self._fewer(change, box) for change in across]",
        "followed += across",
        "test_smallest_change.py -k cannot_be_followed",
    ),
)
COMMAND = (
    Mutation(
        "formulas are written as they are",
        "lines, count = without_formulas(lines)",
        "count = without_formulas(lines)[1]",
        "test_safe_results.py -k formulas",
    ),
    Mutation(
        "minus two is a formula",
        'return text.startswith(("\\t", "\\r", "\\n"))',
        "return True",
        "test_safe_results.py -k formulas",
    ),
    Mutation(
        "names of columns may be formulas",
        "if is_formula(name) else name for name",
        "if not name else name for name",
        "test_safe_results.py -k formulas",
    ),
    Mutation(
        "nothing is said of apostrophes",
        "    if count:\n".strip(),
        "if count < 0:",
        "test_safe_results.py -k formulas",
    ),
    Mutation(
        "the report need not come last",
        'key=lambda path: path.name == "report.html"',
        'key=lambda path: path.name != "report.html"',
        "test_atomic.py -k last",
    ),
)
