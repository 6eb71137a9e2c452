import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { file, type GzipLevel, type TarEntry } from './archive.ts';

export const ROOT = resolve(import.meta.dir, '..');

/** Processors in the words of Bun, Debian and OCI. */
export const PROCESSORS = {
  x64: { debian: 'amd64', folder: 'x86_64-linux-gnu', runtime: 'x64' },
  arm64: { debian: 'arm64', folder: 'aarch64-linux-gnu', runtime: 'aarch64' },
} as const;
export type Processor = keyof typeof PROCESSORS;

/** The common facts of all packages of one commit. */
export interface Release {
  readonly version: string;
  readonly commit: string;
  /** Unix time of all files: that of the commit, or SOURCE_DATE_EPOCH. */
  readonly time: number;
  /** `name <address>`, of the commit. */
  readonly maintainer: string;
  readonly level: GzipLevel;
}

/** Reads the facts from package.json and the checked-out commit. Throws outside a clone. */
export function releaseOf(env: Readonly<Record<string, string | undefined>>, level: GzipLevel): Release {
  const { version } = JSON.parse(text('package.json')) as { version: string };
  const [commit, time, maintainer] = git('log', '-1', '--abbrev=12', '--format=%h%n%ct%n%an <%ae>').split('\n');
  const given = env.SOURCE_DATE_EPOCH ?? time!;
  if (!/^[0-9]{1,11}$/.test(given)) throw new Error(`SOURCE_DATE_EPOCH: ${given} is not a Unix time in seconds`);
  return { version, commit: commit!, time: Number(given), maintainer: maintainer!, level };
}

/** Returns the text of a file of the repository. */
export function text(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** Returns the Markdown documents, the unit files and the monitoring files, by their path in the repository. */
export function documents(): readonly { readonly path: string; readonly content: string }[] {
  const listed = git('ls-files', 'README.md', 'CHANGELOG.md', 'SECURITY.md', 'docs/*.md', 'docs/**/*.md', 'monitoring');
  return listed.split('\n').map((path) => ({ path, content: text(path) }));
}

/** Returns the paths of all files that are in the repository or could be added to it. */
export function repositoryPaths(): string[] {
  // A file that was removed without a commit is still listed.
  return git('ls-files', '--cached', '--others', '--exclude-standard')
    .split('\n')
    .filter((path) => existsSync(join(ROOT, path)))
    .sort();
}

/** Returns the entries of a plain archive for one target. */
export function tarballEntries(executable: Uint8Array): TarEntry[] {
  return [
    file('obverse', executable, 0o755),
    file('LICENSE', text('LICENSE')),
    ...documents().map(({ path, content }) => file(path, content)),
    ...['obverse.service', 'obverse@.service', 'obverse.toml'].map((name) =>
      file(`systemd/${name}`, text(`systemd/${name}`)),
    ),
  ];
}

function git(...args: string[]): string {
  const { success, stdout, stderr } = Bun.spawnSync(['git', ...args], { cwd: ROOT });
  if (!success) throw new Error(`git ${args[0]} failed: ${stderr.toString().trim()}`);
  return stdout.toString().trim();
}
