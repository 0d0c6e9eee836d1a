#!/usr/bin/env bash
# Builds sdist and wheel into dist/, the wheel from the sdist, and tries the wheel as a stranger would: installed with
# pinned dependencies into an environment of its own, far from this folder.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
away=$(mktemp -d)
trap 'rm -rf "$away"' EXIT
"${PYTHON:-python3}" -m venv "$away/env"
pip=("$away/env/bin/pip" --disable-pip-version-check -q)
"${pip[@]}" install -c constraints.txt hatchling

rm -rf dist
"$away/env/bin/python" -m hatchling build -t sdist
"${pip[@]}" wheel --no-deps --no-build-isolation -w dist dist/*.tar.gz
"$away/env/bin/python" release/contents.py dist/*.whl

# The CPU build of torch is far smaller; where its index is out of reach, the next line takes torch from wherever pip
# finds it.
if [ -n "${TORCH_INDEX-}" ]; then
  "${pip[@]}" install --no-compile --no-deps --retries 0 --timeout 10 --index-url "$TORCH_INDEX" \
    "$(grep '^torch==' constraints.txt)" 2>/dev/null || true
fi
"${pip[@]}" install --no-compile -c constraints.txt "$(echo dist/*.whl)[demo]"

cd "$away"
unset PYTHONPATH
"$away/env/bin/smoothcert" --version
"$away/env/bin/python" "$root/release/smoke.py"
echo "$(cd "$root" && echo dist/*): built, installed and tried"
