import { ripemd160 } from '../../crypto/hash-functions.ts';
import { isPayToScriptHash, scriptType } from '../../script/templates.ts';
import type { KeyEncoding } from '../descriptor/descriptor.ts';
import { parseDescriptor } from '../descriptor/parse-descriptor.ts';
import { NO_SIGNING_DATA, type SigningProvider } from '../keys/signing-data.ts';
import type { WalletReads } from '../store/wallet-reads.ts';

/** Public data for spending one of the wallet's scripts. */
export interface SolvedScript {
  /** The script's own descriptor with its checksum. */
  readonly text: string;
  readonly solvable: boolean;
  readonly data: SigningProvider;
}

/** Returns null for a script that is not the wallet's, or was neither given out nor paid. */
export function solvedScript(reads: WalletReads, script: Uint8Array, encoding: KeyEncoding): SolvedScript | null {
  const text = reads.keys.scripts(script)[0]?.solved;
  if (!text) return null;
  // Only scripts with an inner script have more data than their descriptor.
  const { type } = scriptType(script);
  if (type === 'scripthash' || type === 'witness_v0_scripthash') return solvedBy(text, encoding);
  return { text, solvable: !/^(?:addr|raw)\(/.test(text), data: NO_SIGNING_DATA };
}

/** Returns the data of a descriptor of one script. */
export function solvedBy(text: string, encoding: KeyEncoding): SolvedScript {
  const parsed = parseDescriptor(text, encoding);
  const descriptor = parsed.ok ? parsed.descriptors[0]! : null;
  const data = descriptor?.expand(0, NO_SIGNING_DATA)?.data ?? NO_SIGNING_DATA;
  return { text, solvable: descriptor?.isSolvable ?? false, data };
}

/** Returns the redeem script and the witness script of an output, as far as they are known. */
export function scriptsBehind(script: Uint8Array, data: SigningProvider) {
  const { type, solutions } = scriptType(script);
  if (type === 'witness_v0_scripthash') return witnessScript(solutions[0]!, data);
  if (!isPayToScriptHash(script)) return {};
  const redeemScript = data.script(solutions[0]!);
  if (redeemScript === null) return {};
  const inner = scriptType(redeemScript);
  return {
    redeemScript: redeemScript.toHex(),
    ...(inner.type === 'witness_v0_scripthash' && witnessScript(inner.solutions[0]!, data)),
  };
}

function witnessScript(program: Uint8Array, data: SigningProvider) {
  const found = data.script(ripemd160(program));
  return found === null ? {} : { witnessScript: found.toHex() };
}
