# Sourced by the tests that need an npm package. Each installs into a separate folder under the
# build tree, and is skipped, with a message, without npm or a network.
# shellcheck source=tests/skip.sh
. "$(dirname "${BASH_SOURCE[0]}")/../skip.sh"

# install_package DIRECTORY NAME VERSION [NAME VERSION]...
install_package() {
    local directory=$1 packages=() missing='' lock
    shift
    command -v node >/dev/null || skip "node is not installed (Debian: nodejs)"
    command -v npm >/dev/null || skip "npm is not installed"
    mkdir -p "$directory"
    exec {lock}>"$directory/lock"  # tests that share the folder run at the same time
    flock "$lock"
    [[ ! -e $directory/unfinished ]] || missing=yes  # an installation was interrupted
    for (( ; $# > 0; )); do
        [[ -d $directory/node_modules/$1 ]] || missing=yes
        packages+=("$1@$2")
        shift 2
    done
    [[ $missing ]] || { exec {lock}>&-; return 0; }
    : >"$directory/unfinished"
    [[ -w ${HOME:-/} ]] || export npm_config_cache=$directory/cache
    # In one call: npm removes packages from an earlier call that this one does not name.
    timeout 600 npm install --prefix "$directory" --no-save --no-audit --no-fund --ignore-scripts \
        --prefer-offline --fetch-retries 0 "${packages[@]}" >"$directory/install.log" 2>&1 ||
        skip "npm could not install ${packages[*]}: $(tail -n 1 "$directory/install.log")"
    rm "$directory/unfinished"
    exec {lock}>&-
}
