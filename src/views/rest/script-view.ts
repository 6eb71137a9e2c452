import type { NetworkParams } from '../../params/network-params.ts';
import { addressOf } from '../../script/address.ts';
import { scriptToAsm } from '../../script/asm.ts';
import { scriptType } from '../../script/templates.ts';

export interface ScriptView {
  hex: string;
  asm: string;
  type: string;
  address: string | null;
}

/** Returns an output script in the form of REST. */
export function scriptView(script: Uint8Array, { address }: Pick<NetworkParams, 'address'>): ScriptView {
  return {
    hex: script.toHex(),
    asm: scriptToAsm(script),
    type: scriptType(script).type,
    address: addressOf(script, address),
  };
}
