"""The vote engine: the same votes however the work is cut, and refusals where a certificate would be void."""

import threading
from itertools import islice, pairwise

import pytest
import torch
from tests.smoothed.linear import CPU, IMAGES, linear
from torch import nn

from smoothcert.errors import InputError
from smoothcert.models import build, frozen
from smoothcert.noise import NOISES, Gaussian, Laplace
from smoothcert.noise.stream import generator_for
from smoothcert.smoothed.classifier import SmoothedClassifier
from smoothcert.smoothed.votes import Request, Voter, votes_per_block


@pytest.mark.parametrize("kind", NOISES.values(), ids=lambda k: k.__name__)
@pytest.mark.parametrize("batch", [1, 7, 64, 1000])
def test_votes_do_not_depend_on_the_batch_size(kind, batch):
    expected = SmoothedClassifier(linear, kind(0.5), 3, batch=100).votes(IMAGES, 333)
    assert (SmoothedClassifier(linear, kind(0.5), 3, batch=batch).votes(IMAGES, 333) == expected).all()


def test_votes_do_not_depend_on_order_or_company():
    g = SmoothedClassifier(linear, Gaussian(0.5), 3)
    together = g.votes(IMAGES, 250, index=0)
    assert (together > 0).sum() > 8  # the votes are split, so that a change would show
    for i in (3, 0, 4):
        assert (g.votes(IMAGES[i], 250, index=i) == together[i]).all()
    backwards = g.votes(IMAGES.flip(0), 250, index=[4, 3, 2, 1, 0])
    assert (backwards[::-1] == together).all()


def test_votes_taken_in_parts_are_the_votes_taken_at_once():
    voter = Voter(linear, Gaussian(0.5), 3, batch=64)
    whole = voter.count([Request(IMAGES[0], 0, "s", 0, 517)])
    cuts = [0, 1, 50, 100, 101, 399, 517]
    parts = [Request(IMAGES[0], 0, "s", a, b) for a, b in pairwise(cuts)]
    assert (voter.count(parts).sum(0) == whole[0]).all()
    assert (voter.count(parts).sum(1) == [b - a for a, b in pairwise(cuts)]).all()


def test_votes_depend_on_seed_index_and_stage():
    def votes(seed=0, **key):
        return tuple(SmoothedClassifier(linear, Gaussian(0.5), 3, seed=seed).votes(IMAGES[0], 1000, **key))

    variants = {votes(), votes(seed=1), votes(seed=2**32), votes(index=1), votes(stage="selection")}
    assert len(variants) == 5


def test_votes_are_those_of_noise_added_by_hand():
    noise, x = Laplace(0.3), IMAGES[2]
    size = votes_per_block(x.shape)
    by_hand = torch.zeros(3, dtype=torch.int64)
    for block in range(2):
        delta = noise.sample_like(torch.empty(size, *x.shape), generator_for(CPU, 9, 2, "estimation", block))
        by_hand += linear(x + delta).argmax(1).bincount(minlength=3)
    assert (SmoothedClassifier(linear, noise, 3, seed=9).votes(x, 2 * size, index=2) == by_hand.numpy()).all()


def test_noise_is_the_same_in_any_memory_format():
    class Tall(nn.Module):
        memory_format = torch.channels_last

        def forward(self, x):
            assert x.is_contiguous(memory_format=torch.channels_last)
            return linear(x.contiguous()[:, :, :6, :7].flatten(1)[:, :42])

    x = torch.rand(3, 6, 7, generator=generator_for(CPU, "colour"))
    plain = SmoothedClassifier(lambda v: linear(v.flatten(1)[:, :42]), Gaussian(0.5), 3).votes(x, 300)
    assert (SmoothedClassifier(Tall().eval(), Gaussian(0.5), 3).votes(x, 300) == plain).all()


def test_memory_is_bounded_by_the_batch():
    largest = 0

    def watch(x):
        nonlocal largest
        largest = max(largest, len(x))
        return linear(x)

    SmoothedClassifier(watch, Gaussian(0.5), 3, batch=32).votes(IMAGES[0], 5000)
    assert largest == 32


def test_blocks_of_noise_stay_small_for_large_images():
    assert votes_per_block((1, 28, 28)) == votes_per_block((3, 32, 32)) == 100
    assert votes_per_block((3, 224, 224)) * 3 * 224 * 224 <= 2**20
    assert votes_per_block((3, 4096, 4096)) == 1


def test_a_module_in_training_mode_is_refused_however_deep():
    f = nn.Sequential(nn.Flatten(), nn.Sequential(nn.Dropout(), nn.Linear(42, 3)))
    with pytest.raises(InputError, match="training mode"):
        SmoothedClassifier(f, Gaussian(0.5), 3)
    g = SmoothedClassifier(f.eval(), Gaussian(0.5), 3)
    f[1][0].train()  # after the fact, and only a part of it
    with pytest.raises(InputError, match="training mode"):
        g.votes(IMAGES[0], 10)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_logits_that_are_not_finite_are_refused(bad):
    def f(x):
        logits = linear(x)
        logits[-1, 0] = bad
        return logits

    with pytest.raises(InputError, match="NaN or infinite"):
        SmoothedClassifier(f, Gaussian(0.5), 3).votes(IMAGES[0], 300)


