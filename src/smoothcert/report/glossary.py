"""The words of a report, explained to a reader who has never seen a certificate."""

from __future__ import annotations

GLOSSARY: dict[str, tuple[str, str]] = {
    "smoothed": (
        "smoothed model",
        "Answers with the class that the network gives most often when random noise is added to the image.",
    ),
    "norm": (
        "norm",
        "How the size of a change is measured, with pixel values from 0 to 1. ℓ₂: the root of the summed squares of "
        "all pixel changes. ℓ₁: the sum of all pixel changes without their signs.",
    ),
    "radius": ("radius", "The largest change for which the answer is certified. It is always rounded down."),
    "confidence": (
        "confidence",
        "How often a sentence like this is true, at least, over the noise drawn while certifying (and, where images "
        "like these are meant, over the choice of images).",
    ),
    "noise": (
        "noise",
        "The law of the noise that was added to each pixel value. It is drawn and added in floating point, which is "
        "close to the law and to exact sums, but not the same.",
    ),
    "grid": (
        "noise",
        "The law of the noise that was added to each pixel value. It is drawn in whole numbers from a cryptographic "
        "stream, so the promise needs no assumption about rounding. It is about 8-bit images.",
    ),
    "alpha": ("α", "The probability, at most, that an image gets a wrong certificate."),
    "n": (
        "votes n",
        "How many noisy copies of each image were classified to judge it; n₀ others chose the class. A label-aware "
        "log skips images that these n₀ get wrong.",
    ),
    "budget": (
        "votes",
        "How many noisy copies of all images together were classified at most. n₀ of each image chose its class and "
        "decided how many others judge it.",
    ),
    "procedure": (
        "procedure",
        "How votes become a certificate. CERTIFY: Cohen, Rosenfeld and Kolter (2019). Single bound: the votes for the "
        "class are bounded from below; pair: those of the others from above too. Label-aware: the image’s label is "
        "judged instead of a guess.",
    ),
    "largest": ("largest possible", "The radius of an image whose votes are unanimous: no image can have more."),
    "data": ("images", "Data set, part of it, and which of its images were selected before certifying."),
    "fingerprint": ("data fingerprint", "SHA-256 of the images and labels: another data set has another one."),
    "model": ("model", "The network, and in brackets how it was computed."),
    "sha256": ("model SHA-256", "A digest of the network’s weights: another network has another one."),
    "precision": ("precision", "Of the network’s arithmetic, and the kind of device it ran on."),
    "seed": (
        "seed",
        "The number that decides all noise. Public: anybody can draw the votes again; the model must have been chosen "
        "without it. Secret: nobody knew it while the model was chosen; once revealed, votes can be drawn again.",
    ),
    "commitment": ("seed commitment", "A digest of the secret seed: the seed cannot be exchanged later."),
    "date": ("begun", "When certification began, by the clock of its machine."),
    "versions": ("versions", "Of the programs that certified."),
    "changed": (
        "not as trained",
        "In what the model was certified otherwise than it was trained; allowed, and stated.",
    ),
    "file": ("log", "The file that holds all votes behind this page."),
    "command": ("command", "Makes such a log again; folders and options that decide nothing are left out."),
    "complete": (
        "complete",
        "Whether every image that was selected beforehand is in the log: none can be left out quietly.",
    ),
    "verified": (
        "verified",
        "While this page was made, every class and radius was computed again from the votes in the log, as `smoothcert "
        "verify` does. That the network cast these votes, `smoothcert verify --recompute` can tell.",
    ),
    "sealed": (
        "sealed",
        "A closing row holds a hash over all rows: nothing was changed since it was written. Whoever writes the whole "
        "file anew can write a new hash, which a signature excludes. Logs of older versions have no closing row.",
    ),
    "signature": ("signature", "Of the log, by the owner of a key (`smoothcert sign`); checked with `--public-key`."),
    "acr": ("ACR", "Average certified radius: the mean of the radii, where a wrong or abstained image counts 0."),
    "accuracy": (
        "certified accuracy",
        "The share of images that are classified correctly and certified with at least this radius.",
    ),
    "abstained": (
        "abstained",
        "The votes were too close to say a class; where only the image's label was judged (label-aware), also every "
        "image that is given another class.",
    ),
    "p_a": ("p_A", "The probability, over the noise, that the network gives the most frequent class."),
}
