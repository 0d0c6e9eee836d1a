"""Code named as package.module:Name: found, hashed as it runs, and not confused with other code."""

import hashlib
import subprocess
import sys

import pytest
from tests.own import PARTS, student_in

from smoothcert.errors import InputError
from smoothcert.files.source import imported, is_spec, sha256_of, spec_of


@pytest.fixture
def student(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with student_in(tmp_path) as student:
        yield student


@pytest.mark.parametrize("name", ["a:b", "a.b_1.c:D", "λ:Größe"])
def test_names_of_code(name):
    assert is_spec(name)


@pytest.mark.parametrize(
    "name", ["", "a", "a:", ":b", "a.b", "a..b:c", "a:b.c", "1a:b", "a:b:c", "a b:c", "x" * 300 + ":y", 3, None]
)
def test_other_words(name):
    assert not is_spec(name)


def test_a_class_of_a_file_is_found_again(student):
    margin = imported(f"{student.module}:Margin")
    assert spec_of(margin) == f"{student.module}:Margin" and imported(spec_of(margin)) is margin
    assert sha256_of(student.module) == hashlib.sha256(student.file.read_bytes()).hexdigest()


def test_a_class_in_a_function_has_no_name(student):
    class Inner:
        pass

    assert spec_of(Inner) is None
    margin = imported(f"{student.module}:Margin")
    student.forget()
    imported(f"{student.module}:Margin")
    assert spec_of(margin) is None  # of a module that was imported anew: it is not what is found under this name


def test_a_file_that_changed_after_it_was_imported_has_no_hash(student):
    """Or the run would be told by code that did not run."""
    assert sha256_of(student.module)
    for change in (("1 + math.cos", "2 + math.cos"), ("self.gap +", "2 * self.gap +"), ("class Net", "# x\nclass Net")):
        student.file.write_text(PARTS.replace(*change))
        with pytest.raises(InputError, match="has changed since Python imported it: start Python anew"):
            sha256_of(student.module)
    student.file.write_text("def broken(")
    with pytest.raises(InputError, match="has changed"):
        sha256_of(student.module)
    student.file.write_text(PARTS)
    assert sha256_of(student.module)


@pytest.mark.parametrize("name", ["os", "os.path", "smoothcert.cli", "smoothcert", "__main__", "subprocess"])
def test_pythons_own_functions_and_ours_are_not_called_by_name(name):
    with pytest.raises(InputError, match="is not a module of one's own"):
        imported(f"{name}:main")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("no_such_module_at_all:x", "cannot import no_such_module_at_all: no module named no_such_module_at_all here"),
        ("{}:Margn", "has no Margn: did you mean Margin"),
        ("Margin", "not of the form package.module:Name"),
    ],
)
def test_what_is_not_there_is_named(student, spec, message):
    with pytest.raises(InputError, match=message):
        imported(spec.format(student.module))


SCRIPT = """
from smoothcert.files.source import imported, sha256_of, spec_of

print("once")

class Mine:
    pass

print(spec_of(Mine), imported("my_script:Mine") is Mine, len(sha256_of("my_script")))
"""


def test_a_script_is_found_by_its_file_and_not_run_a_second_time(tmp_path):
    (tmp_path / "my_script.py").write_text(SCRIPT)
    done = subprocess.run([sys.executable, "my_script.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["once", "my_script:Mine True 64", ""]


def test_a_class_of_the_prompt_has_no_name(tmp_path):
    code = "from smoothcert.files.source import spec_of\nclass Mine: pass\nprint(spec_of(Mine))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "None\n"
