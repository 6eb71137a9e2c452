import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkImports, importsOf } from './imports.ts';

test.each([
  ["import { a } from './a.ts';", ['./a.ts']],
  ["import type { A } from '../a.ts';", ['../a.ts']],
  ["import a, { type B } from '../a.ts'", ['../a.ts']],
  ['import {\n  a,\n  b,\n} from "../a.ts";', ['../a.ts']],
  ["import * as a from '../a.ts';", ['../a.ts']],
  ["import './side-effect.ts';", ['./side-effect.ts']],
  ["export { a } from './a.ts';", ['./a.ts']],
  ["export * from './a.ts';", ['./a.ts']],
  ["const a = await import('./a.ts');", ['./a.ts']],
  ["const a = require('secp256k1/prebuilds/x.node');", ['secp256k1/prebuilds/x.node']],
  ["new Worker(new URL('./verify-worker.ts', import.meta.url).href)", ['./verify-worker.ts']],
  ["import pkg from '../package.json' with { type: 'json' };", ['../package.json']],
  ["const from = 'x'; export const a = 'b';", []],
  ["export function f() {}\nconst s = ' from ';", []],
])('finds the imports of %j', (code, expected) => expect(importsOf(code)).toEqual(expected));

test.each([
  ['src/main.ts', "import { dispatch } from './cli/dispatch.ts';\nprocess.exit(0);"],
  ['src/cli/start-command.ts', "import { loadConfig } from '../config/load.ts';"],
  [
    'src/node/run-node.ts',
    "import type { Config } from '../config/settings.ts';\nimport { Chain } from '../chain/chain.ts';",
  ],
  [
    'src/config/settings.ts',
    "import { paramsFor } from '../params/networks.ts';\nimport { suggest } from '../util/suggest.ts';",
  ],
  [
    'src/chain/connect.ts',
    "import { checkBlock } from '../consensus/check-block.ts';\nimport { log } from '../util/log.ts';",
  ],
  ['src/chain/connect.ts', "import { undo } from './undo.ts';\nimport { Database } from 'bun:sqlite';"],
  [
    'src/consensus/check-block.ts',
    "import { assert } from '../util/assert.ts';\nimport { verify } from '../script/verify.ts';",
  ],
  ['src/script/sighash.ts', "import { sha256 } from '@noble/hashes/sha2.js';"],
  ['src/rpc/methods/methods.ts', "import { rpcMethod } from '../engine/method.ts';"],
  ['src/util/build-version.ts', "import { version } from '../../package.json';"],
  ['src/chain/chain.ts', "// import { x } from '../node/x.ts';\n/* import y from '../rest/y.ts'; process.exit(1) */"],
  ['src/node/pool.ts', "new Worker(new URL('./verify-worker.ts', import.meta.url).href);"],
  ['src/server/app.ts', "import { dashboardRoutes } from '../dashboard/dashboard-routes.ts';"],
  ['src/dashboard/pages/main.tsx', "import { formatCount } from './format.ts';\nimport { render } from 'preact';"],
])('allows %s %j', (path, text) => expect(checkImports({ path, text })).toEqual([]));

test.each([
  ['src/chain/chain.ts', "import { x } from '../node/x.ts';", 'chain stands below node'],
  ['src/chain/chain.ts', "import type { X } from '../mempool/x.ts';", 'chain stands below mempool'],
  ['src/chain/chain.ts', "const x = await import('../p2p/x.ts');", 'chain stands below p2p'],
  ['src/chain/chain.ts', "export { x } from '../rest/x.ts';", 'chain stands below rest'],
  ['src/rest/blocks.ts', "import { Config } from '../config/settings.ts';", 'rest may not import config'],
  ['src/rest/blocks.ts', "import { x } from '../rpc/x.ts';", 'rest stands beside rpc'],
  ['src/rpc/engine/route.ts', "import type { X } from '../../rest/x.ts';", 'rpc stands beside rest'],
  [
    'src/rpc/engine/dispatcher.ts',
    "import type { X } from '../methods/methods.ts';",
    'src/rpc/engine/ stands below src/rpc/methods/',
  ],
  ['src/dashboard/pages/main.tsx', "import { x } from '../../http/x.ts';", 'leaves src/dashboard/pages/'],
  ['src/dashboard/files.ts', "import { x } from './pages/x.ts';", 'src/dashboard/pages/ is code of browsers'],
  ['src/http/errors.ts', "import { x } from '../dashboard/x.ts';", 'http stands below dashboard'],
  ['src/config/load.ts', "import { hash } from '../crypto/hash.ts';", 'config may not import crypto'],
  ['src/util/log.ts', "import { x } from '../primitives/hash.ts';", 'util stands below primitives'],
  ['src/chain/chain.ts', "import { x } from '../../test/lib/x.ts';", 'leaves src/'],
  ['src/chain/chain.ts', "import { x } from './x';", 'has no file extension'],
  ['src/chain/chain.ts', "import { x } from '../helpers/x.ts';", 'belongs to no room of src/'],
  ['src/helpers/x.ts', '', 'belongs to no room of src/'],
  ['src/node/run-node.ts', 'process.exit(1);', 'only main.ts may exit the process'],
  ['src/consensus/header.ts', "import { clock } from '../util/clock.ts';", 'rules import nothing of the runtime'],
  ['src/consensus/header.ts', "import { Database } from 'bun:sqlite';", 'rules import nothing of the runtime'],
  ['src/script/verify.ts', "import { connect } from 'node:net';", 'rules import nothing of the runtime'],
  ['src/script/verify.ts', "import { dlopen } from 'bun';", 'rules import nothing of the runtime'],
  ['src/consensus/header.ts', 'const now = Date.now();', 'rules see no clock, chance, files or network'],
  ['src/script/verify.ts', 'const debug = process.env.DEBUG;', 'rules see no clock, chance, files or network'],
  [
    'src/node/run-node.ts',
    "new Worker(new URL('../server/reader-worker.ts', import.meta.url))",
    'NAME-worker.ts beside',
  ],
])('refuses %s %j', (path, text, reason) => {
  const lines = checkImports({ path, text });
  expect(lines).toHaveLength(1);
  expect(lines[0]).toStartWith(`${path}: `);
  expect(lines[0]).toContain(reason);
});

test('all imports of src/ point downwards', () => {
  const root = join(import.meta.dir, '../..');
  const paths = [...new Bun.Glob('src/**/*.{ts,tsx}').scanSync({ cwd: root })];
  expect(paths.length).toBeGreaterThan(20);
  expect(paths.flatMap((path) => checkImports({ path, text: readFileSync(join(root, path), 'utf8') }))).toEqual([]);
});
