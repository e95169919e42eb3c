# What the tests that need an npm package begin with; sourced. Each installs into a folder of its own
# under the build tree, and is skipped, with a message, where there is no npm or no network.
# shellcheck source=tests/skip.sh
. "$(dirname "${BASH_SOURCE[0]}")/../skip.sh"

# install_package DIRECTORY NAME VERSION
install_package() {
    command -v node >/dev/null || skip "node is not installed (Debian: nodejs)"
    command -v npm >/dev/null || skip "npm is not installed"
    [[ ! -d $1/node_modules/$2 ]] || return 0
    mkdir -p "$1"
    timeout 120 npm install --prefix "$1" --no-save --no-audit --no-fund --ignore-scripts \
        --prefer-offline --fetch-retries 0 "$2@$3" >"$1/install.log" 2>&1 ||
        skip "npm could not install $2@$3: $(tail -n 1 "$1/install.log")"
}
