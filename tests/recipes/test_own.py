"""Parts of one's own in recipes: written, read with and without their code, set from the command line."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest
from tests.own import student_in

from smoothcert.errors import InputError
from smoothcert.files.source import imported
from smoothcert.noise import Gaussian
from smoothcert.objectives import Consistency, CrossEntropy, Objective
from smoothcert.recipes import find_recipe, from_dict, override, to_dict, to_toml
from smoothcert.recipes.recipe_file import read_recipe
from smoothcert.recipes.serialize import noise_from_dict, own_noise
from smoothcert.recipes.source import with_sources
from smoothcert.recipes.unopened import Unopened

PLAIN = find_recipe("mnist5k/consistency/0.50")


@pytest.fixture
def student(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with student_in(tmp_path) as student:
        yield student


def made(student: Any, **changed: Any) -> Any:
    """A recipe with a part of each kind."""
    kind = {name: imported(f"{student.module}:{name}") for name in ("Margin", "Cosine", "Nudge", "Wide")}
    terms = (kind["Margin"](0.25), Consistency(1.0))
    objective = Objective(kind["Wide"](0.3), terms, m=2, attack=kind["Nudge"](0.1))
    schedule = kind["Cosine"](turns=(0.5, 1.0))
    return replace(PLAIN, objective=objective, model=f"{student.module}:Net", schedule=schedule, **changed)


def test_every_kind_is_written_and_read_back_with_and_without_its_code(student, tmp_path):
    recipe = with_sources(made(student))
    values = json.loads(json.dumps(to_dict(recipe)))
    assert values["objective"]["noise"] == {"kind": f"{student.module}:Wide", "norm": 1, "b": 0.3}
    assert values["schedule"] == {"kind": f"{student.module}:Cosine", "least": 0.0, "turns": [0.5, 1.0]}
    assert from_dict(values, opens=True) == recipe
    (tmp_path / "r.toml").write_text(to_toml(recipe), "utf-8")
    assert find_recipe(str(tmp_path / "r.toml")) == recipe
    assert from_dict(values) == recipe == from_dict(values) and from_dict(values) != made(student)
    student.write("raise RuntimeError('it ran')")
    closed = from_dict(values)
    assert closed == from_dict(values) == read_recipe(tmp_path / "r.toml") != recipe  # which nothing names any more
    assert to_dict(closed) == values and from_dict(to_dict(closed)) == closed and not student.is_imported
    objective = closed.objective
    assert all(
        isinstance(p, Unopened) for p in (closed.schedule, objective.noise, objective.attack, objective.terms[0])
    )
    assert (objective.noise.norm, objective.noise.scale) == (1, 0.3)
    assert recipe.num_hyperparameters == closed.num_hyperparameters == 4  # gap, step, λ, η
    with pytest.raises(InputError, match=r"importing .* raised RuntimeError: it ran"):
        from_dict(values, opens=True)


@pytest.mark.parametrize("change", [{"gap": 0.5}, {"kind": "other:Margin"}, {"extra": 1.0}])
def test_an_unopened_part_differs_from_another(student, change):
    recipe = made(student)
    values = to_dict(recipe)
    values["objective"]["terms"][0] |= change
    assert from_dict(values) != recipe != from_dict(values) != from_dict(to_dict(recipe))


def test_a_value_at_which_ours_are_left_out_is_kept_of_others(student):
    """`ramp` = 0 is not written of an objective; of a class of one's own it need not be the default."""
    student.write(
        "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass Late:\n    ramp: float = 1.0\n"
        "    name: str | None = None\n    def __call__(self, logits, y):\n        return logits.mean((0, 2))\n"
    )
    late = imported(f"{student.module}:Late")
    recipe = replace(PLAIN, objective=Objective(Gaussian(0.5), (late(0.0),)))
    assert to_dict(recipe)["objective"]["terms"][0] == {"kind": f"{student.module}:Late", "ramp": 0.0}
    assert from_dict(to_dict(recipe), opens=True) == recipe


def test_the_command_line_sets_parts_and_their_values(student):
    spec = student.module
    settings = [
        f'terms=[{{kind="cross_entropy"}}, {{kind="{spec}:Margin", gap=2}}]',
        f'schedule={{kind="{spec}:Cosine"}}',
    ]
    recipe = override(PLAIN, [*settings, f"model={spec}:Net", f'attack={{kind="{spec}:Nudge", step=0.1}}'])
    assert [type(term).__name__ for term in recipe.objective.terms] == ["CrossEntropy", "Margin"]
    assert recipe.objective.terms[1].gap == 2.0 and recipe.model == f"{spec}:Net"
    for path in ("gap", "Margin.gap", "objective.terms.Margin.gap"):
        assert override(recipe, [f"{path}=3"]).objective.terms[1].gap == 3.0
    for wrong in ("terms=3", "terms=[]", "terms=[3]", 'terms=["cross_entropy"]'):
        with pytest.raises(InputError):
            override(recipe, [wrong, "gap=1"] if wrong == "terms=[3]" else [wrong])