def test_values_outside_the_declared_range_are_refused():
    f = nn.Sequential(nn.Flatten(), nn.Linear(42, 3)).eval()
    f.input_range = (0.0, 1.0)
    g = SmoothedClassifier(f, Gaussian(0.5), 3)
    g.votes(IMAGES[0], 10)
    with pytest.raises(InputError, match="scale the image"):
        g.votes(255 * IMAGES[0], 10)
    with pytest.raises(InputError, match="NaN"):
        SmoothedClassifier(linear, Gaussian(0.5), 3).votes(IMAGES[0] * float("nan"), 10)


def test_wrong_shapes_and_counts_are_refused():
    g = SmoothedClassifier(linear, Gaussian(0.5), 4)
    with pytest.raises(InputError, match="num_classes"):
        g.votes(IMAGES[0], 10)
    with pytest.raises(InputError, match="dimensions"):
        g.votes(IMAGES[0, 0], 10)
    with pytest.raises(InputError, match="at least 1"):
        SmoothedClassifier(linear, Gaussian(0.5), 3).votes(IMAGES[0], 0)
    with pytest.raises(InputError, match="2 classes"):
        SmoothedClassifier(linear, Gaussian(0.5), 1)
    with pytest.raises(InputError, match="indices"):
        SmoothedClassifier(linear, Gaussian(0.5), 3).votes(IMAGES, 10, index=[1, 2])


def test_the_batch_size_that_is_found_changes_no_vote_and_buffers_are_kept():
    expected = Voter(linear, Gaussian(0.5), 3, batch=100).count([Request(IMAGES[0], 0, "s", 0, 9000)])
    voter = Voter(linear, Gaussian(0.5), 3)
    assert (voter.count([Request(IMAGES[0], 0, "s", 0, 9000)]) == expected).all()
    buffers = voter._buffers[0]
    assert voter._size is not None and voter._size.now in (50, 100, 200, 400)
    assert (voter.count([Request(IMAGES[0], 0, "s", 0, 9000)]) == expected).all()
    assert voter._buffers == {0: buffers} and len(buffers.inputs) <= 1024


def test_several_workers_cast_the_votes_of_one_and_leave_the_threads_as_they_were():
    network = frozen(build("lenet", 10))
    assert network.concurrent
    image, threads = torch.rand(1, 28, 28), torch.get_num_threads()
    requests = [Request(image, 0, "s", 0, 700), Request(image, 1, "s", 50, 333)]
    torch.set_num_threads(1)
    try:
        alone = Voter(network, Gaussian(0.5), 10, batch=100)
        expected = alone.count(requests)
        torch.set_num_threads(3)
        voter = Voter(network, Gaussian(0.5), 10, batch=100)
        assert (voter.count(requests) == expected).all()
        assert len(voter._buffers) == 3 and len(alone._buffers) == 1
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(threads)


def test_somebody_elses_network_is_called_by_one_thread_at_a_time():
    assert not frozen(nn.Sequential(nn.Flatten(), nn.Linear(42, 3))).concurrent
    busy = []

    def f(x):
        busy.append(threading.get_ident())
        return linear(x)

    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        Voter(f, Gaussian(0.5), 3, batch=10).count([Request(IMAGES[0], 0, "s", 0, 200)])
    finally:
        torch.set_num_threads(threads)
    assert set(busy) == {threading.get_ident()}


def test_trials_of_batch_sizes_end_also_when_calls_are_smaller_than_a_size():
    voter = Voter(linear, Gaussian(0.5), 3)
    for start in range(0, 20_000, 500):  # the largest is filled once at most
        voter.count([Request(IMAGES[0], 0, "s", start, start + 500)])
    assert voter._size is not None and voter._size.now <= 400 and len(voter._size._seconds) >= 3


def test_no_noise_comes_twice_in_thousands_of_votes_of_a_procedure_or_a_watch():
    rows = []

    def f(x):
        rows.append(x.flatten(1).clone())
        return linear(x)

    def fresh(use):
        g = SmoothedClassifier(f, Gaussian(0.5), 3, seed=1)
        g.votes(IMAGES[0], 1)  # the guard is asked once
        rows.clear()
        votes = use(g)
        seen = torch.cat(rows)
        return len(torch.unique(seen, dim=0)) == len(seen) == votes

    assert fresh(lambda g: int(g.votes(IMAGES[0], 12_000).sum()))
    for procedure in ("paper", "curve", "adaptive"):
        assert fresh(lambda g, p=procedure: g.certify(IMAGES[1], 50, 1000, 0.05, procedure=p).votes)
    assert fresh(lambda g: 20 + 130 * len(list(islice(g.watch(IMAGES[0], 20, step=130), 3))))


def test_the_image_is_not_clipped_after_noise_was_added():
    least = []

    def f(x):
        least.append(float(x.min()))
        return linear(x)

    SmoothedClassifier(f, Gaussian(0.5), 3).votes(IMAGES[0], 100)
    assert min(least) < -1
