"""A loss and a network of one's own: `smoothcert train own_loss.toml` in this folder, or `python own_loss.py`."""

from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn.functional import cross_entropy


@dataclass(frozen=True)
class LabelSmoothing:
    """E_i CE(p_i, (1 − ε) y + ε/K): cross-entropy that does not ask for certainty."""

    eps: float = 0.1

    def __call__(self, logits: Tensor, y: Tensor) -> Tensor:  # (m, B, K), (B,) → (B,)
        views = [cross_entropy(view, y, reduction="none", label_smoothing=self.eps) for view in logits]
        return sum(views) / len(views)


def small(num_classes: int) -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, num_classes))


if __name__ == "__main__":
    from smoothcert import Consistency, Gaussian, Objective, certify_run, read_log, train
    from smoothcert.recipes import LinearDecay, Recipe

    objective = Objective(Gaussian(0.5), (LabelSmoothing(0.1), Consistency(5.0)), m=2)
    recipe = Recipe("mnist5k", "own_loss:small", objective, epochs=5, lr=0.02, schedule=LinearDecay(), batch=64)
    run = train(recipe, "runs/own_loss").finish()
    print(read_log(certify_run(run, every=10, n=1000).finish()).acr)
