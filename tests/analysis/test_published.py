"""What a published log is of, by its path: over all per-image logs of the paper's release, and where paths mislead."""

from dataclasses import replace
from pathlib import Path, PurePath

import pytest

from smoothcert.analysis.printed import rows_for
from smoothcert.analysis.published import Setting, name_of_path, setting_of_path
from tests.analysis.made import random_results

RELEASE = [PurePath(line) for line in (Path(__file__).parent / "release.txt").read_text().split()]


@pytest.mark.parametrize(
    ("path", "setting"),
    [
        (
            "cifar10/consistency/cohen/num_2/lbd_10.0/eta_0.5/cifar_resnet110/noise_0.25",
            Setting("cifar10", "cifar_resnet110", "consistency", 0.25, 10.0, 2, 0.5),
        ),
        (
            "cifar10/consistency/salman_255.0_10_10/num_4/lbd_2.0/eta_0.5/cifar_resnet110/noise_0.25",
            Setting("cifar10", "cifar_resnet110", "smoothadv+consistency", 0.25, 2.0, 4, 0.5),
        ),
        (
            "cifar10/consistency/salman/pgd_512_2/num_4/lbd_5.0/noise_1.00",
            Setting("cifar10", "cifar_resnet110", "smoothadv+consistency", 1.0, 5.0, 4),
        ),
        (
            "cifar10/macer/num_16/lbd_4.0/gamma_8.0/beta_16.0/cifar_resnet20/noise_0.50_6947",
            Setting("cifar10", "cifar_resnet20", "macer", 0.5, 4.0, 16, run="6947"),
        ),
        (
            "mnist/macer_deferred30/num_16/lbd_6.0/gamma_8.0/beta_16.0/noise_1.00_508",
            Setting("mnist", "lenet", "macer", 1.0, 6.0, 16, run="508"),
        ),
        (
            "cifar10/salman/pgd_512.0_10_10/num_2/cifar_densenet40/noise_0.50_1149_o",
            Setting("cifar10", "cifar_densenet40", "smoothadv-best", 0.5, m=2, run="1149_o"),
        ),
        (
            "cifar10/salman/pgd_255.0_10_10/num_8/cifar_resnet20/noise_0.50_8916",
            Setting("cifar10", "cifar_resnet20", "smoothadv", 0.5, m=8, run="8916"),
        ),
        (
            "cifar10/stab/lbd_2/cifar_resnet20/noise_0.5_1682",
            Setting("cifar10", "cifar_resnet20", "stability", 0.5, 2.0, run="1682"),
        ),
        ("mnist/cohen/noise_0.25_919", Setting("mnist", "lenet", "gaussian", 0.25, run="919")),
        (
            "imagenet/consistency/cohen/num_2/lbd_5.0/eta_0.1/noise_1.00",
            Setting("imagenet", "imagenet_resnet50", "consistency", 1.0, 5.0, 2, 0.1),
        ),
        ("mnist/consistency/cohen/num_2/lbd_5/eta_0/noise_1.00", Setting("mnist", "lenet", "kl", 1.0, 5.0, 2, 0.0)),
        ("mnist-five-seeds/gaussian_sigma0.25_seed1.tsv.gz", Setting("mnist", "lenet", "gaussian", 0.25, run="1")),
        (
            "cifar10_resnet110_consistency_lambda20_sigma0.25.tsv.gz",
            Setting("cifar10", "cifar_resnet110", "consistency", 0.25, 20.0, 2),
        ),
        ("mnist_consistency_lambda5_m4_sigma0.50.tsv", Setting("mnist", "lenet", "consistency", 0.5, 5.0, 4)),
    ],
)
def test_folders_say_what_the_file_does_not(path, setting):
    assert setting_of_path(PurePath("/home/macer/smoothing-consistency/data/certify") / path) == setting


