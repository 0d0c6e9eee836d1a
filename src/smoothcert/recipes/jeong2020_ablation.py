"""Tables 8, 9 and 10 of Jeong & Shin (2020): the loss, the number of draws m and the weight λ, on MNIST.

Plain names train as the released code does, since the printed numbers come from it; `…/text` as the paper says.
The printed rows "cross-entropy" of table 8 are, cell for cell, those of Consistency (η = 0.5) in tables 6 and 10: the
same runs printed twice, so here they are aliases. The loss that the text defines has η = λ: `eta-lambda`, not printed.
"""

from __future__ import annotations

from smoothcert.noise import Gaussian
from smoothcert.objectives import Consistency, CrossEntropy, MeanSquared, Objective, Term
from smoothcert.recipes.base import Recipe
from smoothcert.recipes.jeong2020_mnist import Table
from smoothcert.recipes.settings import follows


def tables(word: str) -> dict[str, Recipe]:
    """All rows as the "text" or the "code" has them, but for those that table 6 has already."""
    t = Table(follows(word))

    def row(term: Term, sigma: float = 1.0, m: int = 2) -> Recipe:
        return t.row(Objective(Gaussian(sigma), (CrossEntropy(), term), m))

    return {
        "ablation/loss/mse/5": row(MeanSquared(5.0)),
        "ablation/loss/mse/20": row(MeanSquared(20.0)),
        "ablation/loss/mse/50": row(MeanSquared(50.0)),
        "ablation/loss/kl/5": row(Consistency(5.0, eta=0.0)),
        "ablation/loss/kl/20": row(Consistency(20.0, eta=0.0)),
        "ablation/loss/kl/50": row(Consistency(50.0, eta=0.0)),
        "ablation/loss/eta-lambda/5": row(Consistency(5.0, eta=5.0)),
        "ablation/loss/eta-lambda/20": row(Consistency(20.0, eta=20.0)),
        "ablation/m/2/0.25": row(Consistency(5.0), 0.25),
        "ablation/m/4/0.25": row(Consistency(5.0), 0.25, m=4),
        "ablation/m/8/0.25": row(Consistency(5.0), 0.25, m=8),
        "ablation/m/4/0.50": row(Consistency(5.0), 0.5, m=4),
        "ablation/m/8/0.50": row(Consistency(5.0), 0.5, m=8),
        "ablation/m/4/1.00": row(Consistency(5.0), 1.0, m=4),
        "ablation/m/8/1.00": row(Consistency(5.0), 1.0, m=8),
        "ablation/lambda/1": row(Consistency(1.0)),
        "ablation/lambda/10": row(Consistency(10.0)),
        "ablation/lambda/15": row(Consistency(15.0)),
        "ablation/lambda/20": row(Consistency(20.0)),
        "ablation/lambda/25": row(Consistency(25.0)),
        "ablation/lambda/30": row(Consistency(30.0)),
        "ablation/lambda/50": row(Consistency(50.0)),
    }


RECIPES = tables("code") | {f"{name}/text": recipe for name, recipe in tables("text").items()}
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
