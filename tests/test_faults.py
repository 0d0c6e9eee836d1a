"""The faults of `make faults` fit the source, and the table of the last run is about all of them."""

import pytest
from fuzz.faults import FAULTS, LEAST_BY_SELFTEST, RESULT, ROOT, source


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_changes_exactly_one_place_and_still_compiles(fault):
    compile(source(fault), fault.file, "exec")
    assert fault.old != fault.new and (ROOT / "tests" / f"{fault.first}.py").exists()


def test_a_text_that_is_not_there_once_is_reported():
    for old in ("no such text", "import"):
        with pytest.raises(SystemExit, match="times, not once"):
            source(FAULTS[0]._replace(old=old))


def test_in_the_last_run_all_were_noticed_and_most_of_them_by_selftest():
    rows = [[cell.strip() for cell in line.split("|")[1:5]] for line in RESULT.read_text().splitlines() if "|" in line][
        2:
    ]
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 40
    assert [row[0] for row in rows] == [fault.name for fault in FAULTS], "run `make faults` again"
    assert all("yes" in row[1:3] for row in rows)
    assert sum(row[1] == "yes" for row in rows) >= LEAST_BY_SELFTEST
