import { signatureEngine } from '../../src/crypto/secp256k1.ts';

/** Run as a program: starts workers that all load the engine at the same time, and prints which one each got. */
declare const self: Worker;

const WORKERS = 4;

if (Bun.isMainThread) {
  const workers = Array.from({ length: WORKERS }, () => new Worker(import.meta.url));
  const names = await Promise.all(
    workers.map((worker) => new Promise<string>((resolve) => (worker.onmessage = ({ data }) => resolve(String(data))))),
  );
  console.log(names.join(' '));
  process.exit(0);
} else self.postMessage(signatureEngine().name);
