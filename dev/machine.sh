# Debian packages that the tests need: a container runtime and network plugins for real nodes, promtool. Sourced by ./test.
node_packages="containerd runc containernetworking-plugins iproute2 iptables nftables busybox-static prometheus"

machine_packages() {
  local missing=()
  for package in $node_packages; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  local root=
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null 2>&1 || {
      echo "These Debian packages are missing, and installing them needs root: ${missing[*]}" >&2
      return 1
    }
    root=sudo
  fi
  echo "installing ${missing[*]}"
  $root env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  # No service may start: the sandbox runs its own containerd, in namespaces of its own.
  $root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
