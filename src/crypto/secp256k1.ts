import { nativeEngine } from './secp256k1-native.ts';
import { nobleEngine } from './secp256k1-noble.ts';
import type { SignatureEngine } from './signature-engine.ts';

let engine: SignatureEngine | null = null;

/** The native library where its addon loads, else the slower one in TypeScript. The same object at every call. */
export function signatureEngine(): SignatureEngine {
  engine ??= nativeEngine() ?? nobleEngine();
  return engine;
}
