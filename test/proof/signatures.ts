import { systemLibrary } from '../../src/crypto/secp256k1.ts';
import { openAddon } from '../../src/crypto/secp256k1-addon.ts';
import { nobleEngine } from '../../src/crypto/secp256k1-noble.ts';
import type { SignatureEngine } from '../../src/crypto/signature-engine.ts';
import { systemLibraryFiles } from '../../src/crypto/system-library.ts';
import { bytesToHex } from '../../src/util/bytes.ts';
import { Random } from '../fuzz/random.ts';
import type { Proof } from './proof.ts';
import { KINDS, SIGNERS } from './signature-cases.ts';

/** Violations that are listed. */
const MAX_VIOLATIONS = 10;
/** Cases between two checks of the signal. */
const SLICE = 1000;

/** Every verification engine of this machine gives the same result for random and for extreme signatures, keys and tweaks. */
export const signatures: Proof = {
  help: 'all signature libraries of this machine agree; counts cases, and OBVERSE_LIBSECP256K1 adds files',
  count: 100_000,
  async run(count, seed, signal) {
    const engines = presentEngines();
    const violations: string[] = [];
    let cases = 0;
    let full = 0;
    let valid = 0;
    for (const [number, [name, [share, make]]] of Object.entries(KINDS).entries()) {
      const random = new Random((seed + number) >>> 0);
      for (let left = Math.ceil((count / 100) * share); left > 0; left--) {
        if (++cases % SLICE === 0) await Bun.sleep(0);
        signal.throwIfAborted();
        const { ask, expected, full: isFull, parts } = make(random.pick(SIGNERS), random);
        const results = engines.map(({ engine }) => ask(engine));
        const wanted = expected ?? results[0]!;
        if (isFull) full++;
        if (wanted) valid++;
        if (results.every((result) => result === wanted) || violations.length === MAX_VIOLATIONS) continue;
        const shown = engines.map((engine, i) => `${engine.source} ${results[i]}`).join(', ');
        violations.push(`${name}: expected ${expected}; ${shown}: ${parts.map(bytesToHex).join(' ')}`);
      }
    }
    if (full < cases / 5) violations.push(`only ${full} of ${cases} cases need the whole computation`);
    return {
      figures: [
        ['libraries', engines.map(({ source }) => source).join(', ')],
        ['cases', cases],
        ['that compute points', full],
        ['that are valid', valid],
      ],
      violations,
    };
  },
};

/** Returns the engine of every library that is present, noble among them. */
export function presentEngines(): { readonly source: string; readonly engine: SignatureEngine }[] {
  const more = process.env.OBVERSE_LIBSECP256K1?.split(',') ?? [];
  const addon = openAddon();
  return [
    ...[...systemLibraryFiles(), ...more].map((file) => ({ source: file, engine: systemLibrary(file).open().engine })),
    ...(addon === null ? [] : [{ source: 'addon', engine: addon.engine }]),
    { source: 'noble', engine: nobleEngine() },
  ];
}
