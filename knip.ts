import type { KnipConfig } from 'knip';

/** With `--production`, tests count for nothing: what they alone use is found. */
const production = process.argv.includes('--production');

const config: KnipConfig = {
  entry: [
    'src/**/*-worker.ts!',
    // Loaded with `require` by the executable alone.
    'src/crypto/embedded-addons.ts!',
    // Bundled by a macro, which names it by its path.
    'src/dashboard/pages/main.tsx!',
    // Made into files by a test.
    'packaging/settings-documents.ts!',
    'packaging/package.ts!',
    'packaging/docs.ts!',
    'test/**/*.test.ts',
    'test/{check,bench,fuzz,proof}/**/*.ts',
    'test/fixtures/**/*.ts',
    // Loaded before the tests by the runner.
    'test/lib/bundled-workers.ts',
    // Programs that tests start.
    'test/lib/{engine-workers,ledger-consumer,object-server-process}.ts',
    'test/chain/{index,coin-stats}-builder.ts',
    'test/chain/set-loader.ts',
    'test/node/verify/close-verify-pool.ts',
    'test/storage/hold-lock.ts',
    'test/storage/open-chain.ts',
  ],
  project: ['src/**/*.{ts,tsx}!', 'packaging/**/*.ts!', 'test/**/*.ts'],
  // A test may import a part of what a module uses itself.
  ignoreExportsUsedInFile: production,
  // Started by its path, and imported by a program that a test writes.
  ignoreDependencies: ['@biomejs/biome', 'openapi-fetch'],
};

export default config;
