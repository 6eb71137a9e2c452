import { nativeEngine } from './secp256k1-native.ts';
import { nobleEngine } from './secp256k1-noble.ts';
import type { SignatureEngine } from './signature-engine.ts';

let engine: SignatureEngine | null = null;

/** Returns the native engine, or the one in TypeScript if the addon does not load. The same object at every call. */
export function signatureEngine(): SignatureEngine {
  engine ??= nativeEngine() ?? nobleEngine();
  return engine;
}
