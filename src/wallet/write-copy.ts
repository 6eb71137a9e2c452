import { startWorker } from '../util/worker.ts';
import type { CopyReply, CopyRequest } from './copy-worker.ts';

/** Writes a copy of a wallet's file on a thread of its own, since the time it takes grows with the file. */
export async function writeCopy(request: CopyRequest): Promise<void> {
  const worker = startWorker(new URL('./copy-worker.ts', import.meta.url), null);
  try {
    const { error } = await new Promise<CopyReply>((resolve, reject) => {
      worker.onmessage = ({ data }: MessageEvent<CopyReply>) => resolve(data);
      worker.onerror = ({ message }) => reject(new Error(`the thread that copies a wallet failed: ${message}`));
      worker.addEventListener('close', () => reject(new Error('the thread that copies a wallet has ended')));
      worker.postMessage(request);
    });
    if (error !== null) throw new Error(error);
  } finally {
    worker.terminate();
  }
}
