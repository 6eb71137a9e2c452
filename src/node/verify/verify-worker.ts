import type { ScriptFailure } from '../../chain/script-verifier.ts';
import { signatureEngine } from '../../crypto/secp256k1.ts';
import type { SignatureEngine } from '../../crypto/signature-engine.ts';
import { checkInput } from '../../script/tx-checker.ts';
import type { TxContext } from '../../script/tx-context.ts';
import { noteProgress } from '../../util/progress.ts';
import { yieldToReplies } from '../../util/serving.ts';
import { announceStart } from '../../util/worker.ts';
import { READY, readSharedTransaction, readVerifyBatch } from './verify-batch.ts';

/** Some inputs of a large transaction. */
export interface SharedPart {
  readonly flags: number;
  /** Index of the transaction in its block, as it was added. */
  readonly tx: number;
  readonly from: number;
  readonly to: number;
  /** Identifies the transaction among all shared ones. */
  readonly key: number;
  readonly shared: SharedArrayBuffer;
}

/** The requests to a verify worker, and its replies. */
export type VerifyRequest =
  | { readonly id: number; readonly batch: Uint8Array<ArrayBuffer> }
  | { readonly id: number; readonly part: SharedPart };

export interface VerifyReply {
  readonly id: number;
  readonly failure: ScriptFailure | null;
}

/** Returns the first input of a batch that fails, or null. */
export function verifyBatch(batch: Uint8Array, engine: SignatureEngine): ScriptFailure | null {
  const { flags, items } = readVerifyBatch(batch);
  for (const { tx, context } of items) {
    const failure = verifyInputs(context, { tx, flags, from: 0, to: context.inputCount }, engine);
    if (failure) return failure;
  }
  return null;
}

function verifyInputs(
  context: TxContext,
  { tx, flags, from, to }: { tx: number; flags: number; from: number; to: number },
  engine: SignatureEngine,
): ScriptFailure | null {
  for (let input = from; input < to; input++) {
    noteProgress();
    const error = checkInput(context, input, flags, engine);
    if (error !== 'OK') return { tx, input, error };
  }
  return null;
}

/** The last large transaction, kept because the signature hashes of its parts share work. */
let last: { readonly key: number; readonly context: TxContext } | null = null;

/** Returns the first input of a part that fails, or null. */
export function verifyPart(part: SharedPart, engine: SignatureEngine): ScriptFailure | null {
  if (last?.key !== part.key) {
    last = null;
    last = { key: part.key, context: readSharedTransaction(part.shared) };
  }
  return verifyInputs(last.context, part, engine);
}

declare const self: Worker;

const VERIFY_NICE = 19;

if (!Bun.isMainThread) {
  announceStart();
  const engine = signatureEngine();
  self.onmessage = ({ data }: MessageEvent<VerifyRequest>) => {
    // Script verification has the lowest priority, so that replies to clients are never delayed by it.
    yieldToReplies(VERIFY_NICE);
    const failure = 'batch' in data ? verifyBatch(data.batch, engine) : verifyPart(data.part, engine);
    self.postMessage({ id: data.id, failure } satisfies VerifyReply);
  };
  self.postMessage({ id: READY, failure: null } satisfies VerifyReply);
}
