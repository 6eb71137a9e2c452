import { ChainReads } from '../storage/chain-reads.ts';
import { runJob } from './reader-jobs.ts';
import { CLOSED, type FromReader, type ToReader } from './reader-messages.ts';
import type { ReadSources } from './readers/read-settings.ts';
import { WalletFiles } from './wallets/wallet-readers.ts';

declare const self: Worker;

class Cancelled extends Error {
  override readonly name = 'Cancelled';
}

let reads: ChainReads | null = null;
let wallets: WalletFiles | null = null;
let sources: ReadSources | null = null;
let cancelled: Int32Array = new Int32Array(1);

self.onmessage = ({ data }: MessageEvent<ToReader>) => {
  if (data.type === 'open') {
    reads = new ChainReads(data.dir);
    wallets = new WalletFiles(data.dir);
    sources = data.sources;
    cancelled = new Int32Array(data.cancelled);
    return;
  }
  if (data.type === 'close') {
    reads?.close();
    wallets?.close();
    self.postMessage({ id: CLOSED, result: null, error: null } satisfies FromReader);
    return;
  }
  const { id, job } = data;
  const checkpoint = () => {
    if (Atomics.load(cancelled, 0) === id) throw new Cancelled('nobody waits for the answer');
  };
  let answer: FromReader;
  try {
    answer = {
      id,
      result: runJob({ reads: reads!, wallets: (state) => wallets!.get(state), ...sources! }, job, checkpoint),
      error: null,
    };
  } catch (error) {
    const text =
      error instanceof Cancelled ? null : error instanceof Error ? (error.stack ?? error.message) : String(error);
    answer = { id, result: null, error: text };
  }
  const bytes = answer.result?.ok ? bytesOf(answer.result.reply.body) : null;
  if (!bytes || !answer.result?.ok) self.postMessage(answer);
  else
    self.postMessage({ ...answer, result: { ok: true, reply: { ...answer.result.reply, body: bytes } } }, [
      bytes.buffer,
    ]);
};

/** Text becomes bytes here, so that the front only passes them on; an own buffer, since it goes over whole. */
function bytesOf(body: string | Uint8Array): Uint8Array<ArrayBuffer> {
  return typeof body === 'string' ? new TextEncoder().encode(body) : body.slice();
}
