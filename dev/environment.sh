# Makes the project's own Python environment (.venv), from nothing but Python 3.11+ and the lock file.
# Sourced by ./tonnage and ./test. Quiet when there is nothing to do.
set -euo pipefail

cache="${XDG_CACHE_HOME:-$HOME/.cache}/tonnage"
uv_version=0.13.7

find_python() {
  for candidate in python3.11 python3.12 python3.13 python3.14 python3; do
    if command -v "$candidate" >/dev/null 2>&1 &&
      "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
      command -v "$candidate"
      return
    fi
  done
  echo "Tonnage needs Python 3.11 or newer, and none was found on the PATH." >&2
  echo "    Install it (Debian: apt-get install python3 python3-venv) and try again." >&2
  return 1
}

find_uv() {
  if command -v uv >/dev/null 2>&1; then
    command -v uv
    return
  fi
  local home="$cache/uv-$uv_version"
  if [ ! -x "$home/bin/uv" ]; then
    echo "getting uv $uv_version (once, about 5 s)" >&2
    rm -rf "$home"
    "$python" -m venv "$home" && "$home/bin/python" -m pip install --quiet "uv==$uv_version" >&2
  fi
  echo "$home/bin/uv"
}

# environment run|dev: bring .venv up to date with uv.lock; `dev` adds what the tests need and serves `run` as well
environment() {
  python="$(find_python)"
  export UV_PYTHON_DOWNLOADS=never UV_COMPILE_BYTECODE=1
  local stamp="$project/.venv/.synced" tracer="$project/src/tonnage_tracer" locked
  locked="$(cat "$project"/{uv.lock,pyproject.toml,hatch_build.py} "$tracer"/native/* | sha256sum)"
  if [ -e "$tracer/lib/libcuda.so.1" ] || [ "$(uname -s)" != Linux ]; then
    case "$(cat "$stamp" 2>/dev/null)" in
    "$locked $1" | "$locked dev") return ;;
    esac
  fi
  local dev=--no-dev purpose="$1"
  case "$(cat "$stamp" 2>/dev/null)" in *" dev") purpose=dev ;; esac # what the tests need is not taken away again
  [ "$purpose" = dev ] && dev=--dev
  # Our own package is built anew: its native libraries lie beside their sources, not in what uv remembers of them.
  (cd "$project" && "$(find_uv)" sync --locked --quiet --python "$python" "$dev" --reinstall-package tonnage)
  echo "$locked $purpose" >"$stamp"
}