@pytest.mark.parametrize(
    ("place", "values", "message"),
    [
        ("terms", [{"kind": "{}:Margin", "gapp": 1.0}], "unknown field 'gapp': did you mean gap"),
        ("terms", [{"kind": "{}:Margin", "gap": "wide"}], r"terms\.gap must be of type float, not 'wide'"),
        ("terms", [{"kind": "{}:Net"}], r"Net must be a class with @dataclass\(frozen=True\)"),
        ("terms", [{"kind": "{}:Cosine"}], "Cosine is no term: it has no __call__"),
        ("terms", [{"kind": "{}:Margn"}], "has no Margn: did you mean Margin"),
        ("attack", {"kind": "{}:Nudge"}, "step is missing"),
        ("noise", {"kind": "{}:Margin"}, "Margin is no noise: it has no norm, scale, fill, sample_like, radius"),
        ("noise", {"kind": "{}:Wide", "norm": 2, "b": 1.0}, "Wide has norm 1, not 2"),
        ("noise", {"kind": "os:abort"}, "os is not a module of one's own"),
    ],
)
def test_wrong_parts_get_one_line(student, place, values, message):
    recipe = to_dict(PLAIN)
    recipe["objective"][place] = json.loads(json.dumps(values).replace("{}", student.module))
    with pytest.raises(InputError, match=message) as error:
        from_dict(recipe, opens=True)
    assert "\n" not in str(error.value)


def test_a_class_that_refuses_its_values_is_quoted(student):
    student.write(
        "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass Picky:\n    gap: float\n"
        "    def __post_init__(self):\n        assert self.gap > 1, 'too narrow'\n"
        "    def __call__(self, logits, y): ...\n"
    )
    values = to_dict(PLAIN)
    values["objective"]["terms"] = [{"kind": f"{student.module}:Picky", "gap": 0.5}]
    with pytest.raises(InputError, match="Picky: AssertionError: too narrow"):
        from_dict(values, opens=True)


@dataclass
class Loose:
    def __call__(self, logits, y): ...


@dataclass(frozen=True)
class Deep:
    inside: Any

    def __call__(self, logits, y): ...


@dataclass(frozen=True)
class Infinite:
    """Of a norm for which a certificate has no name."""

    norm: float = 3

    def radius_from_error(self, q_a): ...


@dataclass(frozen=True)
class LaterConsistency:
    def __call__(self, logits, y): ...


LaterConsistency.__name__ = "Consistency"


def test_what_cannot_be_written_is_refused_before_it_is_trained():
    @dataclass(frozen=True)
    class Inner:
        def __call__(self, logits, y): ...

    for term, message in (
        (Inner(), "Inner has no name in recipes by which it could be found again: put it at the top of a file"),
        (Loose(), r"Loose could change while it trains: make it @dataclass\(frozen=True\)"),
        (Deep(CrossEntropy()), "'inside' cannot be written: fields are numbers, texts or tuples"),
    ):
        with pytest.raises(InputError, match=message):
            to_dict(replace(PLAIN, objective=Objective(Gaussian(0.5), (term,))))
    with pytest.raises(InputError, match="norm is 1 or 2, not 3"):
        to_dict(Infinite())


def test_two_terms_of_one_name_are_refused():
    """They would be one column of the training log, and one of them would not be charged."""
    with pytest.raises(InputError, match="each kind of term once"):
        Objective(Gaussian(0.5), (Consistency(1.0), LaterConsistency()), m=2)


def test_a_recipe_tells_when_its_code_has_changed(student):
    recipe = with_sources(made(student))
    assert [source.module for source in recipe.sources] == [student.module] and with_sources(recipe) == recipe
    values = to_dict(recipe)
    student.write(student.file.read_text() + "\n# another\n")
    again = from_dict(values, opens=True)
    with pytest.raises(InputError, match="has changed since the recipe was written"):
        with_sources(again)
    assert with_sources(replace(again, sources=None)).sources != recipe.sources
    assert with_sources(PLAIN) == PLAIN


def test_a_noise_is_made_of_its_name_and_scale(student):
    noise = own_noise(f"{student.module}:Wide", 0.3)
    assert noise_from_dict(to_dict(noise), opens=True) == noise == noise_from_dict(to_dict(noise))
    assert noise_from_dict(to_dict(own_noise(f"{student.module}:Wide", 1)) | {"norm": 1.0}).scale == 1.0
    with pytest.raises(InputError, match="does not say its norm"):
        noise_from_dict({"kind": f"{student.module}:Wide", "b": 0.3})


@pytest.mark.parametrize("values", [{"x": {}}, {"x": [[1]]}, {"x": None}, {"x": 10**400}, {"a b": 1}, {"kind ": 1}])
def test_a_hostile_part_has_plain_fields_or_is_refused(values):
    recipe = to_dict(PLAIN)
    recipe["objective"]["terms"] = [{"kind": "evil:Thing", **values}]
    with pytest.raises(InputError, match="cannot be written"):
        from_dict(recipe)
