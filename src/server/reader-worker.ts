import { DerivedScripts } from '../queries/derived-scripts.ts';
import type { ReadSources } from '../queries/read-settings.ts';
import { type FromReader, READER_CLOSED, type ToReader } from '../queries/reader-messages.ts';
import { WalletFileReaders } from '../queries/wallet-readers.ts';
import { ChainReads } from '../storage/chain-reads.ts';
import { reserveDescriptors } from '../util/descriptors.ts';
import { lowerThreadPriority } from '../util/nice.ts';
import { noteProgress } from '../util/progress.ts';
import { announceStart } from '../util/worker.ts';
import { runJob } from './run-job.ts';

declare const self: Worker;

/** Time limit for a free descriptor when a file is opened, milliseconds. */
const PATIENCE_MS = 2000;

announceStart();
reserveDescriptors(0, PATIENCE_MS);

class Cancelled extends Error {
  override readonly name = 'Cancelled';
}

class TookTooLong extends Error {
  override readonly name = 'TookTooLong';
}

let reads: ChainReads | null = null;
const derived = new DerivedScripts();
let wallets: WalletFileReaders | null = null;
let sources: ReadSources | null = null;
let cancelled: Int32Array = new Int32Array(1);

self.onmessage = ({ data }: MessageEvent<ToReader>) => {
  if (data.type === 'open') {
    if (data.nice > 0) lowerThreadPriority(data.nice);
    reads = new ChainReads(data.chainDir);
    wallets = new WalletFileReaders();
    sources = data.sources;
    cancelled = new Int32Array(data.cancelled);
    return;
  }
  if (data.type === 'close') {
    reads?.close();
    wallets?.close();
    self.postMessage({ id: READER_CLOSED, result: null, error: null } satisfies FromReader);
    return;
  }
  const { id, job, maxMs } = data;
  const until = maxMs === null ? Number.POSITIVE_INFINITY : performance.now() + maxMs;
  const checkpoint = () => {
    noteProgress();
    if (Atomics.load(cancelled, 0) === id) throw new Cancelled('the client has disconnected');
    if (performance.now() > until) throw new TookTooLong();
  };
  let answer: FromReader;
  try {
    answer = {
      id,
      result: runJob({ reads: reads!, wallets: (state) => wallets!.get(state), derived, ...sources! }, job, checkpoint),
      error: null,
    };
  } catch (error) {
    if (error instanceof TookTooLong) answer = { id, result: null, error: null, tookTooLong: true };
    else answer = { id, result: null, error: faultOf(error) };
  }
  const bytes = answer.result?.ok ? bytesOf(answer.result.reply.body) : null;
  if (!bytes || !answer.result?.ok) self.postMessage(answer);
  else
    self.postMessage({ ...answer, result: { ok: true, reply: { ...answer.result.reply, body: bytes } } }, [
      bytes.buffer,
    ]);
};

function faultOf(error: unknown): string | null {
  if (error instanceof Cancelled) return null;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/**
 * Encodes text here, so that the main thread only passes bytes on. The buffer is a separate one, since it is
 * transferred whole.
 */
function bytesOf(body: string | Uint8Array): Uint8Array<ArrayBuffer> {
  return typeof body === 'string' ? new TextEncoder().encode(body) : body.slice();
}
