"""The list of mutations stays alive: every text is still in the library, and its tests are there."""

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def script():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import mutations
    finally:
        sys.path.remove(str(BENCHMARKS))
    return mutations


def test_every_mutation_finds_its_text_and_its_tests(script):
    sources, wrong = script.read_sources(), []
    found = [mutation for part in script.SUBJECTS.values() for mutation in part]
    for mutation in found:
        for check in (lambda: mutation.place(sources), mutation.check_tests):  # noqa: B023
            try:
                check()
            except ValueError as error:
                wrong.append(str(error))
    assert not wrong, "\n".join(wrong)
    assert len(found) >= 200
    assert len({mutation.name for mutation in found}) == len(found)
    assert all(mutation.find != mutation.put and "\n" not in mutation.find for mutation in found)


def test_a_text_that_is_gone_or_not_alone_is_told(script):
    sources = {Path("a.py"): "x = 1\ny = 1\n", Path("b.py"): "z = 2\n"}
    mutation = script.Mutation("two", "z = 2", "z = 3", "test_mutations.py -k 'gone or alone'")
    assert mutation.place(sources) == Path("b.py")
    mutation.check_tests()
    assert mutation.selection == ["tests/test_mutations.py", "-k", "gone or alone"]
    with pytest.raises(ValueError, match=r"'gone' no longer finds its text: 'w' stands 0 times.*update it"):
        script.Mutation("gone", "w", "v", "test_mutations.py").place(sources)
    with pytest.raises(ValueError, match=r"2 times in the library \(a\.py\), expected once"):
        script.Mutation("often", "= 1", "= 2", "test_mutations.py").place(sources)
    with pytest.raises(ValueError, match="names tests with 'nonsense'"):
        script.Mutation("other", "w", "v", "test_mutations.py -k nonsense").check_tests()
    with pytest.raises(ValueError, match="which is not there"):
        script.Mutation("absent", "w", "v", "test_nothing.py").check_tests()
