import type { Chain } from '../../chain/chain.ts';
import { isBuriedActive } from '../../consensus/deployments.ts';
import { WITNESS_SCALE_FACTOR } from '../../consensus/limits.ts';
import type { Entries } from '../../mempool/entries.ts';
import type { Mempool } from '../../mempool/pool.ts';
import type { BlockTemplate } from '../../mining/template-maker.ts';

const HASH = 32;
const HASH_DIGITS = 64;

/** Returns the `transactions` array of BIP-22 as JSON bytes. */
export function transactionsJson(
  { entries, graph }: Mempool,
  { parent, selection: { slots } }: BlockTemplate,
  { params }: Chain,
): Uint8Array<ArrayBuffer> {
  // Before segwit one limit applied, and a signature operation counted once instead of four times.
  const sigopScale = isBuriedActive('segwit', parent.height + 1, params.consensus) ? 1 : WITNESS_SCALE_FACTOR;
  const digits = allDigits(entries, slots);
  const places = new Map<number, number>();
  const parts: string[] = [];
  let at = 0;
  for (let i = 0; i < slots.length; i++) {
    const slot = slots[i]!;
    const alone = graph.isSingleton(slot);
    const depends = alone
      ? ''
      : entries
          .inputSlots(slot)
          .flatMap((from) => places.get(from) ?? [])
          .join(',');
    // Only transactions with relatives are asked for their parents, and parents stand before their children.
    if (!alone) places.set(slot, i + 1);
    const raw = digits.slice(at, (at += entries.size(slot) * 2));
    const txid = digits.slice(at, (at += HASH_DIGITS));
    const wtxid = digits.slice(at, (at += HASH_DIGITS));
    parts.push(
      `{"data":"${raw}","txid":"${txid}","hash":"${wtxid}","depends":[${depends}],"fee":${entries.fee(slot)},"sigops":${entries.sigopCost(slot) / sigopScale},"weight":${entries.weight(slot)}}`,
    );
  }
  return Buffer.from(`[${parts.join(',')}]`, 'latin1');
}

/**
 * Returns the encoding, txid and wtxid of each transaction, in turn, as one hex string. Converting each by itself takes
 * several times as long.
 */
function allDigits(entries: Entries, slots: readonly number[]): string {
  let length = 0;
  for (let i = 0; i < slots.length; i++) length += entries.size(slots[i]!) + 2 * HASH;
  const bytes = new Uint8Array(length);
  for (let i = 0, at = 0; i < slots.length; i++) {
    entries.copyShown(slots[i]!, bytes, at);
    at += entries.size(slots[i]!) + 2 * HASH;
  }
  return bytes.toHex();
}
