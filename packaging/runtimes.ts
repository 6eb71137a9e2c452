import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, text } from './release.ts';

/** Builds: the processor, and the C library where it is not glibc. */
export const TARGETS = ['x64', 'arm64', 'x64-musl', 'arm64-musl'] as const;
export type Target = (typeof TARGETS)[number];

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly version: string; readonly integrity?: string }>>;
}

/**
 * Returns the file of the runtime of a target. npm downloads its package into `folder` once; its hash must be the one of
 * the lock file.
 */
export function runtimeOf(target: Target, folder: string): string {
  const name = `@oven/bun-linux-${target.replace('arm64', 'aarch64')}`;
  const { packages } = JSON.parse(text('package-lock.json')) as LockFile;
  const locked = packages[`node_modules/${name}`];
  if (!locked?.integrity) throw new Error(`package-lock.json has no hash of ${name}`);
  const place = join(folder, `${name.slice('@oven/'.length)}-${locked.version}`);
  const runtime = join(place, 'package/bin/bun');
  if (existsSync(runtime)) return runtime;
  const unfinished = `${place}.unfinished`;
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true });
  run('npm', 'pack', '--silent', '--pack-destination', unfinished, `${name}@${locked.version}`);
  const [archive] = readdirSync(unfinished);
  const path = join(unfinished, archive!);
  const hash = new Bun.CryptoHasher('sha512').update(readFileSync(path)).digest('base64');
  if (`sha512-${hash}` !== locked.integrity) throw new Error(`${name} does not have the hash of package-lock.json`);
  run('tar', '-xzf', path, '-C', unfinished, 'package/bin/bun');
  rmSync(path);
  renameSync(unfinished, place);
  return runtime;
}

/** Runs a program in the repository and returns its output. Throws with its messages where it fails. */
export function run(...command: string[]): string {
  const { success, stdout, stderr } = Bun.spawnSync(command, { cwd: ROOT });
  if (!success) throw new Error(`${command.slice(0, 3).join(' ')} failed: ${stderr.toString().trim()}`);
  return stdout.toString();
}
