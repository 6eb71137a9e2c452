import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { deadLinkLines, makeSite } from './docs/site.ts';
import { ROOT, repositoryPaths, text } from './release.ts';

const USAGE = `Usage: npm run docs -- [--out dist/docs]

Makes a static site of the README and docs/. Its pages have no script, request nothing from other servers, and can be
opened as files. Equal documents give equal bytes. A dead link ends the command with status 1.
`;

const { values } = parseArgs({
  options: {
    out: { type: 'string', default: join(ROOT, 'dist/docs') },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}
const out = resolve(values.out);
const { version } = JSON.parse(text('package.json')) as { version: string };
const { files, deadLinks } = makeSite({
  version,
  paths: repositoryPaths(),
  readFile: (path) => readFileSync(join(ROOT, path)),
});
if (deadLinks.length > 0) {
  for (const line of deadLinkLines(deadLinks)) console.error(line);
  process.exit(1);
}
// Stale pages are removed, but nothing that is no site.
if (existsSync(out) && readdirSync(out).length > 0 && !existsSync(join(out, 'index.html'))) {
  console.error(`${out} holds other files than a site: name an empty or new folder with --out`);
  process.exit(1);
}
rmSync(out, { recursive: true, force: true });
for (const [path, content] of files) {
  const file = join(out, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}
console.log(`${relative('.', out)}: ${files.size} files; begin with ${relative('.', join(out, 'index.html'))}`);
