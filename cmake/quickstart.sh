#!/usr/bin/env bash
# Builds allscan and runs it, from nothing: `cmake/quickstart.sh demo` or `cmake/quickstart.sh test`. Safe to run again.
set -euo pipefail
cd "$(dirname "$0")/.."

usage="usage: cmake/quickstart.sh demo | test
  demo   builds the release preset, then trains the language model of examples/lm on four ranks
  test   builds the release preset, then runs the everyday tests"
packages="g++ cmake ninja-build libopenmpi-dev openmpi-bin libgtest-dev libbenchmark-dev nlohmann-json3-dev"

say() { printf '== %s\n' "$*"; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

package_is_missing() {
  ! dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed
}

install_packages() {
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    say "this system has no apt. Needed by hand: a C++20 compiler (g++ 12 or clang 14, or newer), CMake 3.25, Ninja, an MPI"
    say "of standard 3.1 (Open MPI or MPICH), GoogleTest, Google Benchmark and nlohmann-json. Going on with what is here."
    return
  fi
  local missing="" package
  for package in $packages; do
    if package_is_missing "$package"; then missing="$missing $package"; fi
  done
  if [ -z "$missing" ]; then
    say "all packages are installed"
    return
  fi
  if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
    say "not root and no sudo, so these cannot be installed here:$missing. Going on with what is here."
    return
  fi
  say "installing$missing"
  as_root apt-get update -qq
  # shellcheck disable=SC2086 # the list is meant to be split
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

# build <target>...: the targets of the release preset, in build/release.
build() {
  local tool
  for tool in cmake ninja; do
    if ! command -v "$tool" >/dev/null; then
      say "cannot build: $tool is not there. Install it and start again"
      exit 1
    fi
  done
  say "configuring build/release"
  cmake --preset release -DALLSCAN_TESTS=ON -DALLSCAN_BENCH=ON -DALLSCAN_EXAMPLES=ON
  say "building"
  cmake --build --preset release --target "$@"
}

case "${1-}" in
  demo | test) ;;
  *)
    printf '%s\n' "$usage" >&2
    exit 2
    ;;
esac

# Open MPI refuses to start as root, as in containers, unless told that this is meant.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

install_packages
if [ "$1" = demo ]; then
  build examples/all bench/all
  say "running build/release/examples/gla_lm"
  build/release/examples/gla_lm
else
  build all
  say "running the everyday tests"
  ctest --preset release --parallel "$(nproc)"
fi
