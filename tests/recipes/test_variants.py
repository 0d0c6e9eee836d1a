"""--set, --scale and TOML: variants of a recipe that are checked, marked, and survive being written down."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from smoothcert.attacks import PGD
from smoothcert.errors import InputError
from smoothcert.noise import Gaussian, GridGaussian
from smoothcert.objectives import MACER, TERMS, Consistency, CrossEntropy
from smoothcert.recipes import (
    RECIPES,
    Certification,
    find_recipe,
    from_dict,
    override,
    reduced_certification,
    reduced_recipe,
    to_dict,
    to_toml,
)
from smoothcert.recipes.recipe_file import read_recipe
from smoothcert.recipes.schedule import LinearDecay, StepDecay

BOTH = "cifar10/smoothadv+consistency/1.00"


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_prints_and_survives_toml_and_json(name: str, tmp_path: Path) -> None:
    for recipe in (RECIPES[name], reduced_recipe(RECIPES[name], 0.02)):
        (tmp_path / "r.toml").write_text(to_toml(recipe), "utf-8")
        assert read_recipe(tmp_path / "r.toml") == recipe
        assert from_dict(json.loads(json.dumps(to_dict(recipe)))) == recipe
        assert repr(recipe.objective) in repr(recipe)


def test_words_that_toml_must_quote_survive_too(tmp_path: Path) -> None:
    recipe = replace(find_recipe(BOTH), reduced='a "word" \\ with\ttab, λ and a\nline', lr=1e-5, weight_decay=0.0)
    (tmp_path / "r.toml").write_text(to_toml(recipe), "utf-8")
    assert read_recipe(tmp_path / "r.toml") == recipe


@pytest.mark.parametrize("path", ["objective.terms.consistency.lbd", "objective.lbd", "consistency.lbd", "lbd"])
def test_a_value_is_set_by_its_path_or_by_as_much_of_it_as_is_needed(path: str) -> None:
    changed = override(find_recipe(BOTH), [f"{path}=10"])
    assert changed.objective.terms[1] == Consistency(10.0)
    assert replace(changed, objective=find_recipe(BOTH).objective) == find_recipe(BOTH)


def test_several_values_are_checked_together() -> None:
    macer = override(
        find_recipe("cifar10/macer/0.50"), ["noise.sigma=0.3", "macer.sigma=0.3", "epochs=5", "nesterov=true"]
    )
    assert macer.objective.noise == Gaussian(0.3) and macer.objective.terms == (MACER(0.3, 4.0, 8.0, 16.0),)
    assert (macer.epochs, macer.nesterov) == (5, True)
    words = override(find_recipe(BOTH), ["data=fake", 'model="lenet"', "schedule={kind='linear_decay', warmup=2}"])
    assert (words.data, words.model, words.schedule) == ("fake", "lenet", LinearDecay(2.0))


def test_an_attack_is_taken_away_or_given_whole() -> None:
    assert override(find_recipe(BOTH), ["objective.attack=none"]).objective.attack is None
    given = override(find_recipe("mnist/gaussian/0.50"), ['objective.attack={kind="pgd", epsilon=1, steps=4}'])
    assert given.objective.attack == PGD(1.0, 4)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("lr", "PATH=VALUE"),
        ("=3", "PATH=VALUE"),
        ("lr=", "PATH=VALUE"),
        ("lbdd=3", "no 'lbdd': did you mean lbd"),
        ("objective.atack.steps=3", "no 'objective.atack.steps': did you mean steps"),
        ("seed=3", "--seed"),
        ("reduced=no", "--scale"),
        ("fraction=0.5", "--scale"),
        ("lr=fast", "lr must be of type float"),
        ("lr=none", "lr is missing"),
        ("epochs=0", "epochs must be at least 1"),
        ("objective.m=1", "Consistency needs m >= 2"),
        ("steps=2.5", "steps must be of type int"),
    ],
)
def test_a_wrong_setting_gets_one_clear_line(setting: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        override(find_recipe(BOTH), [setting])
    assert "\n" not in str(error.value)


def test_what_could_be_two_things_is_refused() -> None:
    with pytest.raises(InputError, match=r"objective\.noise\.sigma or objective\.terms\.macer\.sigma"):
        override(find_recipe("mnist/macer/0.50"), ["sigma=0.3"])


def test_a_scaled_recipe_shrinks_all_that_is_told_in_epochs_and_says_so() -> None:
    macer = reduced_recipe(find_recipe("mnist/macer/0.50"), 0.1)
    assert (macer.epochs, macer.schedule, macer.objective.terms[0].start) == (9, StepDecay(3), 3)  # type: ignore[attr-defined]
    assert macer.reduced == "scale 0.1: 9 of 90 epochs" and to_dict(macer)["reduced"] == macer.reduced
    attacked = reduced_recipe(find_recipe(BOTH), 0.3)
    assert attacked.objective.attack.warmup == 3 and attacked.epochs == 45  # type: ignore[union-attr]
    tiny = reduced_recipe(find_recipe(BOTH), 1e-4)
    assert tiny.epochs == 1 and tiny.objective.attack.warmup == 1 and tiny.schedule == StepDecay(1)  # type: ignore[union-attr]
    assert (
        tiny.fraction == pytest.approx(0.015) and tiny.reduced == "scale 0.0001: 1 of 150 epochs on 1.5 % of the images"
    )
    assert attacked.fraction is None and reduced_recipe(tiny, 0.1).fraction == pytest.approx(0.0015)
    assert reduced_recipe(find_recipe(BOTH), 1.0) is find_recipe(BOTH) and "reduced" not in to_dict(find_recipe(BOTH))
    for scale in (0.0, -1.0, 1.5, float("nan")):
        with pytest.raises(InputError, match="--scale"):
            reduced_recipe(find_recipe(BOTH), scale)


def test_what_was_reduced_already_stays_said() -> None:
    twice = reduced_recipe(find_recipe("mnist/smoothadv-short/0.50"), 0.5)
    assert twice.reduced == (
        "scale 0.5: 2 of 4 epochs (of a recipe that was reduced before: 4 of 90 epochs, a schedule of our own)"
    )


def test_a_scaled_certification_has_fewer_votes_on_evenly_spaced_images() -> None:
    assert reduced_certification(Certification(), 0.02) == Certification(n=2000, every=50)
    assert reduced_certification(Certification(every=100), 0.1, 50_000) == Certification(n=10_000, every=1000)
    assert reduced_certification(Certification(), 1e-6) == Certification(n=100, every=500)  # 20 images of 10,000
    assert reduced_certification(Certification(every=100), 1e-6, 50_000).every == 2500
    assert reduced_certification(Certification(), 0.1, 15) == Certification(n=10_000)
    assert reduced_certification(Certification(), 1.0) == Certification()


def test_a_mark_that_is_no_text_is_refused() -> None:
    with pytest.raises(InputError, match="reduced must be of type str, not 3"):
        from_dict(to_dict(find_recipe(BOTH)) | {"reduced": 3})


def test_what_older_files_do_not_say_is_what_they_had() -> None:
    """Runs in use have no `damping`: they are still runs of the same recipe, and a new one can be chosen."""
    short = find_recipe("mnist/smoothadv-short/0.25")
    written = to_dict(short)
    assert "damping" not in written["objective"]["attack"] and from_dict(written) == short
    assert short.objective.attack.damping == "image" and 'damping = "image"' in to_toml(short)  # type: ignore[union-attr]
    damped = override(short, ["damping=batch"])
    assert to_dict(damped)["objective"]["attack"]["damping"] == "batch" and from_dict(to_dict(damped)) == damped
    assert override(damped, ["damping=image"]) == short
    full = override(short, ["damping=none"])  # a word here, where `objective.attack=none` takes something away
    assert full.objective.attack.damping == "none"  # type: ignore[union-attr]


def test_adam_is_asked_for_by_its_second_moment_and_taken_away_again() -> None:
    sgd = find_recipe("mnist/consistency/0.50")
    adam = override(sgd, ["second_moment=0.99", "lr=0.002"])
    assert (adam.second_moment, adam.lr) == (0.99, 0.002) and from_dict(to_dict(adam)) == adam
    assert override(adam, ["second_moment=none", "lr=0.01"]) == sgd and "second_moment" not in to_dict(sgd)
    with pytest.raises(InputError, match="second_moment must lie between 0 and 1"):
        override(sgd, ["second_moment=2"])


def test_a_part_that_nobody_could_read_back_is_refused_and_one_listed_later_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @dataclass(frozen=True)
    class Mine(CrossEntropy):
        weight: float = 2.0

    recipe = find_recipe("mnist/gaussian/0.50")
    mine = replace(recipe, objective=replace(recipe.objective, terms=(Mine(),)))
    with pytest.raises(InputError, match="Mine has no name in recipes"):
        to_dict(mine)
    with pytest.raises(InputError, match="function has no name in recipes"):
        to_dict(replace(recipe, schedule=lambda epoch, epochs: 1.0))  # type: ignore[arg-type]
    monkeypatch.setitem(TERMS, "mine", Mine)
    assert to_dict(mine)["objective"]["terms"] == [{"kind": "mine", "weight": 2.0}] and from_dict(to_dict(mine)) == mine


def test_a_recipe_can_ask_for_grid_noise_and_keeps_it_in_its_files():
    recipe = override(find_recipe("mnist5k/consistency/0.50"), ['noise={kind="grid_gaussian", sigma=0.5}'])
    assert recipe.objective.noise == GridGaussian(0.5)
    assert from_dict(to_dict(recipe)) == recipe and to_dict(recipe)["objective"]["noise"]["kind"] == "grid_gaussian"


def test_none_takes_away_what_may_be_missing_and_is_a_word_elsewhere() -> None:
    assert override(find_recipe("cifar10/gaussian-onward/0.25"), ["starts_from=none"]).starts_from is None
    undamped = override(find_recipe("cifar10/smoothadv/0.50"), ["damping=none"])
    assert undamped.objective.attack.damping == "none"  # type: ignore[union-attr]
