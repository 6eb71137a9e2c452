import { hashToHex } from '../../primitives/hash.ts';
import { outpointKey } from '../../primitives/outpoint.ts';
import { type RandomBelow, shuffled } from '../../util/random.ts';
import type { Result } from '../../util/result.ts';
import { createPsbt, type Psbt, type PsbtInput } from './psbt.ts';
import { added } from './psbt-signature-data.ts';

/**
 * Returns one PSBT with the inputs and outputs of several, in random order. Signatures are dropped, since they do not
 * fit the new transaction, and so are global fields except unknown ones. The highest version and the lowest locktime
 * win. Errors are Core's.
 */
export function joinPsbts(psbts: readonly Psbt[], random: RandomBelow): Result<Psbt, { readonly error: string }> {
  const inputs: PsbtInput[] = [];
  const spent = new Set<string>();
  let unknown: Psbt['unknown'] = new Map();
  for (const psbt of psbts) {
    for (const input of psbt.inputs) {
      const { prevout } = input;
      if (spent.has(outpointKey(prevout)))
        return { ok: false, error: `Input ${hashToHex(prevout.txid)}:${prevout.vout} exists in multiple PSBTs` };
      spent.add(outpointKey(prevout));
      inputs.push({ ...input, partialSignatures: new Map(), finalScriptSig: null, finalScriptWitness: null });
    }
    unknown = added(unknown, psbt.unknown);
  }
  const version = Math.max(1, ...psbts.map(({ txVersion }) => txVersion));
  const locktime = Math.min(...psbts.map(({ fallbackLocktime }) => fallbackLocktime ?? 0));
  const joined = createPsbt({ version, inputs: [], outputs: [], locktime }, 0);
  const outputs = psbts.flatMap((psbt) => psbt.outputs);
  return {
    ok: true,
    value: { ...joined, inputs: shuffled(inputs, random), outputs: shuffled(outputs, random), unknown },
  };
}
