import { fail } from '../http/errors.ts';
import type { NetworkParams } from '../params/network-params.ts';
import { parseAddress } from '../script/address.ts';
import { hexToBytes, isHex } from '../util/bytes.ts';

/** The script of `{address}` in a path. */
export interface ScriptInput {
  /** The canonical form: an address, or `script:` and hex. */
  readonly address: string;
  readonly script: Uint8Array;
}

const SCRIPT_PREFIX = 'script:';

/** Parses an address of the network, or `script:<hex>`. Throws `invalid_address`. */
export function readScriptInput(text: string, params: NetworkParams): ScriptInput {
  if (text.startsWith(SCRIPT_PREFIX)) {
    const script = bareScript(text) ?? invalid('script: takes the hex of an output script', 'malformed', params);
    return { address: SCRIPT_PREFIX + script.toHex(), script };
  }
  const parsed = parseAddress(text, params.address);
  if (!parsed.ok) return invalid(parsed.error, parsed.reason, params);
  return { address: parsed.address, script: parsed.script };
}

/** Returns the script of `script:<hex>`; null for any other text. */
export function bareScript(text: string): Uint8Array | null {
  const hex = text.startsWith(SCRIPT_PREFIX) ? text.slice(SCRIPT_PREFIX.length) : '';
  return hex !== '' && isHex(hex) ? hexToBytes(hex) : null;
}

function invalid(message: string, reason: string, { name }: NetworkParams): never {
  return fail('invalid_address', message, { reason, network: name });
}
