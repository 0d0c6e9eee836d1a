"""f from parts: identities that hold bit for bit, and what such an f says of itself."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch
from torch import nn

from smoothcert import Gaussian, InputError, SmoothedClassifier, find_recipe
from smoothcert.models import Denoised, Ensemble, LeNet, OneShot, build, frozen
from smoothcert.models.ensemble import member_of
from smoothcert.models.network import Declared, declared
from smoothcert.recipes.muon import Muon
from smoothcert.training.optimizer import Optimizers

torch.set_num_threads(1)  # threads that spin on a busy machine make these small networks ten times slower


def images(rows=3, shape=(1, 28, 28)):
    return torch.rand(rows, *shape, generator=torch.Generator().manual_seed(0))


def halved(z, sigma):
    """A denoiser of images in [0, 1] that uses σ."""
    return z / (1 + sigma) + 0.1


def test_one_members_ensemble_is_the_member_bit_for_bit():
    f, x = build("lenet", 10).eval(), images()
    with torch.no_grad():
        assert torch.equal(Ensemble([f])(x), f(x))
        assert torch.equal(frozen(Ensemble([f]))(x), frozen(f)(x))
        assert torch.equal(frozen(Ensemble([f]), "bfloat16")(x), frozen(f, "bfloat16")(x))


def test_an_ensemble_is_the_sum_of_its_members_and_so_is_its_gradient():
    members, x = [build("lenet", 10) for _ in range(3)], images()
    f = Ensemble(members)
    expected = sum(member(x) for member in members)
    assert torch.allclose(f(x), expected, atol=1e-6)
    f(x)[:, 3].sum().backward()
    alone = copy.deepcopy(members[1])
    alone.zero_grad()
    alone(x)[:, 3].sum().backward()
    assert torch.equal(members[1].conv1.weight.grad, alone.conv1.weight.grad)


def test_members_named_in_a_recipe_start_from_different_weights_and_are_all_trained():
    f = build("lenet*3", 10)
    assert isinstance(f, Ensemble) and len(f.members) == 3
    first, second, _ = (member.conv1.weight for member in f.members)
    assert not torch.equal(first, second)
    nn.functional.cross_entropy(f(images()), torch.tensor([0, 1, 2])).backward()
    assert all(p.grad is not None for p in f.parameters())
    assert {member_of(name) for name, _ in f.named_parameters()} == {f"members.{i}." for i in range(3)}


def test_a_mirrored_network_gives_an_image_and_its_mirror_image_the_same_logits():
    f, x = frozen(build("cifar_wide25+mirror", 10)), images(20, (3, 32, 32))
    with torch.inference_mode():
        assert torch.equal(f(x), f(x.flip(-1)))
        plain = frozen(f.f.f)
        assert torch.equal(f(x), plain(x) + plain(x.flip(-1)))
        assert not torch.equal(f(x), 2 * plain(x))


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_each_part_is_frozen_and_says_how(precision):
    f = build("cifar_resnet8*2+mirror", 10)
    g, x = frozen(f, precision), images(20, (3, 32, 32))
    members = [frozen(member, precision) for member in f.f.members]
    with torch.inference_mode():
        z = [(members[0](v) + members[1](v)) for v in (x, x.flip(-1))]
        assert torch.equal(g(x), z[0] + z[1]) and g(x).dtype == torch.float32
    rounded = ", bfloat16" if precision == "bfloat16" else ""
    assert g.variant == f"mirrored (sum of 2 (folded batch norm, channels-last{rounded}))"
    assert declared(g) == Declared((3, 32, 32), (0.0, 1.0), torch.channels_last, True, 4)
    assert f.training and all(p.requires_grad for p in f.parameters())


def test_a_denoised_classifier_is_the_classifier_of_the_denoised_image():
    f, z = frozen(build("lenet", 10)), images() * 3 - 1
    with torch.inference_mode():
        assert torch.equal(Denoised(halved, f, 0.5)(z), f(halved(z, 0.5)))
        assert torch.equal(Denoised(lambda z, sigma: z, f, 0.5)(z), f(z))
    whole = Denoised(halved, f, 0.5)
    assert declared(whole) == Declared((1, 28, 28), (0.0, 1.0), None, False, 2)  # nobody knows halved
    assert whole.variant == "denoised (as given; channels-last)"


@pytest.mark.parametrize("range", [(-1.0, 1.0), (0.0, 255.0)])
def test_a_denoiser_of_another_range_is_given_images_and_noise_of_that_range(range):
    low, high = range
    width, seen = high - low, []

    def elsewhere(z, sigma):
        seen.append((float(z.min()), float(z.max()), sigma))
        return low + width * halved((z - low) / width, sigma / width)

    x = torch.tensor([0.0, 0.25, 1.0]).view(1, 1, 1, 3)
    whole = Denoised(elsewhere, lambda x: x.flatten(1), 0.25, range)
    assert torch.allclose(whole(x), halved(x, 0.25).flatten(1), atol=1e-6)
    assert seen == [(low, high, 0.25 * width)]


def test_denoisers_that_differ_in_range_alone_cast_the_same_votes():
    f, x = frozen(build("lenet", 10)), images(1)[0]
    ours = Denoised(halved, f, 0.25)
    theirs = Denoised(lambda z, sigma: 2 * halved((z + 1) / 2, sigma / 2) - 1, f, 0.25, (-1.0, 1.0))
    votes = [SmoothedClassifier(g.eval(), Gaussian(0.25), 10).votes(x, 1000).tolist() for g in (ours, theirs)]
    assert votes[0] == votes[1]


def test_wrong_parts_are_refused_in_one_line():
    with pytest.raises(InputError, match="must take the same images, not those of 1×28×28 and 3×32×32"):
        Ensemble([build("lenet", 10), build("cifar_wide25", 10)])
    with pytest.raises(InputError, match="the same classes apart, not 10 and 7"):
        Ensemble([build("lenet", 10), build("lenet", 7)])(images())
    with pytest.raises(InputError, match="1 to 100 members, not 0"):
        Ensemble([])
    with pytest.raises(InputError, match="1 to 100 members, not 9999"):
        build("lenet*9999", 10)
    with pytest.raises(InputError, match="unknown model"):
        build("lenet*", 10)
    with pytest.raises(InputError, match=r"did you mean lenet\?"):
        build("lenett+mirror", 10)
    with pytest.raises(InputError, match="must keep their shape"):
        Denoised(lambda z, sigma: z[..., 1:], build("lenet", 10), 0.5)(images())
    with pytest.raises(InputError, match="needs σ > 0"):
        Denoised(halved, build("lenet", 10), 0.0)
    with pytest.raises(InputError, match="did you mean linear"):
        OneShot(halved, "linaer")


def test_freezing_a_denoised_network_freezes_its_parts():
    f = Denoised(OneShot(lambda x, t: 0 * x, "linear"), LeNet(10), 0.5)
    g = frozen(f)
    assert g.variant == "denoised (one step, linear schedule (as given); channels-last)"
    assert not any(module.training for module in g.modules()) and f.classifier.training


def test_muon_spares_the_stem_and_the_head_of_each_member():
    f = build("lenet*2", 10)
    muon = Muon(lr=0.1, momentum=0.6, weight_decay=0.0, fixed_norm=False, stem=False, head=False)
    recipe = replace(find_recipe("mnist/gaussian/0.50"), muon=muon)
    chosen = Optimizers(recipe, f)._matrices
    assert sorted(chosen) == [f"members.{i}.{name}.weight" for i in range(2) for name in ("conv2", "fc1")]
    assert sorted(Optimizers(recipe, build("lenet", 10))._matrices) == ["conv2.weight", "fc1.weight"]
