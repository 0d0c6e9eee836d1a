"""Fashion-MNIST is trained as MNIST is."""

from dataclasses import replace

import pytest

from smoothcert.data.fetch import FETCHABLE
from smoothcert.recipes import find_recipe
from smoothcert.recipes.fashion_mnist import RECIPES


@pytest.mark.parametrize("name", RECIPES)
def test_its_recipes_are_mnists_on_other_images(name):
    twin = find_recipe(name.removeprefix("fashion-"))
    assert RECIPES[name] == replace(twin, data="fashion_mnist") == find_recipe(name)


def test_its_files_are_those_of_its_authors():
    """As published beside the data set; they lie in a folder of their own."""
    source = FETCHABLE["fashion_mnist"]
    assert source.folder == "FashionMNIST/raw" and source.md5 == {
        "train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
        "train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
        "t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
        "t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310",
    }
