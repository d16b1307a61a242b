#!/usr/bin/env bash
# Builds the wheel and uses it as a stranger would: in an empty environment, outside the clone, with the dependencies that
# pyproject.toml's ranges give today, not those of the lock. Needs `make setup` before. Keeps nothing unless told where:
#
#   tools/try_wheel.sh [FOLDER]      the folder must not exist; by default a temporary one that is removed
#
# Ends with what pip resolved and what the unit tests say under it; exit code 0 only if all of it worked.
set -euo pipefail
clone=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-$clone/.venv/bin/python}
if [ $# -ge 1 ]; then
  folder=$1
  mkdir -p "$(dirname "$folder")"
  mkdir "$folder"
  folder=$(cd "$folder" && pwd)
else
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi
# The clone's own code must not answer for the wheel.
unset PYTHONPATH
export PYTHONDONTWRITEBYTECODE=1

say() { printf '\n== %s\n' "$*"; }

say "the wheel"
"$python" -m build --wheel --no-isolation --outdir "$folder/dist" "$clone" >"$folder/build.log" 2>&1 || { cat "$folder/build.log"; exit 1; }
wheel=$(echo "$folder"/dist/penstock-*.whl)
basename "$wheel"

say "every file of the package is in it, and no other"
"$python" - "$clone" "$wheel" <<'PYTHON'
import subprocess, sys, zipfile
clone, wheel = sys.argv[1:]
tracked = subprocess.run(["git", "-C", clone, "ls-files", "src/penstock"], capture_output=True, text=True, check=True).stdout.split()
wanted = {name.removeprefix("src/") for name in tracked}
found = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
for name in sorted(wanted - found):
    print("missing:", name)
for name in sorted(found - wanted):
    print("strange:", name)
print(f"{len(found)} files, {sum(not name.endswith('.py') for name in found)} of them data")
sys.exit(wanted != found)
PYTHON

say "an empty environment"
"$python" -m venv "$folder/venv"
mkdir "$folder/empty"
cd "$folder/empty"
pip() { "$folder/venv/bin/python" -m pip --disable-pip-version-check "$@"; }
pip install --quiet "$wheel"
pip check
pip list --format=freeze | grep -v -e '^pip=' -e '^setuptools='

say "the command"
penstock=$folder/venv/bin/penstock
"$penstock" --version
cp -r "$clone/examples/payments" .
"$penstock" validate payments/pipeline.yaml
"$penstock" plan payments/pipeline.yaml >plan.txt
head -3 plan.txt
if "$penstock" --help | grep -q '^ *demo '; then "$penstock" demo --help; fi
"$folder/venv/bin/python" -c 'import penstock, sys; assert penstock.__file__.startswith(sys.argv[1]), penstock.__file__' "$folder"

say "the unit tests, against the wheel"
pip install --quiet pytest pytest-timeout hypothesis duckdb
cp -r "$clone/tests" "$clone/pyproject.toml" "$clone/examples" "$clone/docs" "$clone/README.md" .
"$folder/venv/bin/python" -m pytest tests/unit -q -p no:cacheprovider
