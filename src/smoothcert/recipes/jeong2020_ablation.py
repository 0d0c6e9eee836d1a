"""Tables 8, 9 and 10 of Jeong & Shin (2020): the loss, the number of draws m and the weight λ, on MNIST.

The printed rows "cross-entropy" of table 8 are, cell for cell, those of Consistency (η = 0.5) in tables 6 and 10: the
same runs printed twice, so here they are aliases. The loss that the text defines has η = λ: `eta-lambda`, not printed.
"""

from __future__ import annotations

from smoothcert.objectives import CrossEntropy, MeanSquared
from smoothcert.recipes.jeong2020 import in_both_ways
from smoothcert.recipes.jeong2020_mnist import mnist
from smoothcert.recipes.recipe import Recipe


def tables_8_to_10(code: bool) -> dict[str, Recipe]:
    """All rows but those that table 6 has already."""
    t = mnist(code)
    return {
        "ablation/loss/mse/5": t.row(1.0, CrossEntropy(), MeanSquared(5.0), m=2),
        "ablation/loss/mse/20": t.row(1.0, CrossEntropy(), MeanSquared(20.0), m=2),
        "ablation/loss/mse/50": t.row(1.0, CrossEntropy(), MeanSquared(50.0), m=2),
        "ablation/loss/kl/5": t.consistency(1.0, lbd=5.0, eta=0.0),
        "ablation/loss/kl/20": t.consistency(1.0, lbd=20.0, eta=0.0),
        "ablation/loss/kl/50": t.consistency(1.0, lbd=50.0, eta=0.0),
        "ablation/loss/eta-lambda/5": t.consistency(1.0, lbd=5.0, eta=5.0),
        "ablation/loss/eta-lambda/20": t.consistency(1.0, lbd=20.0, eta=20.0),
        "ablation/m/2/0.25": t.consistency(0.25, lbd=5.0),
        "ablation/m/4/0.25": t.consistency(0.25, lbd=5.0, m=4),
        "ablation/m/8/0.25": t.consistency(0.25, lbd=5.0, m=8),
        "ablation/m/4/0.50": t.consistency(0.5, lbd=5.0, m=4),
        "ablation/m/8/0.50": t.consistency(0.5, lbd=5.0, m=8),
        "ablation/m/4/1.00": t.consistency(1.0, lbd=5.0, m=4),
        "ablation/m/8/1.00": t.consistency(1.0, lbd=5.0, m=8),
        "ablation/lambda/1": t.consistency(1.0, lbd=1.0),
        "ablation/lambda/10": t.consistency(1.0, lbd=10.0),
        "ablation/lambda/15": t.consistency(1.0, lbd=15.0),
        "ablation/lambda/20": t.consistency(1.0, lbd=20.0),
        "ablation/lambda/25": t.consistency(1.0, lbd=25.0),
        "ablation/lambda/30": t.consistency(1.0, lbd=30.0),
        "ablation/lambda/50": t.consistency(1.0, lbd=50.0),
    }


RECIPES = in_both_ways(tables_8_to_10)
# Rows whose setting stands elsewhere: trained once, under the name they have there.
ALIASES = {
    "ablation/loss/gaussian": "mnist/gaussian/1.00",
    "ablation/loss/cross-entropy/5": "mnist/consistency/1.00",
    "ablation/loss/cross-entropy/20": "ablation/lambda/20",
    "ablation/m/2/0.50": "mnist/consistency/0.50",
    "ablation/m/2/1.00": "mnist/consistency/1.00",
    "ablation/lambda/0": "mnist/gaussian/1.00",
    "ablation/lambda/5": "mnist/consistency/1.00",
}
