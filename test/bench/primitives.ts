import { hash256 } from '../../src/crypto/hash-functions.ts';
import { publicKeyOf, xOnlyOf } from '../../src/crypto/keys.ts';
import { MuHash3072 } from '../../src/crypto/muhash.ts';
import { signatureEngine } from '../../src/crypto/secp256k1.ts';
import { signSchnorr } from '../../src/crypto/sign-schnorr.ts';
import { parseBlock } from '../../src/primitives/block.ts';
import { merkleRoot } from '../../src/primitives/merkle.ts';
import { signEcdsa } from '../lib/sign-ecdsa.ts';
import { hasVectors, readVectorBytes } from '../lib/vectors.ts';
import { grouped, printTable, rate } from './report.ts';

/** Returns the signatures that one core verifies per second, which bounds every import. */
export function signatureRates(): { ecdsa: number; schnorr: number; engine: string } {
  const engine = signatureEngine();
  const secret = new Uint8Array(32).fill(7);
  const message = crypto.getRandomValues(new Uint8Array(32));
  const publicKey = publicKeyOf(secret);
  const ecdsa = signEcdsa(message, secret);
  const xOnly = xOnlyOf(secret);
  const schnorr = signSchnorr(message, secret);
  return {
    engine: engine.name,
    ecdsa: rate(() => engine.verifyEcdsa(ecdsa, message, publicKey)),
    schnorr: rate(() => engine.verifySchnorr(schnorr, message, xOnly)),
  };
}

export function benchPrimitives(): void {
  const { ecdsa, schnorr, engine } = signatureRates();
  const header = crypto.getRandomValues(new Uint8Array(80));
  const out = new Uint8Array(32);
  const leaves = crypto.getRandomValues(new Uint8Array(2000 * 32));
  const set = new MuHash3072();
  const rows: [string, string][] = [
    [`ECDSA verifications/s (${engine})`, grouped(ecdsa)],
    [`Schnorr verifications/s (${engine})`, grouped(schnorr)],
    ['double SHA-256 of 80 bytes/s', grouped(rate(() => hash256(header, out)))],
    ['elements of a MuHash3072/s', grouped(rate(() => set.insert(header)))],
    ['inversion of a MuHash3072, ms', grouped(1000 / rate(() => set.digest()), 2)],
    ['merkle root of 2,000, ms', grouped(1000 / rate(() => merkleRoot(leaves)), 3)],
  ];
  if (hasVectors) {
    const block = readVectorBytes('blocks/mainnet-413567.block');
    const megabytes = block.length / 1e6;
    rows.push(['block parsed with ids, MB/s', grouped(megabytes * rate(() => parseBlock(block)), 1)]);
  }
  printTable('primitives, one core', rows);
}
