#!/usr/bin/env bash
# install.sh DIR: an editor to test in (code-server) and what drives its pages (playwright-core), both from npm.
# Needs Node 20, python3, a C++ compiler and make; Debian's chromium is the browser. Nothing is downloaded at run time.
set -euo pipefail
dir=$1
export npm_config_fund=false npm_config_audit=false npm_config_loglevel=error npm_config_yes=true
# Node's headers: Debian ships them under /usr; elsewhere node-gyp fetches them.
[ -e /usr/include/node/node.h ] && export npm_config_nodedir=/usr

mkdir -p "$dir"
cd "$dir"
echo '{"private":true}' > package.json
npm install --ignore-scripts --save-exact code-server@4.100.3 playwright-core@1.65.1 @vscode/ripgrep-linux-x64@1.18.0
(cd node_modules/argon2 && npx node-pre-gyp rebuild --build-from-source)

cd node_modules/code-server/lib/vscode
npm install --omit=dev --ignore-scripts
mkdir -p node_modules/@vscode/ripgrep/bin
ln -sf "$dir/node_modules/@vscode/ripgrep-linux-x64/bin/rg" node_modules/@vscode/ripgrep/bin/rg
npm rebuild --foreground-scripts node-pty native-watchdog @vscode/spdlog @parcel/watcher
ln -sfn node_modules node_modules.asar
(cd bin/remote-cli && ln -sf code-linux.sh code-server)
(cd bin/helpers && ln -sf browser-linux.sh browser.sh)
(cd extensions && npm install --omit=dev --ignore-scripts)
touch "$dir/.ready"
