import type { ScriptFailure } from '../chain/script-verifier.ts';
import { type SignatureEngine, signatureEngine } from '../crypto/secp256k1.ts';
import { checkInput } from '../script/tx-checker.ts';
import { TxContext } from '../script/tx-context.ts';
import { lowerThreadPriority } from '../util/nice.ts';
import { readVerifyBatch } from './verify-batch.ts';

/** What a worker is asked, and what it answers. */
export interface VerifyRequest {
  readonly id: number;
  readonly batch: Uint8Array<ArrayBuffer>;
}

export interface VerifyReply {
  readonly id: number;
  readonly failure: ScriptFailure | null;
}

/** The first input of a batch that fails, or null. */
export function verifyBatch(batch: Uint8Array, engine: SignatureEngine): ScriptFailure | null {
  const { flags, items } = readVerifyBatch(batch);
  for (const { tx, from, to, transaction, spentOutputs } of items) {
    const context = new TxContext(transaction, spentOutputs);
    for (let input = from; input < to; input++) {
      const error = checkInput(context, input, flags, engine);
      if (error !== 'OK') return { tx, input, error };
    }
  }
  return null;
}

declare const self: Worker;

if (!Bun.isMainThread) {
  // Answering clients comes before checking scripts.
  lowerThreadPriority(10);
  const engine = signatureEngine();
  self.onmessage = ({ data }: MessageEvent<VerifyRequest>) =>
    self.postMessage({ id: data.id, failure: verifyBatch(data.batch, engine) } satisfies VerifyReply);
}
