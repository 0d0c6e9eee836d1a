"""A wheel that lacks a data file, or brings the tests along, is noticed; `make package` asks it of the real one."""

import zipfile

from release.contents import SOURCE, problems

TABLE = "smoothcert/paper/tables/table6_mnist_lenet.csv"


def wheel(path, names):
    with zipfile.ZipFile(path, "w") as file:
        for name in names:
            file.writestr(name, "")
    return path


def everything():
    files = [file for file in SOURCE.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    return [str(file.relative_to(SOURCE)) for file in files]


def test_the_whole_package_and_nothing_else(tmp_path):
    names = everything()
    assert TABLE in names and "smoothcert/report/html/report.html" in names
    assert problems(wheel(tmp_path / "a.whl", [*names, "smoothcert-0.1.0.dist-info/METADATA"])) == []
    assert problems(wheel(tmp_path / "b.whl", [name for name in names if name != TABLE])) == [f"missing: {TABLE}"]
    assert problems(wheel(tmp_path / "c.whl", [*names, "tests/x.py"])) == ["does not belong: tests/x.py"]
