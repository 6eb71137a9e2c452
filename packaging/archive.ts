/** One member of a tar archive. Paths have no leading slash. */
export type TarEntry = {
  readonly path: string;
  readonly mode: number;
  readonly gid?: number;
  readonly uid?: number;
} & (
  | { readonly type: 'file'; readonly bytes: Uint8Array }
  | { readonly type: 'directory' }
  | { readonly type: 'link'; readonly target: string }
);

const BLOCK = 512;
const TYPE_FLAGS = { file: '0', link: '2', directory: '5' } as const;
const NAME_ROOM = 100;
const PREFIX_ROOM = 155;

export function file(path: string, content: Uint8Array | string, mode = 0o644): TarEntry {
  return { path, mode, type: 'file', bytes: typeof content === 'string' ? new TextEncoder().encode(content) : content };
}

/**
 * Returns a ustar archive of the entries and of the folders that they lie in, sorted by path. Members belong to root unless
 * they name another owner, and all have the given time (Unix seconds), so that equal entries give equal bytes. `prefix`
 * comes before every path.
 */
export function tar(entries: readonly TarEntry[], mtime: number, prefix = ''): Uint8Array {
  const all = new Map<string, TarEntry>();
  for (const entry of entries) {
    for (let at = entry.path.indexOf('/'); at >= 0; at = entry.path.indexOf('/', at + 1)) {
      const path = entry.path.slice(0, at);
      if (!all.has(path)) all.set(path, { path, mode: 0o755, type: 'directory' });
    }
    if (all.has(entry.path) && entry.type !== 'directory') throw new Error(`${entry.path} is in the archive twice`);
    all.set(entry.path, entry);
  }
  const parts: Uint8Array[] = [];
  for (const entry of [...all.values()].sort((a, b) => (a.path < b.path ? -1 : 1))) {
    parts.push(tarHeader(entry, mtime, prefix));
    if (entry.type !== 'file') continue;
    parts.push(entry.bytes, new Uint8Array(-entry.bytes.length & (BLOCK - 1)));
  }
  parts.push(new Uint8Array(2 * BLOCK));
  return Buffer.concat(parts);
}

function tarHeader(entry: TarEntry, mtime: number, before: string): Uint8Array {
  const { mode, type, uid = 0, gid = 0 } = entry;
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, offset: number, room: number) =>
    header.write(`${value.toString(8).padStart(room - 1, '0')}\0`, offset, 'latin1');
  const [prefix, name] = splitPath(`${before}${entry.path}${type === 'directory' ? '/' : ''}`);
  header.write(name, 0);
  octal(mode, 100, 8);
  octal(uid, 108, 8);
  octal(gid, 116, 8);
  octal(type === 'file' ? entry.bytes.length : 0, 124, 12);
  octal(mtime, 136, 12);
  header.write('        ', 148);
  header.write(TYPE_FLAGS[type], 156);
  if (type === 'link') header.write(entry.target, 157);
  header.write('ustar\x0000', 257, 'latin1');
  header.write('root', 265);
  header.write('root', 297);
  header.write(prefix, 345);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return header;
}

/** Splits a path into the fields `prefix` and `name` of ustar. */
function splitPath(path: string): [prefix: string, name: string] {
  const { length } = Buffer.from(path);
  if (length !== path.length) throw new Error(`${path} has characters other than ASCII`);
  if (length <= NAME_ROOM) return ['', path];
  for (let at = path.indexOf('/'); at >= 0 && at <= PREFIX_ROOM; at = path.indexOf('/', at + 1))
    if (length - at - 1 <= NAME_ROOM) return [path.slice(0, at), path.slice(at + 1)];
  throw new Error(`${path} is too long for an archive`);
}

/** Returns an archive as `ar` makes it, the outer format of Debian packages. */
export function ar(
  members: readonly { readonly name: string; readonly bytes: Uint8Array }[],
  mtime: number,
): Uint8Array {
  const parts: Uint8Array[] = [Buffer.from('!<arch>\n')];
  for (const { name, bytes } of members) {
    const fields = [name.padEnd(16), String(mtime).padEnd(12), '0'.padEnd(6), '0'.padEnd(6), '100644'.padEnd(8)];
    parts.push(Buffer.from(`${fields.join('')}${String(bytes.length).padEnd(10)}\`\n`), bytes);
    if (bytes.length % 2 === 1) parts.push(Buffer.from('\n'));
  }
  return Buffer.concat(parts);
}

export type GzipLevel = 1 | 6 | 9;

/** Compresses without a name and a time, so that equal content gives equal bytes. */
export function gzip(bytes: Uint8Array, level: GzipLevel): Uint8Array {
  return Bun.gzipSync(bytes as Uint8Array<ArrayBuffer>, { level });
}

export function sha256Hex(bytes: Uint8Array | string): string {
  return new Bun.CryptoHasher('sha256').update(bytes).digest('hex');
}
