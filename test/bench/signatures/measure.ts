import { sign } from '@noble/secp256k1';
import { derOfCompact } from '../../../src/crypto/der.ts';
import { sha256 } from '../../../src/crypto/hash-functions.ts';
import { publicKeyOf, signEcdsaCompact, tapTweakPublicKey, xOnlyOf } from '../../../src/crypto/keys.ts';
import { systemLibrary } from '../../../src/crypto/secp256k1.ts';
import { openAddon } from '../../../src/crypto/secp256k1-addon.ts';
import { nobleEngine } from '../../../src/crypto/secp256k1-noble.ts';
import { SystemEngine } from '../../../src/crypto/secp256k1-system.ts';
import { signSchnorr } from '../../../src/crypto/sign-schnorr.ts';
import { openSystemLibrary } from '../../../src/crypto/system-library.ts';

/** Operations per second of CPU time, on one thread unless it says otherwise. */
export interface SignatureFigures {
  /** Verifications with keys that are not known yet. */
  readonly ecdsa: number;
  readonly schnorr: number;
  /** Verifications with keys of earlier ones, which the library of the system has parsed already. */
  readonly ecdsaKnownKey: number;
  readonly schnorrKnownKey: number;
  readonly tweak: number;
  readonly sign: number;
  /** ECDSA verifications per second of two workers together. */
  readonly workers: number;
  /** A call that ends at the first check of its input. */
  readonly callNanoseconds: number;
  readonly openMs: number;
  /** Growth of the process by the library and its first verification. */
  readonly memoryMiB: number;
}

const CASES = 250;
const ROUNDS = 5;
const ROUND_MS = 300;

const library = Bun.isMainThread ? process.argv[2]! : String(process.env.MEASURED_LIBRARY);

function openLibrary() {
  if (library === 'noble') return { engine: nobleEngine(), keys: null };
  return library === 'addon' ? openAddon()! : systemLibrary(library).open();
}

/** Returns the engine of the library, which keeps almost no parsed key. */
function forgetfulEngine() {
  if (library === 'noble' || library === 'addon') return openLibrary().engine;
  return new SystemEngine(openSystemLibrary(library), 4);
}

/** A signature of each kind for each key, as scripts contain them. */
function makeCases() {
  return Array.from({ length: CASES }, (_, i) => {
    const [secret, message] = [sha256(Uint8Array.of(i, 1)), sha256(Uint8Array.of(i, 2))];
    const xOnly = xOnlyOf(secret);
    const ecdsa = derOfCompact(signEcdsaCompact(message, secret).signature);
    const output = tapTweakPublicKey(xOnly, message)!;
    return { secret, message, key: publicKeyOf(secret), xOnly, ecdsa, schnorr: signSchnorr(message, secret), output };
  });
}

type MeasuredCase = ReturnType<typeof makeCases>[number];

/** Returns calls per second of CPU time, the best of several rounds. */
function rateOf(cases: readonly MeasuredCase[], run: (measured: MeasuredCase) => unknown): number {
  let best = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const start = process.threadCpuUsage();
    const end = performance.now() + ROUND_MS;
    let calls = 0;
    while (performance.now() < end)
      for (const measured of cases) if (++calls && run(measured) === false) throw new Error('invalid');
    const { user, system } = process.threadCpuUsage(start);
    best = Math.max(best, (calls * 1e6) / (user + system));
  }
  return best;
}

declare const self: Worker;

function verifyInWorker(): void {
  const engine = forgetfulEngine();
  self.postMessage(rateOf(makeCases(), ({ ecdsa, message, key }) => engine.verifyEcdsa(ecdsa, message, key)));
}

async function ratesOfWorkers(): Promise<number> {
  const env = { ...process.env, MEASURED_LIBRARY: library };
  const workers = [0, 1].map(() => new Worker(import.meta.url, { env }));
  const rates = await Promise.all(
    workers.map((worker) => new Promise<number>((resolve) => (worker.onmessage = ({ data }) => resolve(data)))),
  );
  return rates.reduce((sum, rate) => sum + rate, 0);
}

async function measure(): Promise<SignatureFigures> {
  const cases = makeCases();
  const [first] = cases;
  Bun.gc(true);
  const before = process.memoryUsage.rss();
  const start = performance.now();
  const { engine, keys } = openLibrary();
  const openMs = performance.now() - start;
  engine.verifyEcdsa(first!.ecdsa, first!.message, first!.key);
  const memoryMiB = (process.memoryUsage.rss() - before) / 2 ** 20;
  const forgetful = forgetfulEngine();
  const out = { signature: new Uint8Array(64), recid: 0 };
  // An X that is no number of the field.
  const noKey = new Uint8Array(65).fill(0xff).with(0, 4);
  return {
    ecdsa: rateOf(cases, ({ ecdsa, message, key }) => forgetful.verifyEcdsa(ecdsa, message, key)),
    schnorr: rateOf(cases, ({ schnorr, message, xOnly }) => forgetful.verifySchnorr(schnorr, message, xOnly)),
    ecdsaKnownKey: rateOf(cases, ({ ecdsa, message, key }) => engine.verifyEcdsa(ecdsa, message, key)),
    schnorrKnownKey: rateOf(cases, ({ schnorr, message, xOnly }) => engine.verifySchnorr(schnorr, message, xOnly)),
    tweak: rateOf(cases, ({ output, message, xOnly }) =>
      forgetful.checkTapTweak(output.key, xOnly, message, output.parity),
    ),
    sign: rateOf(cases, ({ message, secret }) =>
      keys ? keys.ecdsaSign(out, message, secret) === 0 : sign(message, secret, { prehash: false, lowS: true }),
    ),
    workers: await ratesOfWorkers(),
    callNanoseconds: 1e9 / rateOf(cases, () => !forgetful.isValidPublicKey(noKey)),
    openMs,
    memoryMiB,
  };
}

if (Bun.isMainThread) {
  console.log(JSON.stringify(await measure()));
  process.exit(0);
} else verifyInWorker();