@pytest.mark.parametrize("path", RELEASE, ids=str)
def test_every_log_of_the_release_is_understood(path):
    s = setting_of_path(path)
    assert s.dataset == path.parts[2] and None not in (s.network, s.method)
    assert s.sigma == float(path.name.split("_")[1])
    assert [s.lbd, s.m, s.eta] == [
        next((float(part[len(word) :]) for part in path.parts if part.startswith(word)), default)
        for word, default in (("lbd_", None), ("num_", None), ("eta_", None))
    ]


@pytest.mark.parametrize(
    ("path", "rows"),
    [
        ("cifar10/consistency/salman_512.0_10_10/num_2/lbd_1.0/eta_0.5/cifar_resnet110/noise_1.00", "1:20"),
        ("cifar10/salman/pgd_512.0_10_10/num_2/cifar_resnet20/noise_0.50_3696", "4:4"),
        ("imagenet/consistency/cohen/num_2/lbd_5.0/eta_0.1/noise_1.00", "2:5"),
        ("mnist/consistency/cohen/num_8/lbd_5.0/eta_0.5/noise_0.50_0", "9:6"),
        ("mnist/consistency/cohen/num_2/lbd_20.0/noise_1.00_5281", "8:9 10:6"),
        ("mnist/consistency/cohen/num_2/lbd_20.0/eta_0.1/noise_1.00_0", ""),
        ("mnist/stab/lbd_2/noise_0.25_4654", "6:5 7:13"),
    ],
)
def test_a_log_of_the_release_finds_its_printed_rows(path, rows):
    log = replace(random_results(images=3, about={}), path=Path("/data/certify") / path)
    assert " ".join(row.name for row in rows_for(log)) == rows


def test_every_log_of_the_release_gets_a_name_of_its_own():
    assert len({path.name for path in RELEASE}) < len(RELEASE) == 134
    names = [name_of_path(path) for path in RELEASE]
    assert len(set(names)) == len(RELEASE)
    assert max(map(len, names)) <= 60 and "cifar10 consistency λ=10 m=2 σ=0.25" in names


@pytest.mark.parametrize(
    ("path", "setting"),
    [
        ("/home/macer/mine.tsv", Setting()),  # nothing above a data set's folder counts
        ("/home/macer/lbd_5/noise_0.25", Setting(sigma=0.25)),
        ("/home/cifar10/mnist/cohen/noise_0.25", Setting("mnist", "lenet", "gaussian", 0.25)),  # the nearest data set
        ("/mnist/lbd_1/stab/lbd_2/noise_0.25", Setting("mnist", "lenet", "stability", 0.25, 2.0)),  # the nearest λ
        ("/mnist/consistency/gaussian_lambda3_sigma0.50.tsv", Setting("mnist", "lenet", "gaussian", 0.5, 3.0)),
        ("/mnist/macer/cifar10_sigma0.50.tsv", Setting("cifar10", None, None, 0.5)),  # the file denies the folder
        ("/cifar10/macer-thoughts/lbd_5_old/sigma0.25.tsv", Setting("cifar10", None, None, 0.25)),
        ("/fashion_mnist/cohen/noise_0.25", Setting(sigma=0.25)),
        ("fashion_mnist_gaussian_sigma0.25.tsv", Setting(None, None, "gaussian", 0.25)),
        ("cifar10_gaussian_sigma0.25.tsv", Setting("cifar10", None, "gaussian", 0.25)),  # no network: not the release
        ("mnist_form4_enum2_sigma0.25.tsv", Setting("mnist", "lenet", None, 0.25)),
    ],
)
def test_what_a_path_does_not_say_stays_unknown(path, setting):
    assert setting_of_path(PurePath(path)) == setting


def test_a_name_loses_nothing_of_the_file_name():
    assert name_of_path(PurePath("x/mnist_gaussian_sigma1.00.tsv.gz")) == "mnist gaussian σ=1.00"
    assert name_of_path(PurePath("mnist-five-seeds/stability_sigma0.50_seed2.tsv")) == "mnist stability σ=0.50 #2"
    for name in ("mnist_gaussian_sigma1.00_lr3", "mine", "noise_0.25"):
        assert name_of_path(PurePath(f"{name}.tsv")) == name
