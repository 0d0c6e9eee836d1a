"""SmoothedClassifier: which noise an image gets, and what comes back."""

import numpy as np
import pytest
import torch
from tests.smoothed.linear import IMAGES, linear

from smoothcert.errors import InputError
from smoothcert.noise import Gaussian
from smoothcert.smoothed.classifier import SmoothedClassifier, content_index


def smoothed(**options):
    return SmoothedClassifier(linear, Gaussian(0.5), 3, **options)


def test_with_an_index_all_votes_are_those_of_the_first_release():
    g = smoothed(seed=4)
    assert g.votes(IMAGES[:2], 500, index=7).tolist() == [[379, 60, 61], [208, 178, 114]]
    assert g.votes(IMAGES[1], 500, index=8).tolist() == [208, 178, 114]
    c = g.certify(IMAGES[0], 50, 500, index=3)
    assert (c.selection, c.estimation, c.index) == ((30, 13, 7), (368, 77, 55), 3)
    p = g.predict(IMAGES[0], 200, index=3)
    assert (p.votes, p.seed, p.index) == ((147, 25, 28), 4, 3)


def test_an_image_has_one_certificate_in_a_loop_in_a_batch_and_alone():
    g = smoothed()
    looped = [g.certify(x, 50, 500) for x in IMAGES]
    assert g.certify_batch(IMAGES, 50, 500) == looped
    assert g.certify_batch(IMAGES.flip(0), 50, 500) == looped[::-1]
    assert smoothed().certify(IMAGES[3].clone(), 50, 500) == looped[3]
    assert smoothed().certify(IMAGES[3], 50, 500, index=looped[3].index) == looped[3]  # the certificate names its noise
    assert len({c.index for c in looped}) == len(IMAGES)


def test_the_votes_of_two_images_are_independent():
    def noise_alone(x):  # looks at noise alone: the image is taken off again, for it is a multiple of 1000
        delta = x[:, 0] - (x[:, 0] / 1000).round() * 1000
        return torch.stack([delta, -delta], 1)

    g = SmoothedClassifier(noise_alone, Gaussian(0.5), 2, image_dims=1)
    votes = [g.votes(torch.tensor([1000.0 * i]), 100)[0] for i in range(400)]
    assert len(set(votes)) > 20  # with shared noise all are equal
    pairs = np.array(votes, float).reshape(-1, 2)
    assert abs(np.corrcoef(pairs.T)[0, 1]) < 3 / np.sqrt(len(pairs))  # fails by chance once in 370 seeds
    assert 15 < np.var(votes) < 35  # Bin(100, 1/2) has 25


def test_content_names_an_image():
    x = IMAGES[0]
    other = x.clone()
    other[0, 0, 0] = torch.nextafter(x[0, 0, 0], torch.tensor(2.0))
    same = (x.clone(), x.double(), x.transpose(1, 2).contiguous().transpose(1, 2))
    assert {content_index(each) for each in same} == {content_index(x)}
    assert content_index(x) not in (content_index(other), content_index(x.reshape(1, 7, 6)), content_index(x[0]))
    assert all(2**40 < content_index(each) < 2**53 for each in IMAGES)
    assert content_index(torch.zeros(2, 2)) == 7957536682335019  # a certificate of today must find its noise again


def test_predictions_have_a_fresh_seed_unless_one_is_given():
    g = smoothed()
    found = [g.predict(IMAGES[0], 200) for _ in range(3)]
    assert len({p.seed for p in found}) == 3 and len({p.votes for p in found}) > 1
    assert smoothed(seed=found[0].seed).predict(IMAGES[0], 200) == found[0]
    assert len({p.seed for p in g.predict_batch(IMAGES, 50)}) == 1
    assert smoothed(seed=0).predict(IMAGES[0], 200) == smoothed(seed=0).predict(IMAGES[0], 200)
    assert g.certify(IMAGES[0], 50, 500) == smoothed(seed=0).certify(IMAGES[0], 50, 500)  # certificates stay the same


def test_predictions_of_a_batch_are_those_of_its_images():
    g = smoothed(seed=3)
    assert g.predict_batch(IMAGES, 200) == [g.predict(x, 200) for x in IMAGES]
    with pytest.raises(InputError, match="call predict_batch"):
        g.predict(IMAGES)
    with pytest.raises(InputError, match="call certify_batch"):
        g.certify(IMAGES, index=0)
    with pytest.raises(InputError, match="3 and a batch 4"):
        g.predict_batch(IMAGES[0])
    with pytest.raises(InputError, match="5 images but 2 labels"):
        g.certify_batch(IMAGES, procedure="adaptive", label=[1, 2])
