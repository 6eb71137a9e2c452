import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// Loaded before the tests: threads of `src/` run the bundles that `test/run.ts` has made of the same sources. A thread that
// loads a hundred modules one by one transpiles each of them, and takes three times as much processor time.

const { TEST_WORKERS: folder } = process.env;

if (folder) replaceWorkers(folder);

function replaceWorkers(bundles: string): void {
  const SourceWorker = globalThis.Worker;
  globalThis.Worker = class extends SourceWorker {
    constructor(url: string | URL, options?: WorkerOptions) {
      super(bundleOf(bundles, String(url)) ?? url, options);
    }
  };
}

function bundleOf(directory: string, url: string): string | null {
  if (!url.startsWith('file:') || !url.endsWith('-worker.ts') || !url.includes('/src/')) return null;
  const bundle = join(directory, basename(fileURLToPath(url)));
  return existsSync(bundle) ? bundle : null;
}
