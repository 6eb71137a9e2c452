import { closeSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { withDescriptors } from '../../util/descriptors.ts';
import { OperatorError } from '../../util/operator-error.ts';
import { HeldRuns } from '../backup/chain-files.ts';
import { copyChainDatabase } from '../backup/copy-database.ts';
import { readFully } from '../backup/copy-file.ts';
import { SCHEMA_VERSION } from '../chain-schema.ts';
import { type ChainDatabaseIdentity, isOfChain, openReadWrite, readMeta } from '../database.ts';
import { removeEventLog } from '../event-store.ts';
import type { SnapshotFile, SnapshotManifest } from './snapshot-manifest.ts';

/** A part of a file, in a buffer that is used again after `release`. */
export interface SourcePart {
  readonly sha256: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  release(): void;
}

/** A file of the source, up to the length that the copy of chain.db refers to. */
interface SourceFile {
  /** Relative to the folder of the chain. */
  readonly path: string;
  readonly bytes: number;
  /** A file that is open already; null for one that is opened when it is read. */
  readonly fd: number | null;
  readonly from: string;
}

/**
 * The files of a chain as they are at one moment, also while a node goes on to write: a copy of chain.db without its event
 * log, and the files that it refers to, which are immutable or only grow behind what it refers to.
 */
export class SnapshotSource implements Disposable {
  readonly tip: SnapshotManifest['tip'];
  /** Sum of all files. */
  readonly totalBytes: number;
  /** The files that were read to their end, in order. */
  readonly files: SnapshotFile[] = [];
  readonly #held: HeldRuns;
  readonly #sources: readonly SourceFile[];

  /**
   * Copies chain.db to the directory `folder`. Throws OperatorError on a chain of another identity, and on a database of an
   * earlier schema, which a start converts.
   */
  constructor(chainDir: string, folder: string, identity: ChainDatabaseIdentity) {
    this.#held = new HeldRuns(chainDir);
    try {
      const copy = join(folder, 'chain.db');
      const { height, hash, runs, records } = copyChainDatabase(chainDir, copy, this.#held);
      this.tip = { height, hash };
      prepareCopy(copy, identity);
      this.#sources = [
        { path: 'chain.db', bytes: statSync(copy).size, fd: null, from: copy },
        ...runs.map((name) => ({ path: `runs/${name}`, ...this.#held.find(name)!, from: name })),
        ...records.map(({ path, bytes }) => ({ path, bytes, fd: null, from: join(chainDir, path) })),
      ];
      this.totalBytes = this.#sources.reduce((sum, { bytes }) => sum + bytes, 0);
    } catch (error) {
      this.#held[Symbol.dispose]();
      throw error;
    }
  }

  /**
   * Reads all files and yields their parts; at most `buffers` of them may be in use at once. Throws OperatorError where a
   * file has become shorter.
   */
  *readParts(partBytes: number, buffers: number): Generator<SourcePart> {
    const free = Array.from({ length: buffers }, () => Buffer.alloc(partBytes));
    for (const source of this.#sources) {
      const fd = source.fd ?? withDescriptors(() => openSync(source.from, 'r'));
      try {
        yield* this.#readFile(source, fd, free, partBytes);
      } finally {
        if (source.fd === null) closeSync(fd);
      }
    }
  }

  *#readFile({ path, bytes, from }: SourceFile, fd: number, free: Buffer<ArrayBuffer>[], partBytes: number) {
    const whole = new Bun.CryptoHasher('sha256');
    const parts: string[] = [];
    for (let at = 0; at < bytes; ) {
      const buffer = free.pop();
      if (buffer === undefined) throw new Error('no buffer is free for a part');
      const part = buffer.subarray(0, Math.min(partBytes, bytes - at));
      if (!readFully(fd, part, at))
        throw new OperatorError(
          `${from} has become shorter while it was pushed, as when its blocks are pruned: run the same command again`,
        );
      const sha256 = new Bun.CryptoHasher('sha256').update(part).digest('hex');
      whole.update(part);
      parts.push(sha256);
      at += part.length;
      // The file is complete before its last part is sent, so that a reader of all parts finds it in the list.
      if (at === bytes) this.files.push({ path, bytes, sha256: whole.digest('hex'), parts });
      yield { sha256, bytes: part, release: () => free.push(buffer) };
    }
    if (bytes === 0) this.files.push({ path, bytes, sha256: whole.digest('hex'), parts });
  }

  [Symbol.dispose](): void {
    this.#held[Symbol.dispose]();
  }
}

/** Removes the event log from a copy of chain.db: it belongs to the clients of the node, and has what its mempool has seen. */
function prepareCopy(path: string, identity: ChainDatabaseIdentity): void {
  const db = openReadWrite(path);
  try {
    const meta = readMeta(db);
    const schema = meta.get('schema');
    if (schema !== SCHEMA_VERSION)
      throw new OperatorError(
        `the chain has schema ${schema}, and snapshots have schema ${SCHEMA_VERSION}: start the node once with this version, which converts it`,
      );
    if (!isOfChain(meta, identity))
      throw new OperatorError(`the chain belongs to network ${meta.get('network')}, not to ${identity.network}`);
    removeEventLog(db);
  } finally {
    db.close();
  }
}
